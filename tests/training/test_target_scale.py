"""The scale of a target: there and back, its likelihood in closed form, and what is chosen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import lognorm, norm

from graphfilter.training import SCALES, TargetScale
from graphfilter.training.scales import allowed_range, choose_scale, log_likelihood
from graphfilter.util.errors import ConfigError

RNG = np.random.default_rng(0)
SKEWED = np.exp(RNG.normal(3, 1.2, 400))
TRAIN, VAL = np.arange(300), np.arange(300, 400)


@pytest.mark.parametrize("name", SCALES)
def test_scale_undoes_itself_inside_the_training_range(name: str) -> None:
    scale = TargetScale.fit(SKEWED, name)
    inside = np.sort(SKEWED)[1:-1]
    np.testing.assert_allclose(scale.undo(scale.transform(inside)), inside, rtol=1e-6)


@pytest.mark.parametrize("name", SCALES)
def test_scaled_training_numbers_have_mean_zero_and_deviation_one(name: str) -> None:
    t = TargetScale.fit(SKEWED, name).transform(SKEWED)
    assert t.mean() == pytest.approx(0, abs=1e-9)
    assert t.std() == pytest.approx(1)


@pytest.mark.parametrize("name", SCALES)
def test_answers_stay_within_the_range_widened_by_its_spread(name: str) -> None:
    scale = TargetScale.fit(SKEWED, name)
    answers = scale.undo(np.array([-1e3, 0.0, 1e3]))
    assert 0 < answers[0] <= SKEWED.min()
    assert SKEWED.max() * (1 - 1e-9) <= answers[2] <= SKEWED.max() + SKEWED.std()


def test_cut_answers_are_named() -> None:
    scale = TargetScale.fit(SKEWED, "identity")
    assert scale.outside(np.array([-1e3, 0.0, 1e3])).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("y", "low", "high"),
    [
        ([0.0, 4.0], 0.0, 6.0),
        ([-1.0, 1.0], -2.0, 2.0),
        ([1.0, np.e**2], np.exp(-1), np.e**2 + (np.e**2 - 1) / 2),
        ([3.0, 3.0], 3.0, 3.0),
    ],
)
def test_allowed_range_equals_its_closed_form(y: list[float], low: float, high: float) -> None:
    assert allowed_range(np.array(y)) == pytest.approx((low, high))


def test_likelihood_of_logarithms_equals_the_log_normal_density() -> None:
    scale = TargetScale.fit(SKEWED, "log")
    predicted = np.zeros(len(VAL))
    y = SKEWED[VAL]
    spread = scale.deviation * np.sqrt(np.square(scale.transform(y)).mean())
    # 1 + y is log-normal: the Jacobian is in its density.
    density = lognorm.pdf(1 + y, spread, scale=np.exp(scale.mean))
    stray = 0.01 / (scale.high - scale.low)
    expected = np.log(0.99 * density + stray).sum()
    found = log_likelihood(scale, y, predicted, width=1e-5)
    assert found == pytest.approx(expected, rel=1e-4)


def test_likelihood_far_from_the_answer_is_finite() -> None:
    scale = TargetScale.fit(SKEWED, "identity")
    assert np.isfinite(log_likelihood(scale, np.array([1.0, 1e9]), np.array([0.0, 0.0]), 1.0))


def probe(x: np.ndarray, train: np.ndarray, val: np.ndarray):
    def predict(t: np.ndarray) -> np.ndarray:
        design = np.column_stack([np.ones(len(x)), x])
        return design[val] @ np.linalg.lstsq(design[train], t, rcond=None)[0]

    return predict


@pytest.mark.parametrize("expected", SCALES)
def test_chosen_scale_is_the_one_on_which_errors_are_normal(expected: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=600)
    t = x + 0.3 * rng.normal(size=600)
    # Ranks: two heaps far apart, which neither a line nor a logarithm brings together.
    make = {"identity": t, "log": np.exp(5 + 2 * t), "rank": norm.cdf(3 * t) * 8 + np.sign(t) * 40}
    train, val = np.arange(400), np.arange(400, 600)
    y = make[expected]
    assert choose_scale(y, train, val, probe(x, train, val)).name == expected


def test_logarithm_is_not_offered_to_negative_numbers() -> None:
    y = np.concatenate([-np.exp(RNG.normal(3, 2, 299)), [-1.0]])
    train, val = np.arange(200), np.arange(200, 300)
    chosen = choose_scale(y, train, val, lambda t: np.full(100, t.mean()))
    assert chosen.name != "log"


def test_scale_stays_without_validation_vertices_and_of_constants() -> None:
    nobody = np.arange(0)
    assert choose_scale(SKEWED, TRAIN, nobody, lambda t: t[:0]).name == "identity"
    constant = choose_scale(np.full(400, 7.0), TRAIN, VAL, lambda t: np.zeros(100))
    assert constant.name == "identity"
    assert constant.undo(np.array([-1.0, 0.0, 1.0])).tolist() == [7.0, 7.0, 7.0]


def test_unknown_scale_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'rank'"):
        TargetScale.fit(SKEWED, "ranks")
