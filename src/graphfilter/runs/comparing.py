"""Whether a difference of scores is more than chance, and how far a score can be trusted.

scipy.stats is slow to import, so each function imports what it uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphfilter.util.machine import blocks

Array = NDArray[np.float64]

# A difference counts where its p-value is at most this.
SIGNIFICANCE = 0.05
# With fewer runs nothing is tested: differences that happen to be equal would have no variance.
FEWEST_RUNS = 5
# Intervals hold the true value with this probability.
LEVEL = 0.95


def corrected_t_test(differences: ArrayLike, test_train_ratio: float) -> float:
    r"""Return the two-sided p of the corrected resampled t-test (Nadeau & Bengio 2003).

    .. math:: t = \bar d \Big/ \sqrt{\Bigl(\frac1J +
              \frac{n_\mathrm{test}}{n_\mathrm{train}}\Bigr) \hat\sigma^2}, \qquad J - 1
              \text{ degrees of freedom}

    for the differences :math:`d_j` of two systems on the same J splits. Random splits of one
    graph share training vertices, so their scores are not independent: the plain paired t-test
    and the Wilcoxon signed-rank test, which take them to be, call chance significant far too
    often, and the more so the more splits are drawn. The added ratio makes up for it.

    Parameters
    ----------
    differences : array (J,), J at least 2
    test_train_ratio : float
        Sizes of the test part by the training part; 0 for runs on one and the same split, where
        the answer holds for that split only and the test is the plain one.

    Examples
    --------
    >>> round(corrected_t_test([1.0, 2.0, 3.0], 0.0), 4)
    0.0742
    """
    from scipy.stats import t as student

    d = np.asarray(differences, dtype=float)
    variance = d.var(ddof=1) * (1 / len(d) + test_train_ratio)
    # The differences of equal scores, computed, may vary in the last digit.
    if variance <= (1e-12 * max(1.0, np.abs(d).max())) ** 2:
        return 1.0 if abs(d.mean()) < 1e-12 else 0.0
    return float(2 * student.sf(abs(d.mean()) / math.sqrt(variance), df=len(d) - 1))


def holm(p_values: Sequence[float]) -> NDArray[np.float64]:
    r"""Return p-values corrected for their number (Holm 1979).

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min\bigl(1, (m - j + 1)\, p_{(j)}\bigr)

    Rejecting where :math:`\tilde p \le a` makes one or more false rejections among the m with
    probability at most a, however the tests depend on each other.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = np.minimum(1.0, (len(p) - np.arange(len(p))) * p[order])
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(steps)
    return corrected


def welch_t_test(
    mean_a: float, deviation_a: float, n_a: int, mean_b: float, deviation_b: float, n_b: int
) -> float:
    r"""Return the two-sided p of Welch's t-test, from summary statistics.

    .. math:: t = \frac{\bar a - \bar b}{\sqrt{s_a^2 / (n_a - 1) + s_b^2 / (n_b - 1)}}

    with population deviations s (divided by n, like numpy's ``std``). A deviation of 0 makes its
    mean an exact value; where both are 0, the p-value is 1 for equal means and else 0.

    The formula is written out because ``scipy.stats.ttest_ind_from_stats`` takes sample
    deviations: converted to those, p-values would differ in their last digit from those on file.

    Examples
    --------
    >>> round(welch_t_test(1.0, 1.0, 10, 2.0, 1.0, 10), 4)
    0.048
    """
    from scipy.stats import t as student

    a, b = deviation_a**2 / (n_a - 1), deviation_b**2 / (n_b - 1)
    difference, error = mean_a - mean_b, a + b
    if error == 0:
        return 1.0 if difference == 0 else 0.0
    df = error**2 / (a**2 / (n_a - 1) + b**2 / (n_b - 1))
    return float(2 * student.sf(abs(difference) / math.sqrt(error), df))


