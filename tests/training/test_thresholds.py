"""Curves and thresholds against scikit-learn's and against all thresholds tried."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as reference

from graphfilter.training.thresholds import (
    BinaryCurve,
    Costs,
    Decision,
    choose_threshold,
    lifts,
    score_decision,
)
from graphfilter.util.errors import ConfigError

REFERENCES = {
    "f1": reference.f1_score,
    "accuracy": reference.accuracy_score,
    "balanced_accuracy": reference.balanced_accuracy_score,
    "mcc": reference.matthews_corrcoef,
}


@pytest.fixture(params=["smooth", "tied"])
def drawn(request) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    truth = rng.random(200) < 0.2
    scores = np.clip(0.3 * truth + 0.6 * rng.random(200), 0, 1)
    return (np.round(scores, 1) if request.param == "tied" else scores), truth


def test_curve_equals_scikit_learns(drawn) -> None:
    scores, truth = drawn
    curve = BinaryCurve.of(scores, truth)
    precision, recall, _ = reference.precision_recall_curve(truth, scores)
    np.testing.assert_allclose(curve.precision, precision[::-1])
    np.testing.assert_allclose(curve.recall, recall[::-1])
    alarms, found, _ = reference.roc_curve(truth, scores, drop_intermediate=False)
    np.testing.assert_allclose(curve.false_alarm_rate, alarms)
    np.testing.assert_allclose(curve.recall, found)
    assert curve.average_precision == pytest.approx(
        reference.average_precision_score(truth, scores)
    )
    assert curve.roc_area == pytest.approx(reference.roc_auc_score(truth, scores))


@pytest.mark.parametrize("metric", REFERENCES)
def test_values_are_those_of_the_predictions_at_each_threshold(drawn, metric: str) -> None:
    scores, truth = drawn
    curve = BinaryCurve.of(scores, truth)
    expected = [REFERENCES[metric](truth, scores >= t) for t in curve.thresholds]
    np.testing.assert_allclose(curve.values(metric), expected, atol=1e-12)


@pytest.mark.parametrize("metric", REFERENCES)
def test_chosen_threshold_is_as_good_as_any(drawn, metric: str) -> None:
    scores, truth = drawn
    chosen = REFERENCES[metric](truth, scores >= choose_threshold(scores, truth, metric))
    # Between two scores all thresholds decide alike.
    tried = [REFERENCES[metric](truth, scores >= t) for t in (*np.unique(scores), np.inf)]
    assert chosen >= max(tried) - 1e-12


def test_cost_of_missing_lowers_the_threshold(drawn) -> None:
    scores, truth = drawn
    low = choose_threshold(scores, truth, "cost", Costs(missed=50))
    high = choose_threshold(scores, truth, "cost", Costs(false_alarm=50))
    assert low < high
    assert score_decision(scores, truth, low)["missed"] == 0
    assert score_decision(scores, truth, high)["false_alarms"] == 0
    for t in np.linspace(0, 1, 50):
        costs = Costs(missed=50)
        best = score_decision(scores, truth, low, costs)["cost"]
        assert best <= score_decision(scores, truth, t, costs)["cost"] + 1e-12


def test_threshold_of_calibrated_scores_is_the_one_of_the_costs() -> None:
    """Of calibrated probabilities, false_alarm / (false_alarm + missed) costs the least."""
    rng = np.random.default_rng(0)
    scores = rng.random(200_000)
    truth = rng.random(200_000) < scores
    costs = Costs(missed=4, false_alarm=1)
    assert choose_threshold(scores, truth, "cost", costs) == pytest.approx(0.2, abs=0.03)


def test_score_of_no_answers_is_not_a_number_but_none() -> None:
    none = score_decision(np.array([0.1, 0.2]), np.array([False, True]), 0.9)
    assert (none["precision"], none["recall"], none["missed"]) == (None, 0, 1)
    assert score_decision(np.array([0.1]), np.array([False]), 0.9)["recall"] is None


def test_lift_of_all_is_one_and_of_a_perfect_top_is_the_most(drawn) -> None:
    scores, truth = drawn
    everything = lifts(scores, truth, shares=(1.0,))[0]
    assert everything.lift == pytest.approx(1)
    assert everything.found == pytest.approx(1)
    perfect = lifts(truth.astype(float), truth, shares=(0.05,))[0]
    assert perfect.lift == pytest.approx(1 / truth.mean())
    flat = lifts(np.full(200, 0.5), truth)
    assert [lift.lift for lift in flat] == pytest.approx([1, 1, 1])
    assert [lift.n_vertices for lift in flat] == [2, 10, 20]
    assert lifts(scores, np.zeros(200, bool)) == []


def test_decision_answers_by_its_threshold() -> None:
    probabilities = np.array([[0.7, 0.3], [0.9, 0.1], [0.2, 0.8]])
    assert Decision("b", 0.3).decide(probabilities, ["a", "b"]).tolist() == [1, 0, 1]
    assert Decision("a", 0.95).decide(probabilities, ["a", "b"]).tolist() == [1, 1, 1]


def test_unknown_metric_is_named() -> None:
    with pytest.raises(ConfigError, match="Known: accuracy"):
        choose_threshold(np.array([0.1, 0.9]), np.array([False, True]), "f2")


def test_of_thresholds_that_are_as_good_the_one_nearest_to_one_half_is_chosen() -> None:
    """One of two positives found without a false alarm, or both with one: as accurate."""
    scores, truth = np.array([0.9, 0.45, 0.2, 0.15, 0.05]), np.array([1, 0, 1, 0, 0]) > 0
    equal = [0.675, 0.175]
    values = [((scores >= t) == truth).mean() for t in equal]
    assert values == [0.8, 0.8]
    assert choose_threshold(scores, truth, "accuracy") == pytest.approx(equal[0])


def test_vertex_at_the_threshold_is_answered_positive() -> None:
    found = score_decision(np.array([0.5, 0.5, 0.4]), np.array([True, False, True]), 0.5)
    assert (found["found"], found["false_alarms"], found["missed"]) == (1, 1, 1)
