"""Classes and vertices of a report, on predictions that are written down."""

from __future__ import annotations

import numpy as np
import pytest
from tests.fits.made import made_fit, one_hot

from graphfilter import SGFClassifier
from graphfilter.data.graph import Graph
from graphfilter.estimators.targets import Target
from graphfilter.metrics import calibration_error
from graphfilter.report.classes import MOST_CLASSES, calibration_data, class_rows, confusion_data
from graphfilter.report.vertices import MOST_VERTICES, least_sure, most_doubted
from graphfilter.runs.fit import Fit
from graphfilter.runs.plan import Plan, Source
from graphfilter.splits import Split
from graphfilter.training import CLASSIFICATION
from graphfilter.training.thresholds import Decision

NAMES = ["v0", "v1", "v2", "v3", "v4", "v5"]
LABELS = ["a", "a", "b", "b", "c", None]
SURE = np.array(
    [[0.9, 0.1, 0], [0.2, 0.8, 0], [0.3, 0.7, 0], [0.95, 0.05, 0], [0.3, 0.3, 0.4], [0.5, 0.4, 0.1]]
)
SPLIT = Split([0, 1], [4], [2, 3])


def fit_of(labels: list[str | None], outputs: np.ndarray = SURE, **options) -> Fit:
    edges = [[i, (i + 1) % 6] for i in range(6)]
    graph = Graph.from_edges(edges, labels=labels, vertex_names=NAMES)
    assert graph.labels is not None
    target = Target(CLASSIFICATION, graph.labels, graph.classes)
    plan = Plan(Source(graph), graph, target, SPLIT, 0, ())
    return Fit(plan, SGFClassifier(), outputs, **options)


def test_least_sure_lists_the_unlabelled_first_choice() -> None:
    assert least_sure(fit_of(LABELS)).tolist() == [5]


def test_least_sure_lists_test_vertices_where_all_are_labelled() -> None:
    assert least_sure(fit_of(["a", "a", "b", "b", "c", "c"])).tolist() == [2, 3]


def test_least_sure_are_nearest_to_the_threshold() -> None:
    labels: list[str | None] = ["a", "b", "b", "a", "b", "a"]
    pair = SURE[:, :2] / SURE[:, :2].sum(axis=1, keepdims=True)
    decision = Decision("b", 0.06, "given")
    assert least_sure(fit_of(labels, pair, decision=decision)).tolist() == [3, 2]


def test_most_doubted_lists_rejected_labels_least_probable_first() -> None:
    fit = fit_of(LABELS)
    assert most_doubted(fit).tolist() == [3, 1]
    assert [fit.names[fit.answers[v]] for v in (3, 1)] == ["a", "b"]


def test_vertex_lists_are_capped() -> None:
    n = MOST_VERTICES + 50
    truth = np.arange(n) % 2
    fit = made_fit(truth, truth, one_hot(1 - truth))
    assert len(most_doubted(fit)) == MOST_VERTICES
    assert len(least_sure(fit)) == MOST_VERTICES


def test_class_rows_are_precision_and_recall() -> None:
    training, truth = np.array([0, 1, 2, 2]), np.array([0, 0, 1, 1])
    rows = class_rows(made_fit(training, truth, one_hot(np.array([0, 1, 1, 1]), 3)))
    assert [r.name for r in rows] == ["0", "1", "2"]
    assert rows[0].precision == 1.0
    assert rows[0].recall == 0.5
    assert rows[1].precision == pytest.approx(2 / 3)
    assert np.isnan(rows[2].recall)
    assert [r.n_labelled for r in rows] == [3, 3, 2]


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
    data = confusion_data(made_fit(labels, labels, one_hot(labels, n)))
    assert data["left_out"] == 5
    assert data["names"] == [str(c) for c in range(MOST_CLASSES)]
    np.testing.assert_array_equal(data["counts"], 2 * np.eye(MOST_CLASSES))