def mcnemar_test(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
    """Return the two-sided p of McNemar's exact test for two models scored on the same vertices.

    Only vertices that one model has right and the other wrong tell them apart; were the models
    equally good, each of those would fall to either side like a coin.

    Parameters
    ----------
    a, b : bool arrays (m,)
        Whether each model is right on each vertex.

    Examples
    --------
    >>> mcnemar_test(np.array([True] * 6), np.array([False] * 6))
    0.03125
    """
    from scipy.stats import binomtest

    wins = int(np.count_nonzero(a & ~b))
    losses = int(np.count_nonzero(b & ~a))
    return 1.0 if wins + losses == 0 else float(binomtest(wins, wins + losses).pvalue)


def wilson_interval(n_right: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's interval for a share, which holds its level for few vertices too.

    >>> low, high = wilson_interval(10, 10)
    >>> round(low, 3), high
    (0.722, 1.0)
    """
    from scipy.stats import binomtest

    interval = binomtest(n_right, n).proportion_ci(level, method="wilson")
    return float(interval.low), float(interval.high)


def mean_interval(
    mean: float, deviation: float, n: int, test_train_ratio: float = 0.0
) -> tuple[float, float]:
    r"""Return the 95 % interval of a mean over J runs.

    .. math:: \bar x \pm t_{J-1} \sqrt{(1/J + n_\mathrm{test}/n_\mathrm{train})\, s^2}

    The ratio is that of :func:`corrected_t_test`: 0 for independent runs. NaN where runs do not
    differ, which tells nothing of their spread.

    Parameters
    ----------
    deviation : float
        Of the population (divided by n, like numpy's ``std``).

    Examples
    --------
    >>> import graphfilter as gf
    >>> low, high = gf.metrics.mean_interval(0.8, 0.02, n=10)
    >>> round(low, 3), round(high, 3)
    (0.785, 0.815)
    """
    from scipy.stats import t as student

    if n < 2 or not deviation:
        return math.nan, math.nan
    variance = deviation**2 * n / (n - 1)
    error = math.sqrt((1 / n + test_train_ratio) * variance)
    reach = float(student.ppf((1 + LEVEL) / 2, n - 1)) * error
    return mean - reach, mean + reach


# From how often each vertex is drawn (b, n) to a score of each drawing (b,).
Measure = Callable[[Array], Array]

N_DRAWN = 2000
# Numbers in the table of a block of drawings.
_BLOCK = 2_000_000


def draw_scores(
    measures: Sequence[Measure],
    n: int,
    *,
    strata: NDArray[np.int64] | None = None,
    n_drawn: int = N_DRAWN,
    seed: int = 0,
) -> Array:
    """Return scores (K, B) of B drawings of n vertices with replacement, the same for all measures.

    Parameters
    ----------
    measures : K callables
    strata : int array (n,), optional
        Of each, as many vertices are drawn as there are: no drawing is without a class.

    Examples
    --------
    >>> right = np.array([1.0, 1.0, 0.0, 1.0])
    >>> found = draw_scores([lambda drawn: drawn @ right / 4], 4, n_drawn=1000)
    >>> found.shape, bool(abs(found.mean() - 0.75) < 0.03)
    ((1, 1000), True)
    """
    rng = np.random.default_rng(seed)
    groups = [np.arange(n)]
    if strata is not None:
        groups = [np.flatnonzero(strata == name) for name in np.unique(strata)]
    found = []
    for drawn_here in blocks(n_drawn, _BLOCK // max(n, 1)):
        b = drawn_here.stop - drawn_here.start
        drawn = np.zeros((b, n))
        for group in groups:
            drawn[:, group] = rng.multinomial(len(group), np.full(len(group), 1 / len(group)), b)
        found.append(np.array([measure(drawn) for measure in measures]))
    return np.concatenate(found, axis=1)


def drawn_interval(scores: Array, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval that holds this share of drawn scores, from quantile to quantile."""
    low, high = np.quantile(scores, ((1 - level) / 2, (1 + level) / 2))
    return float(low), float(high)


def drawn_p_value(a: Array, b: Array) -> float:
    """Return the two-sided p of two scores being equal, from scores of the same drawings.

    Twice the share of drawings in which the difference has the rarer sign, or none.

    >>> drawn_p_value(np.ones(99), np.zeros(99)), drawn_p_value(np.ones(99), np.ones(99))
    (0.02, 1.0)
    """
    difference = a - b
    rarer = min(np.count_nonzero(difference <= 0), np.count_nonzero(difference >= 0))
    return float(min(1.0, 2 * (1 + rarer) / (1 + len(difference))))


def average_precision_of(scores: Array, truth: NDArray[np.bool_]) -> Measure:
    """Return what measures the average precision of a ranking in drawings of its vertices.

    >>> measure = average_precision_of(np.array([0.9, 0.8, 0.1]), np.array([True, False, True]))
    >>> measure(np.ones((1, 3))).tolist() == [(1 + 2 / 3) / 2]
    True
    """
    order = np.argsort(-scores, kind="stable")
    hits = truth[order].astype(float)
    # Equal scores are found together: precision is that at the last of them.
    falling = scores[order]
    last = np.append(np.flatnonzero(np.diff(falling)), len(falling) - 1)

    def measure(drawn: Array) -> Array:
        ranked = drawn[:, order]
        found = np.cumsum(ranked * hits, axis=1)[:, last]
        among = np.cumsum(ranked, axis=1)[:, last]
        precision = np.divide(found, among, out=np.zeros_like(found), where=among > 0)
        gained = np.diff(found, axis=1, prepend=0.0)
        return (gained * precision).sum(axis=1) / found[:, -1]

    return measure
