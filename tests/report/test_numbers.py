"""Numbers of a report, each with its errors and its map, on predictions that are written down."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from tests.runs.made import made_fit, one_hot

from graphfilter import SGFRegressor
from graphfilter.report.classes import MOST_DOTS, errors_by_size, map_section, numbers_section
from graphfilter.runs.findings import conclude, score_each
from graphfilter.runs.fit import Fit
from graphfilter.training import REGRESSION, TargetScale

RNG = np.random.default_rng(0)
TRUTH = np.column_stack([RNG.uniform(1, 9, 200), RNG.normal(size=200)])
SAID = TRUTH + [0.5, 0.1] * RNG.normal(size=(200, 2))


def fit_of(truth: np.ndarray, said: np.ndarray, names: list[str]) -> Fit:
    estimator = SGFRegressor()
    training = truth[:50] + 0.01
    estimator.target_scales_ = tuple(TargetScale.fit(y) for y in training.T)
    return made_fit(training, truth, said, task=REGRESSION, names=names, estimator=estimator)


def at_places(fit: Fit, features: np.ndarray, names: tuple[str, ...]) -> Fit:
    graph = fit.plan.graph.replace(features=features.astype(np.float32), feature_names=names)
    return dataclasses.replace(fit, plan=dataclasses.replace(fit.plan, graph=graph))


def test_each_number_has_its_own_scores() -> None:
    fit = fit_of(TRUTH, SAID, ["price", "size"])
    rows = numbers_section(fit)["rows"]
    assert [row["name"] for row in rows] == ["price", "size"]
    for t, row in enumerate(rows):
        errors = np.abs(SAID[:, t] - TRUTH[:, t])
        assert row["scores"]["mae"] == pytest.approx(errors.mean())
        assert row["scores"]["median_error"] == pytest.approx(np.median(errors))
        assert row["scale"].startswith("learned as it is")
    # Numbers that may be negative have no errors in percent, and no sum.
    share = np.median(np.abs(SAID[:, 0] / TRUTH[:, 0] - 1))
    assert rows[0]["scores"]["share"] == pytest.approx(share)
    assert rows[0]["scores"]["sum"] == pytest.approx(SAID[:, 0].sum() / TRUTH[:, 0].sum())
    assert not {"share", "sum"} & rows[1]["scores"].keys()
    drawn = numbers_section(fit)["data"]["scatter"]
    np.testing.assert_allclose(drawn[1]["observed"], TRUTH[:, 1], rtol=1e-4)


def test_headline_names_the_errors_of_each_number_in_its_unit() -> None:
    fit = fit_of(TRUTH, SAID, ["price", "size"])
    first, second = conclude(fit).lines
    for name, scores in zip(fit.names, score_each(fit), strict=True):
        assert f"{name}: median error {scores['median_error']:.4g}" in first
        assert f"mean error {scores['mae']:.4g}, R² {scores['r2']:.3f}" in first
    assert second.startswith("price and size are predicted with a typical error (RMSE) of ")


def test_errors_by_size_are_those_of_fifths() -> None:
    rows = errors_by_size(TRUTH[:, 0], SAID[:, 0])
    assert [row["n"] for row in rows] == [40] * 5
    order = np.argsort(TRUTH[:, 0])
    for k, row in enumerate(rows):
        own = order[40 * k : 40 * (k + 1)]
        errors = SAID[own, 0] - TRUTH[own, 0]
        assert row["low"] == TRUTH[own, 0].min()
        assert row["high"] == TRUTH[own, 0].max()
        assert row["median"] == pytest.approx(np.median(np.abs(errors)))
        assert row["mean"] == pytest.approx(np.abs(errors).mean())
        assert row["lean"] == pytest.approx(np.median(errors))


@pytest.mark.parametrize("true", [[7.0] * 9, [0.0] * 8 + [5.0], [1.0], [0.0, 1.0]])
def test_errors_by_size_of_equal_numbers_are_one_group(true: list[float]) -> None:
    rows = errors_by_size(np.array(true), np.zeros(len(true)))
    assert sum(row["n"] for row in rows) == len(true)
    assert len(rows) == len(set(true))
    assert all(low["high"] < high["low"] for low, high in itertools.pairwise(rows))


def test_map_has_values_answers_and_errors_where_there_are_coordinates() -> None:
    fit = fit_of(TRUTH, SAID, ["price", "size"])
    assert map_section(fit) is None
    places = np.random.default_rng(1).uniform(40, 41, (250, 2))
    placed = at_places(fit, places, ("Lat", "Long"))
    drawn = (map_section(placed) or {})["data"]["map"]
    np.testing.assert_allclose(drawn["all"]["at"], places.T, rtol=1e-6)
    np.testing.assert_allclose(drawn["judged"]["at"], places[50:].T, rtol=1e-6)
    assert drawn["latitude"]
    assert [layer["name"] for layer in drawn["layers"]] == ["price", "size"]
    np.testing.assert_allclose(drawn["layers"][0]["known"][50:], TRUTH[:, 0], rtol=1e-3)
    np.testing.assert_allclose(drawn["layers"][0]["says"][50:], SAID[:, 0], rtol=1e-3)
    missed = SAID[:, 1] - TRUTH[:, 1]
    np.testing.assert_allclose(drawn["layers"][1]["missed"], missed, rtol=1e-3)


def test_map_of_classes_says_which_are_wrong() -> None:
    training, truth = np.array([0, 1, 2]), np.array([0, 0, 1])
    fit = made_fit(training, truth, one_hot(np.array([0, 1, 1]), 3), names=["a", "b", "c"])
    drawn = (map_section(at_places(fit, np.zeros((6, 2)), ("x", "y"))) or {})["data"]["map"]
    assert drawn["layers"][0]["missed"] == [False, True, False]
    assert drawn["classes"] == ["a", "b", "c"]
    assert not drawn["latitude"]


def test_map_of_very_many_is_bounded() -> None:
    n = 100_000
    truth = np.random.default_rng(0).uniform(1, 9, (n, 1))
    fit = at_places(fit_of(truth, truth, ["price"]), np.ones((n + 50, 2)), ("x", "y"))
    drawn = (map_section(fit) or {})["data"]["map"]
    assert len(drawn["all"]["ids"]) == len(drawn["judged"]["ids"]) == MOST_DOTS
