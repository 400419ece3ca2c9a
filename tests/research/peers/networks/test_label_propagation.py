from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphfilter import operators
from graphfilter.data.datasets import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.data.npz import read_npz
from graphfilter.splits import Split, stratified
from graphfilter.util.errors import GraphError
from graphfilter_research.peers.label_propagation import propagate_labels


def test_label_propagation_equals_its_closed_form() -> None:
    graph = make_csbm(60, mean_degree=6, n_features=2).largest_component()
    assert graph.labels is not None
    split = stratified(graph.labels, 0)
    given = np.zeros((graph.n_vertices, 2))
    given[split.train, graph.labels[split.train]] = 1
    matrix = operators.adjacency(graph).matrix.toarray()
    spread = 0.1 * np.linalg.solve(np.eye(graph.n_vertices) - 0.9 * matrix, given)
    expected = spread / spread.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(propagate_labels(graph, split), expected, atol=1e-4)


def test_label_propagation_uses_no_labels_but_those_trained_on() -> None:
    graph = make_csbm(60, mean_degree=6, n_features=2)
    assert graph.labels is not None
    split = stratified(graph.labels, 0)
    hidden = graph.labels.copy()
    hidden[split.test] = 1 - hidden[split.test]
    changed = propagate_labels(graph.replace(labels=hidden), split)
    assert np.array_equal(propagate_labels(graph, split), changed)


def test_label_propagation_gives_the_unreached_the_class_shares() -> None:
    """And a class that is not trained on no probability."""
    graph = Graph.from_edges([[0, 1], [1, 2]], 5, labels=["a", "a", "b", "c", "a"])
    probabilities = propagate_labels(graph, Split([0, 1, 2], [], [3, 4]))
    np.testing.assert_allclose(probabilities[3:], [[2 / 3, 1 / 3, 0]] * 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert not probabilities[:, 2].any()


def test_label_propagation_refuses_a_graph_without_labels() -> None:
    with pytest.raises(GraphError, match="labelled training vertices"):
        propagate_labels(Graph.from_edges([[0, 1]]), Split([0], [], []))


def test_label_propagation_beats_chance_on_cora(data_folder: Path) -> None:
    graph = read_npz(data_folder / "cora.npz")
    split = stratified(graph.labels, 0)
    right = propagate_labels(graph, split).argmax(axis=1) == graph.labels
    assert right[split.test].mean() > 0.8
