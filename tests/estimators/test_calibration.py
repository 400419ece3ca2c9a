"""Validation vertices that are set aside to calibrate sets and intervals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import graphfilter as gf
from graphfilter.data import make_csbm
from graphfilter.estimators.inputs import draw_seed
from graphfilter.splits import Split, set_aside, stratified
from graphfilter.util.errors import ConfigError

N = 120
GRAPH = make_csbm(n_vertices=N, frequency=0.4, mean_degree=4, n_features=5, seed=1)
SPLIT = Split(np.arange(50), np.arange(50, 90), np.arange(90, N))


def numbers() -> np.ndarray:
    assert isinstance(GRAPH.features, np.ndarray)
    return GRAPH.features[:, 0] + np.random.default_rng(0).normal(size=N)


def aside_of(random_state: int) -> np.ndarray:
    seed = np.random.SeedSequence(draw_seed(random_state)).generate_state(1).tolist()[0]
    return set_aside(SPLIT.val, 0.5, seed)[1]


def fit_numbers(y: np.ndarray, **options: object) -> gf.SGFRegressor:
    estimator = gf.SGFRegressor(
        max_epochs=12, calibration_fraction=0.5, random_state=7, scale="identity", **options
    )
    return estimator.fit(graph=GRAPH, y=y, split=SPLIT)


def test_vertices_set_aside_choose_nothing() -> None:
    """The answers have the same bits whatever their numbers are; the intervals have not."""
    y = numbers()
    other = y.copy()
    aside = aside_of(7)
    other[aside] = other[aside[::-1]] * 3
    one, two = fit_numbers(y), fit_numbers(other)
    np.testing.assert_array_equal(one.outputs_, two.outputs_)
    np.testing.assert_array_equal(one.split_.val, SPLIT.val)
    widths = [np.diff(e.predict_interval(coverage=0.8), axis=1) for e in (one, two)]
    assert np.median(widths[1]) > np.median(widths[0])


def test_vertices_set_aside_are_answered_for_as_unlabelled_ones_where_labels_are_in_folds() -> None:
    """No fold holds them; whatever their labels are, the answers have the same bits."""
    assert GRAPH.labels is not None
    split = stratified(GRAPH.labels, 0)
    val = set_aside(split.val, 0.5, np.random.SeedSequence(draw_seed(7)).generate_state(1)[0])[1]
    other = GRAPH.labels.copy()
    other[val] = 1 - other[val]
    options = {"effort": "low", "max_epochs": 6, "calibration_fraction": 0.5, "random_state": 7}
    fits = [
        gf.GraphClassifier(**options).fit(graph=GRAPH, y=y, split=split)  # pyright: ignore
        for y in (GRAPH.labels, other)
    ]
    held = fits[0].held_
    assert held is not None
    assert (held[split.train] >= 0).all()
    assert (held[np.concatenate([val, split.test])] < 0).all()
    np.testing.assert_array_equal(fits[0].predict_proba(), fits[1].predict_proba())
    sizes = [fit.predict_set(coverage=0.8).sum() for fit in fits]
    assert sizes[1] > sizes[0]


def test_numbers_that_are_set_aside_correct_no_answer() -> None:
    """What a committee misses on known vertices is added around them: not what these are."""
    y, split = numbers(), stratified(np.zeros(N, dtype=int), 0)
    aside = set_aside(split.val, 0.5, np.random.SeedSequence(draw_seed(7)).generate_state(1)[0])[1]
    other = y.copy()
    other[aside] = 10 - 3 * other[aside]
    one, two = (
        gf.GraphRegressor(
            effort="low", max_epochs=6, calibration_fraction=0.5, random_state=7, scale="identity"
        ).fit(graph=GRAPH, y=given, split=split)
        for given in (y, other)
    )
    np.testing.assert_array_equal(one.predict(), two.predict())


def test_intervals_are_those_of_split_conformal_prediction(tmp_path: Path) -> None:
    """Where all are equally hard, half the width is the ⌈0.8 · 21⌉-th smallest error of 20."""
    y = numbers()
    estimator = fit_numbers(y)
    assert estimator.calibration_ is not None
    (interval,) = estimator.calibration_.intervals
    (fold,) = interval.folds
    assert interval.n_vertices == 20
    said = estimator.outputs_[:, 0]
    scale = estimator.target_scales_[0].deviation
    aside = aside_of(7)
    _, hardness = estimator.answers_.folds()
    errors = np.sort(np.abs(y - said)[aside] / fold.widths(hardness[:, :, 0])[aside])
    np.testing.assert_allclose(fold.scores * scale, errors, rtol=1e-4)
    low, high = estimator.predict_interval(coverage=0.8).T
    half = errors[16] * fold.widths(hardness[:, :, 0])
    np.testing.assert_allclose(high - said, half, rtol=1e-3)
    np.testing.assert_allclose(said - low, half, rtol=1e-3)

    estimator.save(tmp_path / "model")
    loaded = gf.SGFRegressor.load(tmp_path / "model")
    again = loaded.predict_interval(graph=GRAPH, coverage=0.8)
    np.testing.assert_allclose(again, np.column_stack([low, high]), rtol=1e-5)


@pytest.mark.parametrize("several", [False, True])
def test_sets_are_calibrated_on_vertices_set_aside(tmp_path: Path, several: bool) -> None:
    assert GRAPH.labels is not None
    y = np.eye(2, dtype=int)[GRAPH.labels] if several else GRAPH.labels
    estimator = gf.GraphClassifier(
        effort="low", max_epochs=10, calibration_fraction=0.5, random_state=7
    ).fit(graph=GRAPH, y=y, split=SPLIT)
    assert estimator.calibration_ is not None
    assert estimator.calibration_.n_vertices == 20
    estimator.save(tmp_path / "model")
    loaded = gf.GraphClassifier.load(tmp_path / "model")
    sets = estimator.predict_set(coverage=0.8)
    np.testing.assert_array_equal(loaded.predict_set(graph=GRAPH, coverage=0.8), sets)
    aside = aside_of(7)
    held = sets[aside, GRAPH.labels[aside]]
    # 17 of the 20 that calibrate are inside, and those whose score is exactly the limit.
    assert held.sum() >= 16


@pytest.mark.parametrize("share", [-0.1, 1, np.nan])
def test_impossible_shares_are_refused_before_training(share: float) -> None:
    with pytest.raises(ConfigError, match="calibration_fraction"):
        gf.GraphClassifier(calibration_fraction=share).fit(graph=GRAPH)
