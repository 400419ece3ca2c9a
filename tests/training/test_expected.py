"""Losses that are expected: those of the same vertices, and of others with the same signals."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter.training.scores import LossBins


def losses_of(rng: np.random.Generator, signal: np.ndarray, *, is_share: bool) -> np.ndarray:
    if is_share:
        return (rng.random(len(signal)) > signal).astype(float)
    return np.abs(rng.normal(0, 1 + signal))


@pytest.mark.parametrize("is_share", [True, False])
def test_loss_of_the_same_vertices_is_expected(is_share: bool) -> None:
    rng = np.random.default_rng(0)
    signal = rng.uniform(0.5, 1, 3000)
    losses = losses_of(rng, signal, is_share=is_share)
    expected = LossBins.of(signal, losses).expect(signal, is_share=is_share)
    assert expected.value == pytest.approx(losses.mean(), rel=2e-3)
    assert expected.low < losses.mean() < expected.high


@pytest.mark.parametrize("is_share", [True, False])
def test_interval_holds_the_loss_of_vertices_that_are_less_sure(is_share: bool) -> None:
    held = []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        signal, later = rng.uniform(0.5, 1, 400), rng.beta(2, 4, 200) / 2 + 0.5
        bins = LossBins.of(signal, losses_of(rng, signal, is_share=is_share))
        expected = bins.expect(later, is_share=is_share)
        truth = losses_of(rng, later, is_share=is_share).mean()
        held.append(expected.low <= truth <= expected.high)
    assert np.mean(held) >= 0.9


def test_no_error_among_few_vertices_is_no_promise_of_none() -> None:
    bins = LossBins.of(np.linspace(0.5, 1, 60), np.zeros(60))
    expected = bins.expect(np.full(1000, 0.9), is_share=True)
    assert expected.value == expected.low == 0
    assert 0.02 < expected.high < 0.2


def test_bins_survive_being_saved() -> None:
    rng = np.random.default_rng(0)
    bins = LossBins.of(rng.random(200), rng.random(200))
    again = LossBins.from_arrays(**bins.to_arrays())
    signal = rng.random(50)
    assert again.expect(signal, is_share=False) == bins.expect(signal, is_share=False)
    for name, wrong in (("means", [0.5]), ("variances", -bins.variances), ("edges", bins.means)):
        with pytest.raises(ValueError, match="bins of losses"):
            LossBins.from_arrays(**{**bins.to_arrays(), name: np.array(wrong)})
