"""Frequencies of labels: quotients, estimates from some labels, the diagnosis."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from graphfilter.data import load_dataset
from graphfilter.data.graph import Graph
from graphfilter.spectral import (
    diagnose,
    estimate_label_frequency,
    feature_frequency,
    frequency_gap_bound,
    homophily,
    label_frequency,
    laplacian,
    rayleigh_quotient,
)
from graphfilter.spectral.diagnosis import describe_agreement
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
    monkeypatch.setattr("graphfilter.spectral.diagnosis._SPARSE_PRODUCTS", block)
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


TINY = Graph.from_edges(
    [[0, 1], [0, 2], [1, 2], [2, 3], [3, 4], [4, 5], [3, 5], [5, 6]],
    n_vertices=8,
    labels=["a", "a", "a", "b", "b", "c", "c", "a"],
)


def planted_graph(homophilous: bool, seed: int = 0, n: int = 1500) -> Graph:
    """Three classes, mean degree 8, edges mostly within or mostly between classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    pairs = rng.integers(0, n, (20 * n, 2))
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    kept = rng.random(len(pairs)) < np.where(same == homophilous, 0.8, 0.1)
    return Graph.from_edges(pairs[kept][: 4 * n], n, labels=labels)


@pytest.mark.parametrize("size", [2, 3, 6])
def test_unbiased_estimate_is_unbiased_for_every_sample_size(size):
    samples = combinations(range(TINY.n_vertices), size)
    values = [estimate_label_frequency(TINY, list(s)).value for s in samples]
    np.testing.assert_allclose(np.mean(values, axis=0), label_frequency(TINY), rtol=1e-12)


@pytest.mark.parametrize("method", ["induced", "naive"])
def test_induced_and_naive_estimates_are_biased(method):
    samples = list(combinations(range(TINY.n_vertices), 3))
    values = [estimate_label_frequency(TINY, list(s), method=method).value for s in samples]
    assert np.abs(np.mean(values, axis=0) - label_frequency(TINY)).min() > 0.1


@pytest.mark.parametrize("encoding", ["signed", "onehot"])
@pytest.mark.parametrize("method", ["unbiased", "induced", "naive"])
def test_estimate_from_every_label_is_the_truth(method, encoding):
    estimate = estimate_label_frequency(TINY, np.arange(8), method=method, encoding=encoding)
    truth = label_frequency(TINY, encoding)
    np.testing.assert_allclose(estimate.value, truth, rtol=1e-12)
    assert estimate.mean == pytest.approx(truth.mean())
    if method == "unbiased":
        np.testing.assert_allclose(estimate.low, truth, rtol=1e-12)
        np.testing.assert_allclose(estimate.high, truth, rtol=1e-12)


def test_estimate_looks_at_the_labels_of_index_only():
    index = [0, 1, 3, 5, 6]
    others = np.setdiff1d(np.arange(8), index)
    labels = np.array(["a", "a", "a", "b", "b", "c", "c", "a"], dtype=object)
    labels[others] = "b"
    full = estimate_label_frequency(TINY, index)
    changed = estimate_label_frequency(TINY.replace(labels=labels), index)
    np.testing.assert_array_equal(full.value, changed.value)
    d1, d2 = (diagnose(g, index) for g in (TINY, TINY.replace(labels=labels)))
    assert (d1.class_counts, d1.advice) == (d2.class_counts, d2.advice)


def test_jackknife_equals_leaving_each_vertex_out():
    graph = planted_graph(homophilous=True, n=200)
    index = np.random.default_rng(0).permutation(200)[:80]
    for encoding in ("signed", "onehot"):
        estimate = estimate_label_frequency(graph, index, encoding=encoding)
        left_out = np.array(
            [
                estimate_label_frequency(graph, np.delete(index, i), encoding=encoding).value
                for i in range(80)
            ]
        )
        variance = (1 - 80 / 200) * 79 / 80 * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)
        expected = np.clip(estimate.value + 1.959964 * np.sqrt(variance), 0, 2)
        np.testing.assert_allclose(estimate.high, expected, rtol=1e-6)


@pytest.mark.parametrize("homophilous", [True, False])
@pytest.mark.parametrize("share", [0.1, 0.6])
def test_interval_covers_the_truth_as_often_as_it_says(homophilous, share):
    """400 samples: at least 95 % less three standard errors, in both encodings and the mean."""
    graph = planted_graph(homophilous)
    rng = np.random.default_rng(0)
    n, repeats = graph.n_vertices, 400
    for encoding in ("signed", "onehot"):
        truth = label_frequency(graph, encoding)
        inside = np.zeros((repeats, 4), dtype=bool)
        for i in range(repeats):
            e = estimate_label_frequency(
                graph, rng.permutation(n)[: int(share * n)], encoding=encoding
            )
            inside[i, :3] = (e.low <= truth) & (truth <= e.high)
            inside[i, 3] = e.mean_low <= truth.mean() <= e.mean_high
        assert inside.mean(axis=0).min() >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / repeats)


def test_interval_narrows_with_the_sample():
    graph = planted_graph(homophilous=True)
    order = np.random.default_rng(0).permutation(graph.n_vertices)
    widths = [
        np.ptp([e.low, e.high], axis=0).max()
        for e in (estimate_label_frequency(graph, order[:k]) for k in (150, 600, 1350))
    ]
    assert widths[0] > 2 * widths[1] > 4 * widths[2] > 0


