"""Suggested labels: better than drawn ones where they should be, for every kind of target."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter import Graph, SGFClassifier, SGFRegressor
from graphfilter.estimators.suggestions import suggest_labels

# Vertices of each kind: twelve labels drawn at random miss several kinds.
SIZES = (25,) * 12
QUICK = {
    "max_epochs": 60, "n_layers": 2, "hidden_size": 16, "random_state": 0, "dropout": 0.0,
    "learning_rate": 0.02, "validation_fraction": 0,
}  # fmt: skip


def make_kinds(seed: int, noise: float = 0.5) -> Graph:
    """Make a graph of kinds, each mostly linked within itself."""
    rng = np.random.default_rng(seed)
    kinds = np.repeat(np.arange(len(SIZES)), SIZES)
    starts = np.cumsum((0, *SIZES))
    first = np.repeat(np.arange(len(kinds)), 2)
    second = rng.integers(starts[kinds[first]], starts[kinds[first] + 1])
    features = np.eye(len(SIZES))[kinds] + rng.normal(scale=noise, size=(len(kinds), len(SIZES)))
    return Graph.from_edges(
        np.stack([first, second], 1), len(kinds), features=features, labels=kinds
    )


def fit(graph: Graph, labelled: np.ndarray) -> SGFClassifier:
    assert graph.labels is not None
    y = np.full(graph.n_vertices, -1)
    y[labelled] = graph.labels[labelled]
    return SGFClassifier(**QUICK).fit(graph.features, y, graph=graph)


def rest_of(graph: Graph, labelled: np.ndarray) -> np.ndarray:
    return np.setdiff1d(np.arange(graph.n_vertices), labelled)


def test_suggested_labels_teach_more_than_drawn_ones() -> None:
    gains = []
    for seed in range(3):
        graph = make_kinds(seed)
        assert graph.labels is not None
        drawn = np.random.default_rng(seed).permutation(graph.n_vertices)
        start = drawn[:10]
        model = fit(graph, start)
        found = suggest_labels(model, model.graph_, start, rest_of(graph, start), 10, seed)
        chosen = np.array([one.vertex for one in found])
        right = [
            (fit(graph, np.concatenate([start, more])).predict() == graph.labels).mean()
            for more in (chosen, drawn[10:20])
        ]
        gains.append(right[0] - right[1])
    assert np.mean(gains) > 0.05
    assert min(gains) > 0


def test_suggestions_are_spread_over_kinds_that_have_no_label() -> None:
    graph = make_kinds(0, noise=0.2)
    assert graph.labels is not None
    start = np.arange(0, 50, 5)
    model = fit(graph, start)
    rest = rest_of(graph, start)
    found = suggest_labels(model, model.graph_, start, rest, 10, seed=0)
    kinds = set(graph.labels[[one.vertex for one in found]].tolist())
    assert kinds == set(range(2, 12))
    assert found == suggest_labels(model, model.graph_, start, rest[::-1], 10, seed=0)


@pytest.mark.parametrize("target", ["several labels", "number", "no edges", "no features"])
def test_every_kind_of_target_and_graph_gets_suggestions(target: str) -> None:
    graph = make_kinds(0)
    assert graph.labels is not None
    start, rest = np.arange(0, graph.n_vertices, 5), np.arange(1, graph.n_vertices, 5)
    features = np.asarray(graph.features)
    if target == "number":
        y = np.full(graph.n_vertices, np.nan)
        y[start] = features[start, 0]
        model = SGFRegressor(**QUICK).fit(features, y, graph=graph)
    elif target == "several labels":
        y = np.full((graph.n_vertices, 2), np.nan)
        y[start] = features[start, :2] > 0
        model = SGFClassifier(**QUICK).fit(features, y, graph=graph)
    elif target == "no edges":
        model = fit(Graph.from_edges([], 300, features=features, labels=graph.labels), start)
    else:
        featureless = np.ones((graph.n_vertices, 1))
        model = fit(graph.replace(features=featureless), start)
    found = suggest_labels(model, model.graph_, start, rest, 7)
    assert len({one.vertex for one in found}) == 7
    assert all(one.vertex % 5 == 1 for one in found)
    assert all(("sure" in one.reason) == (target != "number") for one in found)
