"""Training on sampled neighbours, which the benchmark compares with, is what it says."""

from __future__ import annotations

import argparse
import json

import numpy as np
import pytest
import torch

pytest.importorskip(
    "torch_geometric", reason="GraphSAGE is PyTorch Geometric's: graphfilter[peers]"
)

import sampling
from graphfilter.data import make_csbm

CPU = torch.device("cpu")


def test_neighbours_are_drawn_once_each_and_no_more_than_asked() -> None:
    graph, rng = make_csbm(n_vertices=50, mean_degree=6), np.random.default_rng(0)
    rows = np.arange(50)
    for most in (3, 1000):
        owner, found = sampling.neighbours(graph, rows, most, rng)
        for row in rows:
            own = found[owner == row]
            all_of_them = graph.indices[graph.indptr[row] : graph.indptr[row + 1]]
            assert len(own) == min(most, len(all_of_them)) == len(np.unique(own))
            assert set(own) <= set(all_of_them)


def test_batch_with_all_neighbours_gives_the_answers_of_the_whole_graph() -> None:
    from torch_geometric.nn import GraphSAGE

    graph, seeds = make_csbm(n_vertices=60, mean_degree=4), np.arange(0, 60, 2)
    x = torch.randn(60, 5, generator=torch.Generator().manual_seed(0))
    network = GraphSAGE(5, 8, num_layers=2, out_channels=3).eval()
    with torch.no_grad():
        whole = network(x, sampling.adjacency(graph))
        seen = []
        for vertices, edges, n_seeds in sampling.loader(graph, seeds, (1000, 1000), 16)():
            assert len(vertices.unique()) == len(vertices) < 60
            own = vertices[:n_seeds]
            torch.testing.assert_close(network(x[vertices], edges)[:n_seeds], whole[own])
            seen += own.tolist()
    assert sorted(seen) == seeds.tolist()


def test_benchmark_shows_all_ways_on_every_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "apart", lambda call, *arguments: call(*arguments))
    monkeypatch.setattr(torch, "set_num_threads", lambda n: None)
    monkeypatch.setattr(sampling, "SMALL", {"communities": (200, 800, 0.0), "none": (None, 0, 0)})
    record = json.loads(json.dumps(sampling.run(argparse.Namespace(small=True), CPU)))
    (graph,) = record["graphs"]
    assert graph["n_vertices"] == 200
    assert all(row["epochs"] == 1 for row in graph["rows"].values())
    shown = sampling.table(record)
    assert "NeighborLoader" in shown or "numpy" in shown
    assert all(title in shown for title in sampling.WAYS.values())
