"""Drift: what moved is named, and what did not raises no alarm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graphfilter import Graph, SGFClassifier, SGFRegressor
from graphfilter.data import make_csbm
from graphfilter.estimators.targets import named_target
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.runs.drift import Drift, Reference, find_drift
from graphfilter.runs.fit import Fit, train_fit
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.training import MULTILABEL, REGRESSION

N = 300
KNOWN = 60
FEATURES = np.random.default_rng(0).normal(size=(KNOWN, 2))


def make(seed: int) -> Graph:
    graph = make_csbm(n_vertices=N, n_features=5, frequency=0.3, mean_degree=6, seed=seed)
    return graph.replace(feature_names=["age", "income", "c", "d", "e"])


@pytest.fixture(scope="module")
def fit() -> Fit:
    estimator = SGFClassifier(max_epochs=40, n_layers=3, random_state=0)
    return train_fit(plan_fit(Source(make(0)), 0), estimator, baselines=False)


def drift_of(fit: Fit, graph: Graph) -> Drift:
    outputs = fit.estimator.answers(graph=graph)
    return find_drift(
        Reference.of(fit), graph, fit.task, fit.names, outputs.__getitem__,
        fit.task.decide(outputs), np.arange(graph.n_vertices), are_new=True,
    )  # fmt: skip


def test_graph_that_has_not_changed_raises_few_alarms(fit: Fit) -> None:
    alarms = sum(bool(drift_of(fit, make(seed)).beyond_chance) for seed in range(1, 21))
    assert alarms <= 2


def test_no_drift_is_said_as_that(fit: Fit) -> None:
    said = drift_of(fit, make(1)).sentence()
    # Five features, degrees and two classes.
    assert said.startswith("No drift: of 8 comparisons of the 300 new vertices with those of the")
    assert "a false alarm in at most 5% of predictions" in said
    assert "may be less accurate" not in said


def test_column_that_moved_is_named(fit: Fit) -> None:
    graph = make(1)
    features = np.array(graph.features)
    features[:, 1] += 1.5
    found = drift_of(fit, replace(graph, features=features))
    assert found.beyond_chance[0].what.startswith("'income' above")
    said = found.sentence()
    assert said.startswith("Drift: of 8 comparisons")
    assert "label some of these vertices to measure it" in said


def test_denser_graph_is_named(fit: Fit) -> None:
    graph = make_csbm(n_vertices=N, n_features=5, frequency=0.3, mean_degree=12, seed=1)
    found = drift_of(fit, graph)
    assert "degree" in {move.kind for move in found.beyond_chance}
    (move,) = [move for move in found.moves if move.kind == "degree"]
    assert move.what.startswith("more than ")
    assert move.now > move.before


@pytest.mark.parametrize("numbers", [True, False])
def test_numbers_and_labels_are_compared_too(numbers: bool) -> None:
    def values(graph: Graph) -> np.ndarray:
        x = np.asarray(graph.features, dtype=float)
        return np.exp(x[:, :1]) if numbers else (x[:, :2] > 0).astype(float)

    graph = make(0)
    estimator: VertexEstimator = SGFClassifier(max_epochs=30, n_layers=2, random_state=0)
    target = named_target(MULTILABEL, values(graph), ["lift", "garden"])
    if numbers:
        estimator = SGFRegressor(max_epochs=30, n_layers=2, random_state=0)
        target = named_target(REGRESSION, values(graph), ["price"])
    fit = train_fit(plan_fit(Source(graph), 0, target=target), estimator, baselines=False)
    other = make(1)
    assert not drift_of(fit, other).beyond_chance
    features = np.array(other.features)
    features[:, 0] += 2
    found = drift_of(fit, replace(other, features=features))
    kinds = {move.kind for move in found.beyond_chance}
    assert {"features", "answers"} <= kinds
    again = Reference.from_arrays(Reference.of(fit).to_arrays())
    for kind, summary in Reference.of(fit).columns.items():
        assert (again.columns[kind].counts == summary.counts).all()


def test_few_vertices_are_said_to_show_large_changes_only() -> None:
    for n, expected in ((5, True), (30, False)):
        found = Drift(n, True, ())
        assert ("Only large changes show in 5 new vertices." in found.sentence()) == expected


@pytest.mark.parametrize(
    "change", [{"columns.odd.n": np.array([1])}, {"frequency": np.array([0.5 + 1j])}]
)
def test_damaged_reference_is_refused(fit: Fit, change: dict[str, Any]) -> None:
    arrays = {**Reference.of(fit).to_arrays(), **change}
    with pytest.raises((ValueError, KeyError, IndexError)):
        Reference.from_arrays(arrays)


def test_fewer_neighbours_than_any_had_are_named() -> None:
    ring = Graph.from_edges([[i, (i + 1) % KNOWN] for i in range(KNOWN)], features=FEATURES)
    alone = Graph.from_edges(np.empty((0, 2), int), KNOWN, features=FEATURES)
    estimator = SGFClassifier(max_epochs=2, n_layers=2, random_state=0)
    labelled = ring.replace(labels=np.arange(KNOWN) % 2)
    own = train_fit(plan_fit(Source(labelled), 0), estimator, baselines=False)
    (move,) = [m for m in drift_of(own, alone).moves if m.kind == "degree"]
    assert move.sentence == (
        "fewer than 2 neighbours, the least at the fit: 0.0% at the fit, 100.0% now"
    )
