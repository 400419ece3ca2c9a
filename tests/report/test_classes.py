"""Classes and vertices of a report, on predictions that are written down."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter.graph import Graph
from graphfilter.metrics import calibration_error
from graphfilter.report.classes import (
    MOST_CLASSES,
    MOST_VERTICES,
    calibration_data,
    class_rows,
    confusion_data,
    least_sure,
    most_doubted,
)
from graphfilter.spectral import diagnose

NAMES = ["v0", "v1", "v2", "v3", "v4", "v5"]
LABELS = ["a", "a", "b", "b", "c", None]
SURE = np.array(
    [[0.9, 0.1, 0], [0.2, 0.8, 0], [0.3, 0.7, 0], [0.95, 0.05, 0], [0.3, 0.3, 0.4], [0.5, 0.4, 0.1]]
)
PARTS = np.array(["train", "train", "test", "test", "val", "unlabelled"])


@pytest.fixture
def graph() -> Graph:
    edges = [[i, (i + 1) % 6] for i in range(6)]
    return Graph.from_edges(edges, labels=LABELS, vertex_names=NAMES)


def test_least_sure_lists_the_unlabelled_first_choice(graph: Graph) -> None:
    rows = least_sure(graph, PARTS, SURE)
    assert [(r.id, r.given, r.predicted) for r in rows] == [("v5", "", "a")]
    assert rows[0].given_probability is None


def test_least_sure_lists_test_vertices_where_all_are_labelled(graph: Graph) -> None:
    full = graph.replace(labels=["a", "a", "b", "b", "c", "c"])
    assert [r.id for r in least_sure(full, PARTS, SURE)] == ["v2", "v3"]


def test_most_doubted_lists_rejected_labels_least_probable_first(graph: Graph) -> None:
    rows = most_doubted(graph, PARTS, SURE)
    assert [(r.id, r.given, r.predicted) for r in rows] == [("v3", "b", "a"), ("v1", "a", "b")]
    assert [r.given_probability for r in rows] == [0.05, 0.2]


def test_vertex_lists_are_capped() -> None:
    n = MOST_VERTICES + 50
    graph = Graph.from_edges([[0, 1]], n, labels=[0, 1] * (n // 2))
    wrong = np.eye(2)[1 - np.arange(n) % 2]
    assert len(most_doubted(graph, np.full(n, "test"), wrong)) == MOST_VERTICES
    assert len(least_sure(graph, np.full(n, "test"), wrong)) == MOST_VERTICES


def test_class_rows_are_precision_and_recall(graph: Graph) -> None:
    rows = class_rows(graph, diagnose(graph), np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]))
    assert [r.name for r in rows] == ["a", "b", "c"]
    assert rows[0].precision == 1.0
    assert rows[0].recall == 0.5
    assert rows[1].precision == pytest.approx(2 / 3)
    assert np.isnan(rows[2].recall)
    assert [r.n_labelled for r in rows] == [2, 2, 1]


def test_calibration_data_sums_to_the_calibration_error() -> None:
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet([0.5, 0.5, 0.5], size=300)
    truth = rng.integers(0, 3, 300)
    data = calibration_data(probabilities, truth)
    gap = np.abs(np.array(data["accuracy"]) - np.array(data["confidence"]))
    error = float(gap @ np.array(data["count"])) / 300
    assert error == pytest.approx(calibration_error(probabilities, truth), abs=1e-3)


def test_confusion_data_keeps_the_largest_of_many_classes() -> None:
    n = MOST_CLASSES + 5
    labels = np.concatenate([np.arange(n), np.arange(MOST_CLASSES)])
    graph = Graph.from_edges([[0, 1]], len(labels), labels=labels)
    data = confusion_data(graph, labels, labels)
    assert data["left_out"] == 5
    assert data["names"] == [str(c) for c in range(MOST_CLASSES)]
    np.testing.assert_array_equal(data["counts"], 2 * np.eye(MOST_CLASSES))
