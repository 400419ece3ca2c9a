"""Drawing vertices again: against scikit-learn, closed forms and what must hold by chance."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from graphfilter.metrics import wilson_interval
from graphfilter.training.comparing import (
    average_precision_of,
    draw_scores,
    drawn_interval,
    drawn_p_value,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n_values", [4, 1000], ids=["ties", "few-ties"])
def test_average_precision_of_a_drawing_is_that_of_scikit_learn(n_values: int) -> None:
    truth = RNG.random(80) < 0.2
    scores = (RNG.integers(0, n_values, 80) + truth) / n_values
    drawn = RNG.multinomial(80, np.full(80, 1 / 80), size=5).astype(float)
    drawn[:, truth.argmax()] += 1
    expected = [average_precision_score(truth, scores, sample_weight=row) for row in drawn]
    np.testing.assert_allclose(average_precision_of(scores, truth)(drawn), expected)


def test_strata_keep_their_sizes() -> None:
    truth = np.arange(50) < 3
    found = draw_scores([lambda d: d[:, truth].sum(axis=1)], 50, strata=truth.astype(int))
    assert set(found[0].tolist()) == {3.0}


def test_interval_of_a_share_is_near_that_of_the_formula() -> None:
    right = np.arange(400) < 300
    low, high = drawn_interval(draw_scores([lambda d: d @ right / 400], 400)[0])
    expected = wilson_interval(300, 400)
    assert (low, high) == pytest.approx(expected, abs=0.01)


def test_p_value_holds_its_level() -> None:
    """Of two models that are equally good, about one in twenty pairs differs clearly."""
    clear = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        a, b = (rng.random(60) < 0.7 for _ in range(2))
        drawn = draw_scores([lambda d, x=x: d @ x / 60 for x in (a, b)], 60, n_drawn=400)
        clear += drawn_p_value(*drawn) <= 0.05
    assert 2 <= clear <= 22
