"""Tests and intervals, against closed forms, scipy and simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from graphfilter.metrics import (
    corrected_t_test,
    holm,
    mcnemar_test,
    mean_interval,
    welch_t_test,
    wilson_interval,
)

Z = float(stats.norm.ppf(0.975))
GOOD = [0.80, 0.84, 0.79, 0.86, 0.81]
CLOSE = [0.79, 0.85, 0.78, 0.84, 0.82]


def test_corrected_t_test_is_the_paired_one_on_a_single_split() -> None:
    expected = stats.ttest_rel(GOOD, CLOSE).pvalue
    assert corrected_t_test(np.subtract(GOOD, CLOSE), 0.0) == pytest.approx(expected, rel=1e-12)


def test_corrected_t_test_equals_its_formula() -> None:
    """Differences 1, 2, 3: mean 2, variance 1, so t = 2 / sqrt(1/3 + 1/3) = sqrt(6)."""
    t = np.sqrt(6)
    # Student's distribution with two degrees of freedom has a closed form.
    expected = 1 - t / np.sqrt(2 + t**2)
    assert corrected_t_test([1.0, 2.0, 3.0], 1 / 3) == pytest.approx(expected, rel=1e-12)


def test_corrected_t_test_keeps_its_level_where_the_plain_one_does_not() -> None:
    """Differences that share a part, as overlapping splits make them: no true difference."""
    rng = np.random.default_rng(0)
    n_runs, ratio, n_tries = 10, 1 / 3, 2000
    # Nadeau & Bengio's model: runs correlate by n_test / (n_test + n_train).
    rho = ratio / (1 + ratio)
    shared = np.sqrt(rho) * rng.standard_normal((n_tries, 1))
    own = np.sqrt(1 - rho) * rng.standard_normal((n_tries, n_runs))
    differences = shared + own
    plain = np.mean([corrected_t_test(d, 0.0) < 0.05 for d in differences])
    corrected = np.mean([corrected_t_test(d, ratio) < 0.05 for d in differences])
    assert plain > 0.25
    assert 0.03 < corrected < 0.07


@pytest.mark.parametrize(("difference", "p"), [(0.0, 1.0), (0.1, 0.0)])
def test_corrected_t_test_of_constant_differences(difference: float, p: float) -> None:
    assert corrected_t_test([difference] * 5, 0.3) == p


def test_holm_equals_a_worked_example() -> None:
    """Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1; the last is raised to the third."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_is_at_most_one_and_leaves_a_single_test_alone() -> None:
    assert holm([0.9, 0.8, 0.7]).tolist() == [1.0, 1.0, 1.0]
    assert holm([0.2]).tolist() == [0.2]
    assert holm([]).tolist() == []


@pytest.mark.parametrize(("right", "n"), [(0, 7), (3, 10), (35, 35), (480, 539)])
def test_wilson_interval_inverts_the_score_test(right: int, n: int) -> None:
    """Its ends are the shares p with |share - p| = z sqrt(p (1 - p) / n), where inside (0, 1)."""
    share = right / n
    for end in wilson_interval(right, n):
        if 0 < end < 1:
            assert abs(share - end) == pytest.approx(Z * math.sqrt(end * (1 - end) / n))


def test_wilson_interval_of_all_right_has_its_closed_form() -> None:
    low, high = wilson_interval(20, 20)
    assert low == pytest.approx(20 / (20 + Z**2))
    assert high == 1.0


def test_mcnemar_test_is_that_of_a_coin() -> None:
    ours = np.array([True] * 5 + [False] + [True] * 50)
    theirs = np.array([False] * 5 + [True] + [True] * 50)
    tail = (math.comb(6, 5) + math.comb(6, 6)) / 2**6
    assert mcnemar_test(ours, theirs) == pytest.approx(2 * tail)
    assert mcnemar_test(theirs, ours) == pytest.approx(2 * tail)
    assert mcnemar_test(ours, ours) == 1.0


@pytest.mark.parametrize("n", [2, 7, 30])
def test_welch_t_test_is_that_of_the_values_themselves(n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.normal(87, 1.5, n), rng.normal(88, 0.5, 10)
    got = welch_t_test(a.mean(), a.std(), n, b.mean(), b.std(), 10)
    assert got == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue, rel=1e-9)
    ours = (a.mean(), a.std(ddof=1), n)
    theirs = (b.mean(), b.std(ddof=1), 10)
    from_stats = stats.ttest_ind_from_stats(*ours, *theirs, equal_var=False)
    assert got == pytest.approx(from_stats.pvalue, rel=1e-9)


def test_welch_t_test_takes_a_mean_without_deviation_as_exact() -> None:
    expected = stats.ttest_1samp(GOOD, 0.8).pvalue
    got = welch_t_test(float(np.mean(GOOD)), float(np.std(GOOD)), 5, 0.8, 0.0, 10)
    assert got == pytest.approx(expected, rel=1e-9)
    assert welch_t_test(1.0, 0.0, 5, 1.0, 0.0, 5) == 1.0
    assert welch_t_test(1.0, 0.0, 5, 1.1, 0.0, 5) == 0.0


def test_mean_interval_of_independent_runs_is_that_of_student() -> None:
    values = np.array([0.81, 0.84, 0.79, 0.86])
    plain = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert mean_interval(values.mean(), values.std(), 4) == pytest.approx(plain)


def test_mean_interval_widens_by_the_overlap_of_splits() -> None:
    narrow, wide = (mean_interval(0.5, 0.01, 10, ratio) for ratio in (0.0, 1 / 3))
    grown = (wide[1] - wide[0]) / (narrow[1] - narrow[0])
    assert grown == pytest.approx(math.sqrt((1 / 10 + 1 / 3) * 10))


def test_mean_interval_needs_runs_that_differ() -> None:
    assert all(math.isnan(end) for end in mean_interval(0.9, 0.0, 1, 0.3))
    assert all(math.isnan(end) for end in mean_interval(1.0, 0.0, 9, 0.3))
