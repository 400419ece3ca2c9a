"""Classes of a report, on predictions that are written down."""

from __future__ import annotations

import numpy as np
import pytest
from tests.runs.made import made_fit, one_hot

from graphfilter.metrics import calibration_error
from graphfilter.report.classes import (
    MOST_CLASSES,
    calibration_data,
    classes_section,
    confusion_data,
)


def test_class_rows_are_precision_and_recall() -> None:
    training, truth = np.array([0, 1, 2, 2]), np.array([0, 0, 1, 1])
    rows = classes_section(made_fit(training, truth, one_hot(np.array([0, 1, 1, 1]), 3)))["rows"]
    assert [r["name"] for r in rows] == ["0", "1", "2"]
    assert rows[0]["precision"] == 1.0
    assert rows[0]["recall"] == 0.5
    assert rows[1]["precision"] == pytest.approx(2 / 3)
    assert np.isnan(rows[2]["recall"])
    assert [r["n_labelled"] for r in rows] == [3, 3, 2]


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