def test_estimate_from_too_few_labels_says_nothing():
    estimate = estimate_label_frequency(TINY, [0, 1, 3])
    np.testing.assert_array_equal((estimate.low, estimate.high), ([0] * 3, [2] * 3))
    assert (estimate.mean_low, estimate.mean_high) == (0, 2)
    assert np.isnan(estimate_label_frequency(TINY, [0]).value).all()
    assert np.isnan(estimate_label_frequency(TINY, []).value).all()
    assert np.isnan(estimate_label_frequency(TINY, [], method="induced").value).all()
    # Class c has no member among 0, 1, 3: one-hot, there is nothing to divide by.
    onehot = estimate_label_frequency(TINY, [0, 1, 3], encoding="onehot")
    assert np.isnan(onehot.value).tolist() == [False, False, True]


def test_estimate_rejects_impossible_samples():
    with pytest.raises(GraphError, match=r"0\.\.7; got 0\.\.8"):
        estimate_label_frequency(TINY, [0, 8])
    with pytest.raises(GraphError, match="once"):
        estimate_label_frequency(TINY, [1, 1])
    with pytest.raises(GraphError, match=r"1 have no label \(the first is 2\)"):
        estimate_label_frequency(TINY.replace(labels=[0, 1, -1, 0, 1, 0, 1, 0]), [1, 2])
    with pytest.raises(GraphError, match="list of vertex numbers"):
        estimate_label_frequency(TINY, [0.5])
    with pytest.raises(ConfigError, match="did you mean 'unbiased'"):
        estimate_label_frequency(TINY, [0, 1], method="unbiassed")
    with pytest.raises(ConfigError, match="between 0 and 1; got 95"):
        estimate_label_frequency(TINY, [0, 1], level=95)


@pytest.mark.parametrize(
    ("homophilous", "name", "word"), [(True, "low", "low-pass"), (False, "middle", "adaptive")]
)
def test_diagnosis_of_planted_classes(homophilous, name, word):
    graph = planted_graph(homophilous)
    whole = diagnose(graph)
    assert (whole.range, whole.confidence) == (name, "exact")
    assert word in whole.advice
    assert sum(whole.class_counts.values()) == whole.n_labelled == graph.n_vertices
    half = diagnose(graph, np.arange(graph.n_vertices) < 750)
    assert (half.range, half.confidence, half.n_labelled) == (name, "sure", 750)
    few = diagnose(graph, np.arange(20))
    assert few.confidence == "unsure"
    assert "More labels" in few.advice


def test_diagnosis_sees_through_a_dominant_class():
    rng = np.random.default_rng(0)
    labels = (rng.random(2000) < 0.03).astype(int)
    graph = Graph.from_edges(rng.integers(0, 2000, (40_000, 2)), 2000, labels=labels)
    d = diagnose(graph)
    assert d.range == "low"
    assert "ignores the graph" in d.advice


def test_diagnosis_needs_labels():
    with pytest.raises(GraphError, match="need labels"):
        diagnose(Graph.from_edges([[0, 1]]))
    with pytest.raises(GraphError, match="at least 2"):
        diagnose(TINY, [0])


def ring_of_classes(n: int = 600, n_classes: int = 5) -> Graph:
    """Join classes to the next one only: no edge lies within a class, and none alternates."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % n_classes
    members = [np.flatnonzero(labels == c) for c in range(n_classes)]
    edges = [
        [rng.choice(members[c]), rng.choice(members[(c + 1) % n_classes])]
        for c in rng.integers(0, n_classes, 6 * n)
    ]
    return Graph.from_edges(edges, n, labels=labels)


def test_advice_for_a_middle_graph_whose_neighbours_differ_says_so() -> None:
    found = diagnose(ring_of_classes())
    assert found.range == "middle"
    assert found.edge_homophily == 0
    assert "on 0 % of the edges, less often than by chance." in found.advice
    assert "Use an adaptive filter, and compare" in found.advice


def test_advice_for_a_middle_graph_of_random_edges_calls_it_chance() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 500)
    graph = Graph.from_edges(rng.integers(0, 500, (4000, 2)), 500, labels=labels)
    assert "about as often as by chance." in diagnose(graph).advice


@pytest.mark.research
def test_advice_for_texas_is_what_its_edges_say(data_folder, monkeypatch) -> None:
    monkeypatch.setenv("GRAPHFILTER_DATA", str(data_folder))
    texas = load_dataset("texas")
    rows = np.repeat(np.arange(texas.n_vertices), np.diff(texas.indptr))
    assert texas.labels is not None
    share = float(np.mean(texas.labels[rows] == texas.labels[texas.indices]))
    assert (
        f"on {100 * share:.0f} % of the edges, less often than by chance" in diagnose(texas).advice
    )


@pytest.mark.parametrize(
    ("edge", "adjusted", "words"),
    [(0.8, 0.7, "more often"), (0.2, -0.3, "less often"), (0.5, 0.05, "about as often")],
)
def test_agreement_is_measured_against_chance(edge: float, adjusted: float, words: str) -> None:
    assert words in describe_agreement(edge, adjusted)


def test_agreement_of_no_edges_is_unknown() -> None:
    assert "No edge" in describe_agreement(float("nan"), float("nan"))
