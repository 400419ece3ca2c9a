"""Repeated splits: each repeat is the fit of its own seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphfilter import SGFClassifier
from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.metrics import METRICS
from graphfilter.report.page import draw_run
from graphfilter.runs.findings import describe_spread
from graphfilter.runs.folder import fit_folder
from graphfilter.runs.plan import FitRequest, Source, SplitBy, plan_fit

QUICK: Any = {"max_epochs": 20, "n_layers": 4}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return make_csbm(n_vertices=90, frequency=0.4, mean_degree=6, n_features=4)


def fit(
    graph: Graph, folder: Path, seed: int, repeats: int = 1, by: SplitBy | None = None, **more
) -> Any:
    plan = plan_fit(Source(graph), seed) if by is None else plan_fit(Source(graph), seed, by)
    clf = SGFClassifier(random_state=seed, **QUICK, **more)
    request = FitRequest(repeats=repeats)
    return fit_folder(plan, clf, folder, baselines=False, request=request, draw=draw_run).metrics


@pytest.mark.parametrize("members", [1, 2])
def test_repeat_is_the_fit_of_the_next_seed(graph: Graph, members: int, tmp_path: Path) -> None:
    found = fit(graph, tmp_path / "all", 3, repeats=3, n_members=members)["repeats"]
    assert found["seeds"] == [3, 4, 5]
    assert found["splits"] == "drawn"
    for k in range(3):
        alone = fit(graph, tmp_path / str(k), 3 + k, n_members=members)["scores"]
        for part in ("train", "val", "test"):
            repeated = found["scores"][part]["log_loss"]["values"][k]
            assert repeated == pytest.approx(alone[part]["log_loss"], rel=1e-4)


def test_spread_is_that_of_the_values(graph: Graph, tmp_path: Path) -> None:
    found = fit(graph, tmp_path, 0, repeats=4)["repeats"]
    assert json.loads((tmp_path / "metrics.json").read_text())["repeats"] == found
    accuracy = found["scores"]["test"]["accuracy"]
    assert accuracy["mean"] == pytest.approx(np.mean(accuracy["values"]))
    assert accuracy["deviation"] == pytest.approx(np.std(accuracy["values"], ddof=1))
    assert 0 <= accuracy["low"] <= accuracy["mean"] <= accuracy["high"] <= 1
    spread = describe_spread(found, METRICS, "accuracy")
    assert spread["sentence"].startswith("Over 4 splits the test accuracy is")
    assert spread["sentence"] in (tmp_path / "report.html").read_text()


def test_split_by_time_is_repeated_with_other_seeds(graph: Graph, tmp_path: Path) -> None:
    by = SplitBy("year", times=np.arange(90.0))
    found = fit(graph, tmp_path, 0, repeats=2, by=by)["repeats"]
    assert found["splits"] == "one"
    assert (
        "Over 2 seeds on the same split" in describe_spread(found, METRICS, "accuracy")["sentence"]
    )


def test_split_by_group_is_drawn_anew(graph: Graph, tmp_path: Path) -> None:
    groups = np.arange(90) // 3
    metrics = fit(graph, tmp_path, 0, repeats=2, by=SplitBy("house", groups=groups))
    assert metrics["split_rule"] == "by group 0.6/0.2/0.2"
    assert metrics["repeats"]["splits"] == "drawn"
