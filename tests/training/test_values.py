"""Scores of numbers and of several labels against scikit-learn and hand-made cases."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as reference

from graphfilter.training.scores import LABEL_METRICS, NUMBER_METRICS, score_labels, score_numbers


def test_scores_of_numbers_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    truth, predicted = rng.normal(size=(2, 40))
    got = score_numbers(predicted, truth)
    assert got["r2"] == pytest.approx(reference.r2_score(truth, predicted))
    assert got["rmse"] == pytest.approx(reference.root_mean_squared_error(truth, predicted))
    assert got["mae"] == pytest.approx(reference.mean_absolute_error(truth, predicted))
    assert set(got) == {"n_vertices", *NUMBER_METRICS}


def test_score_of_equal_numbers_has_no_r2() -> None:
    assert score_numbers(np.array([1.0, 3.0]), np.array([2.0, 2.0])) == {
        "n_vertices": 2, "rmse": 1.0, "mae": 1.0,
    }  # fmt: skip


def test_scores_of_labels_are_those_of_scikit_learn() -> None:
    """The last label is nobody's: it counts for micro F1 and log loss alone."""
    rng = np.random.default_rng(1)
    truth = (rng.random((50, 4)) < [0.2, 0.5, 0.7, 0.0]).astype(float)
    probabilities = np.clip(0.3 * truth + rng.random((50, 4)) * 0.7, 0, 1)
    got, said = score_labels(probabilities, truth), probabilities > 0.5
    assert set(got) == {"n_vertices", *LABEL_METRICS}
    assert got["micro_f1"] == pytest.approx(reference.f1_score(truth, said, average="micro"))
    expected = reference.f1_score(truth[:, :3], said[:, :3], average="macro")
    assert got["macro_f1"] == pytest.approx(expected)
    expected = reference.average_precision_score(truth[:, :3], probabilities[:, :3])
    assert got["average_precision"] == pytest.approx(expected)
    assert got["all_right"] == pytest.approx(reference.accuracy_score(truth, said))
    pairs = zip(truth.T, probabilities.T, strict=True)
    losses = [reference.log_loss(t, p, labels=[0.0, 1.0]) for t, p in pairs]
    assert got["log_loss"] == pytest.approx(np.mean(losses))


def test_score_of_labels_that_nobody_has_is_zero() -> None:
    got = score_labels(np.full((3, 2), 0.1), np.zeros((3, 2)))
    assert (got["micro_f1"], got["all_right"]) == (0.0, 1.0)
    assert "macro_f1" not in got
