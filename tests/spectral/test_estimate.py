"""Label frequency from some labels: expectations by enumeration, coverage by simulation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from graphfilter.data.graph import Graph
from graphfilter.spectral import diagnose, estimate_label_frequency, label_frequency
from graphfilter.util.errors import ConfigError, GraphError

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
