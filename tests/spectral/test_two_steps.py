"""Labels on one side of a graph, and values: against closed forms and dense products."""

from __future__ import annotations

import numpy as np
import pytest
from tests.analyst_tables import make_fraud

from graphfilter.data.graph import Graph
from graphfilter.spectral import diagnose, diagnose_values, rayleigh_quotient
from graphfilter.spectral.diagnosis import two_steps
from graphfilter.util.errors import GraphError

FRAUD = make_fraud(n_accounts=120, n_devices=40)


def fraud_graph() -> Graph:
    return Graph.from_frames(FRAUD.vertices, FRAUD.edges, label="is_fraud", vertex_kind="type")


def test_two_steps_join_vertices_by_the_neighbours_they_share() -> None:
    graph = fraud_graph()
    assert graph.labels is not None
    known = np.flatnonzero(graph.labels >= 0)
    found = two_steps(graph, known)
    assert found is not None
    far, index = found
    dense = graph.adjacency.toarray()
    expected = dense @ np.diag(1 / np.maximum(dense.sum(axis=1), 1)) @ dense
    np.fill_diagonal(expected, 0)
    # Accounts come first in the table: they are one side, the devices the other.
    np.testing.assert_allclose(far.adjacency.toarray(), expected[:120, :120], rtol=1e-6)
    assert far.labels is not None
    np.testing.assert_array_equal(far.labels[index], graph.labels[known])


def test_labels_on_one_side_are_diagnosed_two_steps_away() -> None:
    diagnosis = diagnose(fraud_graph())
    assert diagnosis.steps == 2
    assert diagnosis.range == "low"
    assert diagnosis.confidence == "sure"
    assert diagnosis.adjusted_homophily > 0.5
    for text in (diagnosis.advice, diagnosis.kind):
        assert "No two labelled vertices are adjacent" in text
        assert "More labels would narrow" not in text


def test_few_labels_of_a_graph_with_triangles_are_not_on_one_side() -> None:
    pairs = [[i, (i + step) % 90] for i in range(90) for step in (1, 2)]
    labels = np.full(90, -1)
    labels[[0, 30, 60]] = [0, 1, 0]
    diagnosis = diagnose(Graph.from_edges(pairs, labels=labels))
    assert diagnosis.steps == 1
    assert "More labels would" in diagnosis.advice


def test_hubs_beyond_the_most_pairs_are_left_out() -> None:
    hub = [[i, 20] for i in range(20)]
    small = [[0, 21], [1, 21]]
    graph = Graph.from_edges([*hub, *small], labels=[0, 1] * 10 + [None, None])
    found = two_steps(graph, np.arange(20), most_pairs=10)
    assert found is not None
    assert found[0].edges.tolist() == [[0, 1]]


def test_values_of_all_vertices_have_their_rayleigh_quotient_and_correlation() -> None:
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.integers(0, 50, (150, 2)), 50)
    values = rng.normal(size=(50, 2))
    found = diagnose_values(graph, values, ["a", "b"])
    signals = (values - values.mean(axis=0)) / values.std(axis=0)
    np.testing.assert_allclose(found.frequency.value, rayleigh_quotient(graph, signals))
    ends = np.concatenate([graph.edges, graph.edges[:, ::-1]])
    for i in range(2):
        expected = np.corrcoef(values[ends[:, 0], i], values[ends[:, 1], i])[0, 1]
        assert found.correlation[i] == pytest.approx(expected)


def test_values_on_one_side_are_diagnosed_two_steps_away() -> None:
    graph = Graph.from_edges([[0, 3], [1, 3], [1, 4], [2, 4]])
    values = np.array([[1.0], [2.0], [3.0], [np.nan], [np.nan]])
    found = diagnose_values(graph, values, ["size"])
    assert (found.steps, found.n_known) == (2, 3)
    assert "adjacent" in found.advice
    with pytest.raises(GraphError, match="at least 2 known"):
        diagnose_values(graph, np.full((5, 1), np.nan), ["size"])
