"""Intervals and tests of scores that no formula covers, by drawing the vertices again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from graphfilter.metrics.significance import LEVEL
from graphfilter.runtime import blocks

Array = NDArray[np.float64]
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
