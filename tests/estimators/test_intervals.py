"""Intervals of numbers: bounds by their definition, coverage, and widths that follow the errors."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter.estimators.calibration import IntervalCalibration, IntervalFold, fewest_for
from graphfilter.systems.prepared import held_folds


def test_bounds_of_one_fold_equal_split_conformal() -> None:
    rng = np.random.default_rng(0)
    answers, truth = rng.normal(size=120), rng.normal(size=120)
    calibration = IntervalCalibration.fit([answers], [np.arange(99)], truth)
    errors = np.sort(np.abs(truth - answers)[:99])
    bounds = calibration.bounds([answers], 0.9)
    # The 90th of 99: ⌈0.9 · 100⌉.
    np.testing.assert_allclose(bounds, answers[:, None] + np.array([-1, 1]) * errors[89])


def test_bounds_of_several_folds_equal_their_definition() -> None:
    rng = np.random.default_rng(1)
    answers = [rng.normal(size=8) for _ in range(3)]
    hardness = rng.normal(size=(8, 2))
    folds = tuple(
        IntervalFold(np.zeros(2), np.ones(2), rng.normal(size=2), np.sort(rng.random(m)))
        for m in (5, 7, 6)
    )
    found = IntervalCalibration(folds).bounds(answers, 0.8, hardness)
    for v in range(8):
        low, high = [], []
        for a, fold in zip(answers, folds, strict=True):
            reach = fold.scores * np.exp(np.clip(hardness[v], -2, 2) @ fold.slope)
            low += list(a[v] - reach)
            high += list(a[v] + reach)
        below = int(0.2 * 19)
        assert found[v, 0] == pytest.approx(np.sort(low)[below - 1])
        assert found[v, 1] == pytest.approx(np.sort(high)[-below])


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("n_folds", [1, 5])
def test_intervals_cover_exchangeable_vertices_as_often_as_promised(
    coverage: float, n_folds: int
) -> None:
    hits, n, n_held, trials = 0, 250, 100, 50
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        hard = rng.normal(size=(n, 1))
        answers = rng.normal(size=n)
        truth = answers + np.exp(hard[:, 0]) * rng.standard_t(3, size=n)
        held = held_folds(np.arange(n_held), seed, n_folds)
        many = [answers] * n_folds
        calibration = IntervalCalibration.fit(many, held, truth, hard)
        low, high = calibration.bounds(many, coverage, hard)[n_held:].T
        hits += int(((low <= truth[n_held:]) & (truth[n_held:] <= high)).sum())
    assert abs(hits / (trials * (n - n_held)) - coverage) < 0.025


def test_widths_follow_what_makes_a_vertex_hard() -> None:
    rng = np.random.default_rng(0)
    hard = rng.normal(size=(900, 2))
    answers = np.zeros(900)
    truth = np.exp(hard[:, 0]) * rng.normal(size=900)
    held = held_folds(np.arange(400), 0)
    flat = IntervalCalibration.fit([answers] * 5, held, truth)
    wide = IntervalCalibration.fit([answers] * 5, held, truth, hard)
    lengths = [
        np.diff(flat.bounds([answers] * 5, 0.9), axis=1),
        np.diff(wide.bounds([answers] * 5, 0.9, hard), axis=1),
    ]
    assert lengths[1].mean() < 0.9 * lengths[0].mean()
    assert lengths[1][hard[:, 0] > 1].mean() > 3 * lengths[1][hard[:, 0] < -1].mean()


def test_too_few_vertices_promise_everything() -> None:
    answers = np.zeros(12)
    calibration = IntervalCalibration.fit([answers], [np.arange(8)], np.arange(12.0))
    assert np.isinf(calibration.bounds([answers], 0.9)).all()
    enough = IntervalCalibration.fit([answers], [np.arange(fewest_for(0.9))], np.arange(12.0))
    assert np.isfinite(enough.bounds([answers], 0.9)).all()
