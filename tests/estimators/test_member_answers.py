"""Answers that are put together for some vertices at a time are those of all at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import graphfilter as gf
from graphfilter.data import make_csbm
from graphfilter.estimators import members
from graphfilter.estimators.graph import VertexClassifier, VertexRegressor
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.systems import networks as predicting
from graphfilter.util.records import RowsFile

N = 120
ESTIMATORS: dict[str, VertexEstimator] = {
    "sgf": gf.SGFClassifier(n_layers=2, max_epochs=8, n_members=2, random_state=0),
    "hops": gf.SystemClassifier(model="hop-mlp", max_epochs=8, random_state=0),
    "committee": gf.GraphClassifier(effort="low", max_epochs=8, random_state=0),
    "labels": gf.SGFClassifier(n_layers=2, max_epochs=8, random_state=0),
    "numbers": gf.SGFRegressor(n_layers=2, max_epochs=8, scale="log", random_state=0),
}


def target_of(name: str, graph: gf.Graph) -> Any:
    x = np.asarray(graph.features, dtype=float)
    return {"labels": (x[:, :3] > 0).astype(int), "numbers": np.exp(x[:, :2])}.get(
        name, graph.labels
    )


@pytest.mark.parametrize("name", ESTIMATORS)
def test_answers_on_disk_are_those_in_memory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, other = (make_csbm(n_vertices=N, n_features=5, seed=seed) for seed in (0, 1))
    estimator = ESTIMATORS[name].fit(graph.features, target_of(name, graph), graph=graph)
    # As it is loaded: the fitted graph is not at hand.
    estimator.save(tmp_path / "model")
    loaded = type(estimator).load(tmp_path / "model")
    whole = loaded.answers(graph=other)
    monkeypatch.setattr(members, "IN_MEMORY", 0)
    monkeypatch.setattr(predicting, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(predicting, "COLUMNS_AT_ONCE", 2)
    said = loaded.ask(other, tmp_path)
    assert all(isinstance(rows, RowsFile) for rows in said.by_member)
    parts = [slice(at, at + 50) for at in range(0, N, 50)]
    every = np.concatenate([said.outputs(p) for p in parts])
    np.testing.assert_allclose(every, whole, rtol=1e-5, atol=1e-6)
    some = np.array([100, 3, 3, 77])
    np.testing.assert_array_equal(said.outputs(some), every[some])
    if isinstance(loaded, VertexRegressor):
        ends = np.concatenate([said.intervals(p, 0.8) for p in parts])
        expected = loaded.predict_interval(graph=other, coverage=0.8)
        np.testing.assert_allclose(ends, expected, rtol=1e-4)
        return
    assert isinstance(loaded, VertexClassifier)
    sets = np.concatenate([said.sets(p, 0.8) for p in parts])
    np.testing.assert_array_equal(sets, loaded.predict_set(graph=other, coverage=0.8))


@pytest.mark.parametrize("sparse", [False, True])
def test_filter_reads_rows_and_filters_some_columns_at_a_time(
    sparse: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = make_csbm(n_vertices=N, n_features=9, seed=0).replace(labels=np.arange(N) % 5)
    if sparse:
        graph = graph.replace(features=sp.csr_array(np.asarray(graph.features) > 1.5, dtype="f4"))
    estimator = gf.SGFClassifier(n_layers=2, max_epochs=8, random_state=0).fit(graph=graph)
    other = graph.replace(name="other")
    whole, widths = estimator.answers(graph=other), []
    forward = gf.filters.StackedFilter.forward

    def watched(self: Any, operator: Any, x: Any, *rest: Any) -> Any:
        widths.append(x.shape[1])
        return forward(self, operator, x, *rest)

    def fail(self: Any) -> None:
        raise AssertionError("the features of all vertices are made at once")

    monkeypatch.setattr(gf.filters.StackedFilter, "forward", watched)
    monkeypatch.setattr(predicting.Prepared, "x", property(fail))
    monkeypatch.setattr(members, "IN_MEMORY", 0)
    monkeypatch.setattr(predicting, "ROWS_AT_ONCE", 50)
    monkeypatch.setattr(predicting, "COLUMNS_AT_ONCE", 2)
    said = estimator.ask(other, tmp_path)
    np.testing.assert_allclose(said.outputs(), whole, rtol=1e-5, atol=1e-6)
    assert widths == [2, 2, 2]
    # What it put there on the way is gone.
    assert [path.name for path in tmp_path.iterdir()] == ["member0"]


def test_small_answers_stay_in_memory(tmp_path: Path) -> None:
    graph = make_csbm(n_vertices=N, n_features=5, seed=0)
    estimator = gf.SGFClassifier(n_layers=2, max_epochs=2, random_state=0).fit(graph=graph)
    said = estimator.ask(graph.replace(name="other"), tmp_path)
    assert all(isinstance(rows, np.ndarray) for rows in said.by_member)
    assert not any(tmp_path.iterdir())
