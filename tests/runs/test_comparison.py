"""What a fit is judged by: the score that sees what is looked for, its interval and its test."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from tests.runs.made import made_fit, one_hot

from graphfilter.runs.answers import Costs, Decision
from graphfilter.runs.comparison import Accuracy, MeanCost, Ranking, compare
from graphfilter.runs.findings import conclude
from graphfilter.runs.plan import BASELINES

RNG = np.random.default_rng(0)
TRUTH = (np.arange(200) < 24).astype(int)  # 12 % are looked for
DEFAULT = Decision("1", 0.5, "default")


def ranked(strength: float) -> np.ndarray:
    """Return probabilities that rank the positives so far above the others, all below one half."""
    score = np.clip(0.2 + strength * TRUTH + 0.1 * RNG.random(200), 0, 0.49)
    return np.stack([1 - score, score], axis=1)


def test_rare_class_is_judged_by_its_average_precision() -> None:
    """No vertex is answered positive, so accuracy cannot tell: the ranking can."""
    said, alone = ranked(0.12), ranked(0.0)
    fit = made_fit(TRUTH, TRUTH, said, dict.fromkeys(BASELINES, alone), decision=DEFAULT)
    found = compare(fit)
    assert isinstance(found.yardstick, Ranking)
    assert found.ours.value == pytest.approx(average_precision_score(TRUTH, said[:, 1]))
    assert found.ours.low < found.ours.value <= found.ours.high
    assert found.guessing.value == pytest.approx(0.12)
    assert found.named["mlp"].verdict == "better"
    headline = conclude(fit).headline
    assert "the connections help" in headline
    assert "finds 0 of 24" in headline
    balanced = made_fit(np.tile([0, 1], 20), TRUTH, said, decision=DEFAULT)
    assert isinstance(compare(balanced).yardstick, Accuracy)


def test_costs_are_what_models_are_judged_by() -> None:
    decision = Decision("1", 0.3, "cost", Costs(missed=10))
    answers = np.where(np.arange(200) < 20, 1, 0)  # 4 are missed
    answers[190:] = 1  # 10 false alarms
    fit = made_fit(TRUTH, TRUTH, one_hot(answers), decision=decision)
    found = compare(fit)
    assert isinstance(found.yardstick, MeanCost)
    assert found.ours.value == pytest.approx((4 * 10 + 10) / 200)
    # Always answering 0 misses 24, always answering 1 alarms 176 times.
    assert found.guessing.value == pytest.approx(176 / 200)
    assert found.guessing.verdict == "better"


def test_score_without_an_error_is_not_certain() -> None:
    costs = Decision("1", 0.5, "cost", Costs(missed=10))
    perfect = compare(made_fit(TRUTH, TRUTH, one_hot(TRUTH), decision=costs)).ours
    assert perfect.value == perfect.low == 0 < perfect.high
    ranking = compare(made_fit(TRUTH, TRUTH, one_hot(TRUTH), decision=DEFAULT)).ours
    assert ranking.low < ranking.value == ranking.high == 1


def test_baselines_follow_the_same_decision() -> None:
    decision = Decision("1", 0.15, "given", Costs())
    said = ranked(0.2)
    fit = made_fit(np.tile([0, 1], 20), TRUTH, said, {"mlp": said}, decision=decision)
    assert (fit.answers[fit.judged] == 1).all()
    found = compare(fit)
    assert found.ours.value == found.named["mlp"].value == pytest.approx(0.12)
