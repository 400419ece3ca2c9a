"""Whether columns of numbers have moved: a small summary of each, and exact tests against it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.runtime import blocks

Array = NDArray[np.float64]

# Thresholds of a column: tenths of its values, its largest, and just below its smallest.
N_THRESHOLDS = 11
# Numbers of a matrix that are looked at together.
_AT_ONCE = 1 << 22
# Below this many deviations no test can matter among several: it is not computed.
_WORTH_A_TEST = 2.0


@dataclass(frozen=True, eq=False)
class Moved:
    """How columns differ from their summary, each at the threshold where it differs most.

    Attributes
    ----------
    n : int
        Rows that were compared.
    p_values : array (d,)
        Of the largest difference of a column, corrected for its thresholds; 1 where it is too
        small for a test to matter.
    threshold, before, now : arrays (d,)
        Where a column differs most, and the shares of its values above that.
    """

    n: int
    p_values: Array
    threshold: Array
    before: Array
    now: Array


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    r"""How the values of columns are distributed: how many do not exceed some thresholds.

    New rows are compared with it by the exact test of Fisher at every threshold t: where both are
    drawn alike, the number :math:`\#\{x_{new} \le t\}` is hypergeometric given all that are.
    Thresholds are values of the column, at which the test is valid though the same rows chose
    them. The smallest of the p-values, times their number, is that of the column.

    Attributes
    ----------
    n : int
        Rows that were summarised.
    thresholds : array (d, 11)
        Sorted; NaN where a column has fewer.
    counts : int array (d, 11)
        Of rows that do not exceed them.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> summary = ColumnSummary.of(rng.normal(size=(500, 2)))
    >>> moved = summary.compare(rng.normal(size=(300, 2)) + [0.0, 1.0])
    >>> (moved.p_values < 1e-6).tolist()
    [False, True]
    """

    n: int
    thresholds: Array
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, values: Any) -> ColumnSummary:
        """Summarise the columns of a matrix (n, d), dense or sparse."""
        thresholds = np.full((values.shape[1], N_THRESHOLDS), np.nan)
        counts = np.zeros(thresholds.shape, dtype=np.int64)
        for at, block in _blocks(values):
            found = np.quantile(
                block, np.linspace(0, 1, N_THRESHOLDS), axis=0, method="inverted_cdf"
            ).T
            # Nothing was below the smallest: what comes below it is new.
            found[:, 0] = np.nextafter(found[:, 0], -np.inf)
            found[:, 1:][np.diff(found, axis=1) <= 0] = np.nan
            thresholds[at] = found
            counts[at] = _count(block, found)
        return cls(int(values.shape[0]), thresholds, counts)

    def compare(self, values: Any, *, shared: int = 1) -> Moved:
        """Compare new rows (m, d) of the same columns, dense or sparse.

        ``shared`` rows count as one where they depend on each other.
        """
        m, there = values.shape[0], np.isfinite(self.thresholds)
        if not m or not self.n:
            nothing = np.full(len(self.counts), np.nan)
            return Moved(m, np.ones(len(nothing)), nothing, nothing, nothing)
        counts = np.zeros(self.counts.shape, dtype=np.int64)
        for at, block in _blocks(values):
            counts[at] = _count(block, self.thresholds[at])
        independent = _fisher(
            counts // shared, self.counts // shared, m // shared, self.n // shared
        )
        p_values = np.where(there, independent, 1.0)
        corrected = np.minimum(1.0, p_values.min(axis=1) * there.sum(axis=1))
        before, now = 1 - self.counts / self.n, 1 - counts / m
        most = np.where(there, abs(now - before), -1.0).argmax(axis=1)
        row = np.arange(len(most))
        return Moved(m, corrected, *(a[row, most] for a in (self.thresholds, before, now)))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, to be saved."""
        return {"n": np.array([self.n]), "thresholds": self.thresholds, "counts": self.counts}

    @classmethod
    def from_arrays(cls, n: Any, thresholds: Any, counts: Any) -> ColumnSummary:
        """Return what :meth:`to_arrays` returned; ValueError where it could not have."""
        size, sizes = int(np.asarray(n).item()), np.asarray(counts)
        limits = np.asarray(thresholds, dtype=np.float64)
        if limits.ndim != 2 or limits.shape[1:] != (N_THRESHOLDS,) or limits.shape != sizes.shape:
            raise ValueError(f"a summary of columns of the shapes {limits.shape}, {sizes.shape}")
        if sizes.dtype.kind not in "iu" or not ((sizes >= 0) & (sizes <= size)).all():
            raise ValueError(f"a summary of {size} rows that counts others")
        if np.isinf(limits).any() or not np.isfinite(limits[:, :1]).all():
            raise ValueError("the thresholds of a summary must be finite")
        return cls(size, limits, sizes.astype(np.int64))


def _fisher(
    new: NDArray[np.int64], old: NDArray[np.int64], n_new: int, n_old: int
) -> NDArray[np.float64]:
    """Return two-sided p-values of counts among new rows, given those among old ones."""
    from scipy.stats import hypergeom

    total, n = new + old, n_new + n_old
    mean = total * (n_new / n)
    spread = np.sqrt(np.maximum(mean * (1 - total / n) * n_old / max(n - 1, 1), 1e-12))
    p_values = np.ones(new.shape)
    worth = np.nonzero(abs(new - mean) > _WORTH_A_TEST * spread)
    k, totals = new[worth], total[worth]
    low = hypergeom.cdf(k, n, totals, n_new)
    high = hypergeom.sf(k - 1, n, totals, n_new)
    p_values[worth] = np.minimum(1.0, 2 * np.minimum(low, high))
    return p_values


def _count(block: Array, thresholds: Array) -> NDArray[np.int64]:
    """Return how many values of each column do not exceed its thresholds (d, 11)."""
    found = [(block <= t).sum(axis=0) for t in np.nan_to_num(thresholds.T, nan=np.inf)]
    return np.stack(found, axis=1)


def _blocks(values: Any) -> Iterator[tuple[slice, Array]]:
    """Yield columns and what they hold, some at a time."""
    n, d = values.shape
    by_column = values.tocsc() if hasattr(values, "tocsc") else values
    for at in blocks(d, _AT_ONCE // max(n, 1)):
        block = by_column[:, at]
        dense = block.toarray() if hasattr(block, "toarray") else block
        yield at, np.asarray(dense, dtype=np.float64)
