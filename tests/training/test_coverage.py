"""Observed coverage, and what chance allows it to be, against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter.training.scores import Coverage, chance_of_coverage, coverage_by


def test_coverage_counts_each_group() -> None:
    held = np.array([True, False, True, True])
    found = coverage_by(held, np.array(["b", "b", "a", "a"]))
    assert {name: one.share for name, one in found.items()} == {"a": 1.0, "b": 0.5}
    assert Coverage.of(held).low < 0.75 < Coverage.of(held).high


@pytest.mark.parametrize("coverage", [0.8, 0.95])
def test_chance_of_coverage_equals_split_conformal_simulated(coverage: float) -> None:
    rng = np.random.default_rng(0)
    n_calibrated, n_vertices = 60, 80
    scores = np.sort(rng.random((20_000, n_calibrated)), axis=1)
    limit = scores[:, int(np.ceil(coverage * (n_calibrated + 1))) - 1]
    shares = (rng.random((20_000, n_vertices)) <= limit[:, None]).mean(axis=1)
    low, high = chance_of_coverage(coverage, n_calibrated, n_vertices)
    assert low == pytest.approx(np.quantile(shares, 0.025), abs=0.013)
    assert high == pytest.approx(np.quantile(shares, 0.975), abs=0.013)


def test_too_few_calibrated_vertices_hold_everything() -> None:
    assert chance_of_coverage(0.95, 10, 50) == (1.0, 1.0)
