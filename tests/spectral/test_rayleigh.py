"""Laplacian, Rayleigh quotient, label and feature frequencies, homophily, the gap bound."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from graphfilter.data.graph import Graph
from graphfilter.spectral import (
    feature_frequency,
    frequency_gap_bound,
    homophily,
    label_frequency,
    laplacian,
    rayleigh_quotient,
)
from graphfilter.util.errors import ConfigError, GraphError

PATH = Graph.from_edges([[0, 1], [1, 2], [2, 3]], labels=["a", "a", "b", "b"])


def random_graph(seed: int, n: int = 12, density: float = 0.3) -> Graph:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < density, 1)
    return Graph.from_edges(np.argwhere(upper), n)


def edge_sum(graph: Graph, x: np.ndarray) -> float:
    """Sum (x_u/√d_u - x_v/√d_v)² over edges, one at a time."""
    d = graph.degrees
    weights = np.ones(graph.n_edges) if graph.edge_weights is None else graph.edge_weights
    return sum(
        float(w * (x[u] / np.sqrt(d[u]) - x[v] / np.sqrt(d[v])) ** 2)
        for (u, v), w in zip(graph.edges, weights, strict=True)
    )


def test_laplacian_equals_its_definition(small_graph):
    d = small_graph.degrees
    inverse_root = np.diag([1 / np.sqrt(x) if x else 0.0 for x in d])
    expected = inverse_root @ (np.diag(d) - small_graph.adjacency.toarray()) @ inverse_root
    np.testing.assert_allclose(laplacian(small_graph).toarray(), expected, atol=1e-12)


def test_laplacian_has_a_zero_eigenvalue_for_every_component(small_graph):
    n_components = sp.csgraph.connected_components(small_graph.adjacency)[0]
    eigenvalues = np.linalg.eigvalsh(laplacian(small_graph).toarray())
    assert np.count_nonzero(np.abs(eigenvalues) < 1e-9) == n_components
    assert eigenvalues.max() < 2 + 1e-9


def test_rayleigh_quotient_obeys_corrected_equation_1(small_graph):
    x = np.random.default_rng(0).standard_normal(small_graph.n_vertices)
    expected = edge_sum(small_graph, x) / (x @ x)
    assert rayleigh_quotient(small_graph, x) == pytest.approx(expected, abs=1e-12)


def test_printed_equation_1_is_not_an_identity():
    x = np.array([1.0, 1.0, 1.0, 1.0])
    L = laplacian(PATH).toarray()
    printed = sum(L[u, v] * (x[u] - x[v]) ** 2 for u, v in PATH.edges) / (x @ x)
    assert printed == 0
    assert rayleigh_quotient(PATH, x) == pytest.approx(2 * (1 - 1 / np.sqrt(2)) ** 2 / 4)
    # And with the entries' own sign, a signal that does oscillate has a negative "frequency".
    y = np.array([1.0, -1.0, 1.0, -1.0])
    assert sum(L[u, v] * (y[u] - y[v]) ** 2 for u, v in PATH.edges) < 0


def test_eigenvectors_have_their_eigenvalue_as_frequency(small_graph):
    eigenvalues, vectors = np.linalg.eigh(laplacian(small_graph).toarray())
    np.testing.assert_allclose(rayleigh_quotient(small_graph, vectors), eigenvalues, atol=1e-9)


@given(seed=st.integers(0, 1000), x=arrays(float, 12, elements=st.floats(-1e300, 1e300)))
def test_rayleigh_quotient_lies_in_0_to_2(seed, x):
    r = rayleigh_quotient(random_graph(seed), x)
    assert 0 <= r <= 2 if x.any() else np.isnan(r)


def test_bipartite_graph_reaches_frequency_2():
    rng = np.random.default_rng(0)
    left, right = np.nonzero(rng.random((8, 9)) < 0.4)
    graph = Graph.from_edges(np.stack([left, right + 8]), 17)
    side = np.repeat([1.0, -1.0], [8, 9])
    assert rayleigh_quotient(graph, np.sqrt(graph.degrees) * side) == pytest.approx(2.0)
    assert rayleigh_quotient(graph, np.sqrt(graph.degrees)) == pytest.approx(0.0, abs=1e-12)


def test_isolated_vertices_have_frequency_0():
    graph = Graph.from_edges([[0, 1]], n_vertices=4)
    assert rayleigh_quotient(graph, [0, 0, 1, -1]) == 0
    assert rayleigh_quotient(graph, [1, -1, 1, -1]) == 1


@pytest.mark.parametrize("exponent", [-1074, -1060, -600, 1000, 1021])
def test_rayleigh_quotient_does_not_depend_on_the_scale(small_graph, exponent):
    """Not even where the signal is subnormal, and one over its peak infinite."""
    x = np.random.default_rng(0).integers(-3, 4, (small_graph.n_vertices, 3)).astype(float)
    expected, scaled = rayleigh_quotient(small_graph, x), np.ldexp(x, exponent)
    np.testing.assert_array_equal(rayleigh_quotient(small_graph, scaled), expected)
    np.testing.assert_array_equal(rayleigh_quotient(small_graph, sp.csr_array(scaled)), expected)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_feature_frequency_takes_rows_of_subnormal_numbers(make):
    features = np.array([[1, 2], [3, 1], [0, 0], [1, 0]], dtype=np.float32)
    edges = [[0, 1], [1, 2], [2, 3]]
    tiny = features * np.float32(1.4e-45)
    one, other = (Graph.from_edges(edges, features=make(f)) for f in (features, tiny))
    np.testing.assert_allclose(feature_frequency(other), feature_frequency(one), rtol=1e-6)


@pytest.mark.parametrize("block", [1, 7, 10**9])
def test_sparse_signals_have_the_frequencies_of_dense_ones(small_graph, monkeypatch, block):
    monkeypatch.setattr("graphfilter.spectral.frequency._SPARSE_PRODUCTS", block)
    rng = np.random.default_rng(1)
    dense = rng.standard_normal((small_graph.n_vertices, 40))
    dense *= rng.random(dense.shape) < 0.3
    dense[:, 0] = 0
    sparse = rayleigh_quotient(small_graph, sp.csr_array(dense))
    np.testing.assert_allclose(sparse, rayleigh_quotient(small_graph, dense), atol=1e-12)
    assert np.isnan(sparse[0])


def test_rayleigh_quotient_rejects_what_is_no_signal():
    with pytest.raises(GraphError, match=r"one row per vertex \(4\); got shape \(3,\)"):
        rayleigh_quotient(PATH, [1, 2, 3])
    with pytest.raises(GraphError, match="finite"):
        rayleigh_quotient(PATH, [1, 2, 3, np.nan])
    with pytest.raises(GraphError, match="must be numbers"):
        rayleigh_quotient(PATH, ["a", "b", "c", "d"])


def test_label_frequency_of_a_path_by_hand():
    # Edges 0-1 and 2-3 weigh 1/√2, edge 1-2 weighs 1/2.
    signed = 1 - 2 * (2 / np.sqrt(2) - 1 / 2) / 4
    onehot = 1 - 2 * (1 / np.sqrt(2)) / 2
    np.testing.assert_allclose(label_frequency(PATH), signed)
    np.testing.assert_allclose(label_frequency(PATH, encoding="onehot"), onehot)


@pytest.mark.parametrize("encoding", ["signed", "onehot"])
def test_unlabelled_vertices_have_0_in_every_label_signal(encoding):
    graph = PATH.replace(labels=["a", "a", None, "b"])
    y = np.array([[1, 0], [1, 0], [0, 0], [0, 1.0]])
    if encoding == "signed":
        y = y - np.array([0.5, 0.5, 0, 0.5])[:, None]
    np.testing.assert_allclose(label_frequency(graph, encoding), rayleigh_quotient(graph, y))


def test_label_frequency_names_the_nearest_encoding():
    with pytest.raises(ConfigError, match="did you mean 'onehot'"):
        label_frequency(PATH, encoding="one-hot")
    with pytest.raises(GraphError, match="need labels"):
        label_frequency(Graph.from_edges([[0, 1]]))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_feature_frequency_normalises_rows_by_their_sum(make):
    raw = np.array([[2.0, 2.0, 0], [0, 3.0, 0], [1.0, 0, 0], [0, 0, 0]])
    graph = PATH.replace(features=make(raw))
    normalised = np.array([[0.5, 0.5], [0, 1], [1, 0], [0, 0]])
    got = feature_frequency(graph)
    np.testing.assert_allclose(got[:2], rayleigh_quotient(graph, normalised), rtol=1e-6)
    np.testing.assert_allclose(
        feature_frequency(graph, row_normalise=False)[:2], rayleigh_quotient(graph, raw[:, :2])
    )
    assert np.isnan(got[2])
    with pytest.raises(GraphError, match="need features"):
        feature_frequency(PATH)


def test_homophily_of_complete_and_bipartite_labels():
    same = PATH.replace(labels=["a", "a", "a", "a"])
    assert homophily(same) == homophily(same, "vertex") == 1
    assert np.isnan(homophily(same, "adjusted"))
    other = PATH.replace(labels=["a", "b", "a", "b"])
    assert homophily(other) == homophily(other, "vertex") == 0
    assert homophily(other, "adjusted") == -1
    assert np.isnan(homophily(PATH.replace(labels=["a", None, "b", None])))


def test_adjusted_homophily_of_labels_drawn_at_random_is_zero():
    rng = np.random.default_rng(0)
    labels = rng.choice(3, size=3000, p=[0.8, 0.15, 0.05])
    graph = Graph.from_edges(rng.integers(0, 3000, (30_000, 2)), 3000, labels=labels)
    assert homophily(graph) > 0.6
    assert homophily(graph, "adjusted") == pytest.approx(0, abs=0.02)


def test_homophily_counts_edges_by_weight():
    graph = Graph.from_edges([[0, 1], [1, 2]], labels=["a", "a", "b"], weights=[3.0, 1.0])
    assert homophily(graph) == pytest.approx(0.75)
    assert homophily(graph, "vertex") == pytest.approx((1 + 0.75 + 0) / 3)


@given(
    seed=st.integers(0, 1000),
    x=arrays(float, 12, elements=st.floats(-1, 1)),
    y=arrays(float, 12, elements=st.floats(-1, 1)),
    nearness=st.floats(0, 1),
)
def test_gap_bound_holds_for_unit_vectors(seed, x, y, nearness):
    x = x + 1e-3 * np.arange(1, 13)
    y = nearness * x + (1 - nearness) * (y - 2e-3 * np.arange(1, 13))
    if min(np.linalg.norm(x), np.linalg.norm(y)) < 1e-6:
        return
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    graph = random_graph(seed)
    gap = abs(rayleigh_quotient(graph, x) - rayleigh_quotient(graph, y))
    assert np.sum((x - y) ** 2) >= frequency_gap_bound(gap) - 1e-12


@pytest.mark.parametrize("angle", [0.01, 0.1, 0.5, 0.7])
def test_gap_bound_is_attained_on_two_vertices(angle):
    # Unit vectors a quarter turn ± half the angle between the eigenvectors of 0 and 2.
    edge = Graph.from_edges([[0, 1]])
    basis = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    turns = np.pi / 4 + np.array([angle, -angle]) / 2
    x, y = np.stack([np.cos(turns), np.sin(turns)], axis=1) @ basis.T
    gap = abs(rayleigh_quotient(edge, x) - rayleigh_quotient(edge, y))
    assert np.sum((x - y) ** 2) == pytest.approx(frequency_gap_bound(gap), rel=1e-9)


def test_proposition_2_fails_for_small_gaps():
    edge = Graph.from_edges([[0, 1]])
    x, y = np.array([np.cos(0.05), np.sin(0.05)]), np.array([np.cos(-0.05), np.sin(-0.05)])
    gap = abs(rayleigh_quotient(edge, x) - rayleigh_quotient(edge, y))
    distance = np.sum((x - y) ** 2)
    assert (gap, distance) == (pytest.approx(0.19967, abs=5e-6), pytest.approx(0.00999, abs=5e-6))
    assert distance < gap / 4
    assert distance == pytest.approx(frequency_gap_bound(gap), rel=1e-9)


def test_gap_bound_rejects_impossible_gaps():
    with pytest.raises(ConfigError, match=r"0\.\.2; got 2\.5"):
        frequency_gap_bound(2.5)
