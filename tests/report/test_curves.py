"""The filter as data: curves against the filters' own responses, shapes of known filters."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from graphfilter import SGFClassifier
from graphfilter.data import make_csbm
from graphfilter.filters import IdentityFilter, PageRankFilter, StackedFilter
from graphfilter.report.filter import (
    FREQUENCIES,
    coefficient_data,
    describe_shape,
    filter_data,
    response_at,
    training_data,
)
from graphfilter.report.html import spread_out
from graphfilter.runs.findings import learned_filter
from graphfilter.spectral import Density
from graphfilter.training import CLASSIFICATION

CENTRES = np.linspace(0.025, 1.975, 40)
EVEN = Density(CENTRES, np.full(40, 0.5), exact=True)


@pytest.fixture(scope="module")
def fitted() -> SGFClassifier:
    graph = make_csbm(n_vertices=60, frequency=0.3, mean_degree=6, n_features=4)
    return SGFClassifier(n_layers=4, max_epochs=25, n_members=2, random_state=0).fit(graph=graph)


def curves_of(fitted: SGFClassifier) -> dict[str, Any]:
    learned = learned_filter(fitted)
    assert learned is not None
    return filter_data(learned)


def test_filter_data_starts_untrained_and_keeps_the_best(fitted: SGFClassifier) -> None:
    data = curves_of(fitted)
    start = response_at(StackedFilter(4), fitted.operator)
    np.testing.assert_allclose(data["frames"][0], start, rtol=1e-3, atol=1e-4)
    assert data["epochs"][0] == 0
    assert data["epochs"][-1] == 25
    assert data["kept_epoch"] in data["epochs"]
    mean = np.mean([response_at(f, fitted.operator) for f in fitted.filters_], axis=0)
    np.testing.assert_allclose(data["kept"], mean, rtol=1e-3)
    assert len(data["members"]) == 2


def test_filter_data_of_one_member_passes_through_what_was_kept(fitted: SGFClassifier) -> None:
    one = copy.copy(fitted)
    one.filters_, one.filter_results_ = fitted.filters_[:1], fitted.results_[:1]
    data = curves_of(one)
    frame = data["frames"][data["epochs"].index(data["kept_epoch"])]
    np.testing.assert_allclose(frame, data["kept"], rtol=1e-3)
    assert data["members"] == []


def test_histories_have_a_column_an_epoch(fitted: SGFClassifier) -> None:
    scalars = coefficient_data(fitted.results_[0])
    assert scalars is not None
    assert np.shape(scalars["alpha"]) == np.shape(scalars["beta"]) == (4, 26)
    assert scalars["alpha"][0][0] == 0.5
    curves = training_data(fitted.results_[0], CLASSIFICATION)
    assert curves["epochs"] == list(range(1, 26))


def test_spread_out_keeps_both_ends() -> None:
    chosen = spread_out(1501, 60)
    assert chosen[0] == 0
    assert chosen[-1] == 1500
    assert len(chosen) == 60
    assert spread_out(3, 60) == [0, 1, 2]


@pytest.mark.parametrize(
    ("curve", "word"),
    [
        (response_at(PageRankFilter(10, 0.1), "adjacency"), "low-pass"),
        (response_at(IdentityFilter(), "adjacency"), "nearly flat"),
        (FREQUENCIES**4, "high-pass"),
        ((1 - FREQUENCIES) ** 2, "band-stop"),
        (np.exp(-20 * (FREQUENCIES - 1) ** 2), "band-pass"),
        (-(FREQUENCIES**4), "high-pass"),
        (0 * FREQUENCIES, "nothing passes"),
    ],
)
def test_describe_shape_names_known_filters(curve: np.ndarray, word: str) -> None:
    assert word in describe_shape(curve, EVEN)


def test_describe_shape_ignores_frequencies_the_graph_has_not() -> None:
    """A curve that explodes where there is nothing is what it is elsewhere."""
    low_only = Density(CENTRES, np.where(CENTRES < 1.2, 1.0, 0.0), exact=True)
    curve = np.where(FREQUENCIES > 1.5, 1e6, np.exp(-5 * FREQUENCIES))
    assert "low-pass" in describe_shape(curve, low_only)


def test_describe_shape_works_for_every_set_of_bands() -> None:
    for kept in ((0, 0.6), (0.6, 1.3), (1.3, 2), (0, 1.3), (0.6, 2)):
        there = (kept[0] <= CENTRES) & (kept[1] > CENTRES)
        for curve in (FREQUENCIES, 2 - FREQUENCIES, np.ones(101)):
            assert describe_shape(curve, Density(CENTRES, there.astype(float), exact=True))
