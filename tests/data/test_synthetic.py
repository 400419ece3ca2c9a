from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

from graphfilter.data import make_bipartite, make_csbm, make_digits, make_karate
from graphfilter.data.datasets import _pairs_within, _successes
from graphfilter.data.graph import Graph
from graphfilter.util.errors import ConfigError


def crossing(graph: Graph) -> np.ndarray:
    assert graph.labels is not None
    u, v = graph.edges.T
    return graph.labels[u] != graph.labels[v]


def rayleigh_quotient(graph: Graph) -> float:
    """The definition, term by term, for labels as ±1."""
    assert graph.labels is not None
    signal = np.where(graph.labels == 1, 1.0, -1.0) / np.sqrt(np.maximum(graph.degrees, 1))
    u, v = graph.edges.T
    return float(((signal[u] - signal[v]) ** 2).sum() / graph.n_vertices)


@pytest.mark.parametrize("frequency", [0.0, 0.3, 1.0, 1.7, 2.0])
def test_csbm_has_the_frequency_it_was_asked_for(frequency: float) -> None:
    n, degree = 6000, 20.0
    graph = make_csbm(n, frequency, degree, n_features=1)
    share = frequency / 2
    m = n * degree / 2
    assert abs(graph.n_edges - m) < 5 * math.sqrt(m)
    deviation = math.sqrt(share * (1 - share) / graph.n_edges)
    assert abs(crossing(graph).mean() - share) <= 5 * deviation
    expected = 1 + (frequency - 1) * (1 - 1 / (4 * degree))
    assert rayleigh_quotient(graph) == pytest.approx(expected, abs=0.02)
    assert graph.labels is not None
    assert np.bincount(graph.labels).tolist() == [n // 2, n // 2]
    assert not any("repeated" in note for note in graph.notes)


def test_csbm_features_are_as_hard_as_their_closed_form() -> None:
    n, signal = 20_000, 1.0
    graph = make_csbm(n, mean_degree=1, signal=signal)
    assert isinstance(graph.features, np.ndarray)
    assert graph.labels is not None
    # The means differ along (1, ..., 1) only: the sign of the sum is the best classifier.
    accuracy = ((graph.features.sum(axis=1) > 0) == graph.labels).mean()
    expected = (1 + math.erf(signal / math.sqrt(2))) / 2
    assert abs(accuracy - expected) < 5 * math.sqrt(expected * (1 - expected) / n)
    assert graph.features.std() == pytest.approx(math.sqrt(1 + signal**2 / 50), rel=0.01)


def test_bipartite_is_the_papers() -> None:
    graph = make_bipartite()
    assert graph.n_vertices == 2000
    assert graph.n_features == 50
    assert crossing(graph).all()
    assert abs(graph.n_edges - 50_000) < 5 * math.sqrt(1e6 * 0.05 * 0.95)
    assert sp.csgraph.connected_components(graph.adjacency)[0] == 1
    # 2 for a regular graph; degrees of mean 50 and variance about 50 draw it towards 1.
    assert rayleigh_quotient(graph) == pytest.approx(2 - 1 / (4 * 50), abs=0.002)


def test_digits_are_joined_to_their_neighbours() -> None:
    graph = make_digits(n_neighbors=5)
    assert (graph.n_vertices, graph.n_features, graph.n_classes) == (1797, 64, 10)
    assert graph.degrees.min() >= 5
    assert graph.notes == ()
    assert isinstance(graph.features, np.ndarray)
    distances = np.linalg.norm(graph.features - graph.features[0], axis=1)
    nearest = np.argsort(distances)[1:6]
    assert set(nearest) <= set(graph.indices[graph.indptr[0] : graph.indptr[1]])
    assert crossing(graph).mean() < 0.05


def test_digits_that_are_equally_near_are_joined_in_their_order() -> None:
    """Otherwise the graph would depend on the number of threads, and its checksum with it."""
    graph = make_digits(n_neighbors=10)
    assert isinstance(graph.features, np.ndarray)
    features = graph.features.astype(np.int64)
    joined = np.zeros((1797, 1797), dtype=bool)
    n_tied = 0
    for vertex, row in enumerate(features):
        distances = np.square(features - row).sum(axis=1)
        distances[vertex] = distances.max() + 1
        order = np.argsort(distances, kind="stable")
        joined[vertex, order[:10]] = True
        n_tied += distances[order[9]] == distances[order[10]]
    assert n_tied > 50
    np.testing.assert_array_equal(graph.adjacency.toarray() > 0, joined | joined.T)


def test_karate_is_zacharys() -> None:
    graph = make_karate()
    assert (graph.n_vertices, graph.n_edges, graph.n_classes) == (34, 78, 2)
    assert graph.weights is None
    assert crossing(graph).sum() == 11
    assert graph.features is not None
    assert sp.issparse(graph.features)
    np.testing.assert_array_equal(graph.features @ np.eye(34), np.eye(34))


@pytest.mark.parametrize("make", [make_csbm, make_bipartite])
def test_same_seed_gives_the_same_graph(make: Callable[..., Graph]) -> None:
    first, again, other = make(seed=3), make(seed=3), make(seed=4)
    np.testing.assert_array_equal(first.edges, again.edges)
    np.testing.assert_array_equal(first.features, again.features)
    assert first.edges.shape != other.edges.shape or (first.edges != other.edges).any()


@settings(deadline=None)
@given(n=st.integers(0, 60), p=st.floats(0, 1), seed=st.integers(0, 9))
def test_pairs_within_are_distinct_pairs(n: int, p: float, seed: int) -> None:
    pairs = _pairs_within(n, p, np.random.default_rng(seed))
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert ((pairs >= 0) & (pairs < n)).all()
    assert len({tuple(pair) for pair in pairs.tolist()}) == len(pairs)
    if p == 1:
        assert len(pairs) == n * (n - 1) // 2


def test_successes_are_independent_trials() -> None:
    n, p, draws = 12, 0.3, 20_000
    rng = np.random.default_rng(0)
    hits = np.zeros((draws, n))
    for row in hits:
        row[_successes(n, p, rng)] = 1
    deviation = math.sqrt(p * (1 - p) / draws)
    assert (abs(hits.mean(axis=0) - p) < 5 * deviation).all()
    covariance = np.cov(hits.T) - p * (1 - p) * np.eye(n)
    assert abs(covariance).max() < 0.01


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (make_csbm, {"frequency": 2.1}),
        (make_csbm, {"frequency": math.nan}),
        (make_csbm, {"n_vertices": 1}),
        (make_csbm, {"n_vertices": 20, "mean_degree": 30}),
        (make_csbm, {"mean_degree": -1}),
        (make_csbm, {"n_features": 0}),
        (make_bipartite, {"probability": 0}),
        (make_bipartite, {"n_side": 0}),
        (make_bipartite, {"probability": 1e-4}),
        (make_digits, {"n_neighbors": 0}),
        (make_digits, {"n_neighbors": 1797}),
    ],
)
def test_impossible_settings_are_our_errors(
    make: Callable[..., Graph], options: dict[str, float]
) -> None:
    with pytest.raises(ConfigError, match="must"):
        make(**options)
