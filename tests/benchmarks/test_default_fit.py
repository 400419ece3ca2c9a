"""The default beside a GCN: what is timed, and how it is shown."""

from __future__ import annotations

from typing import Any

import torch

import default_fit
from graphfilter.data import make_csbm
from graphfilter.splits import stratified

ROW: dict[str, Any] = {
    "dataset": "cora",
    "accuracy": 0.9,
    "gcn_accuracy": 0.874,
    "members": [{"member": "deep", "seconds": 4.0, "weight": 0.25}],
    "turns": [{"committee": [6.0], "gcn": [3.0]}, {"committee": [40.0], "gcn": [10.0]},
              {"committee": [3.0], "gcn": [1.0]}],
}  # fmt: skip


def test_ratio_is_the_median_over_turns_beside_its_goal() -> None:
    shown = default_fit.table({"device": "cpu", "rows": [ROW], "report_seconds": 12.0})
    line = "| cora | 6.00 s | 3.00 s | **3.00×** | ≤ 0.6× | 90.0 | 87.4 | deep 4.00 s (25%) |"
    assert line in shown
    assert "| digits, with its report | 12.0 s |" in shown


def test_first_and_second_fit_of_a_gpu_are_both_shown() -> None:
    row = ROW | {"turns": [{"committee": [20.0, 5.0], "gcn": [2.0, 1.0]}]}
    shown = default_fit.table({"device": "cuda", "rows": [row], "report_seconds": None})
    assert "| cora | 20.0 s / 5.00 s | 2.00 s / 1.00 s | **10×** | ≤ 8 s |" in shown


def test_gcn_learns_labels_that_its_neighbours_tell() -> None:
    graph = make_csbm(n_vertices=200, frequency=0.1, mean_degree=10, n_features=8)
    split = stratified(graph.labels, 0)
    assert default_fit.fit_gcn(graph, split, torch.device("cpu"), n_epochs=30) > 0.8
