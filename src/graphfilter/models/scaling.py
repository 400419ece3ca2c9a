"""Features on a common scale: fitted once, applied unchanged to new graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.tables.columns import Features
from graphfilter.util.errors import GraphError, check_name
from graphfilter.util.machine import blocks

ScalingName = Literal["auto", "none", "row", "standardise"]
SCALINGS: tuple[str, ...] = get_args(ScalingName)
_NUMBERS_AT_ONCE = 1 << 20
# A table rather than a bag of words: this many columns, and this share of entries.
FEW_COLUMNS = 64
HARDLY_SPARSE = 0.1
# So many ranges of all other rows away is a value no part of its column's range.
FAR = 10


@dataclass(frozen=True, eq=False)
class FeatureScaler:
    """Puts features on a common scale; fitted once, applied unchanged to new graphs.

    ``scaling`` is one of

    - ``'none'``: as given.
    - ``'row'``: every row divided by the sum of its absolute values (the usual treatment of bags
      of words).
    - ``'standardise'``: every column to mean 0 and deviation 1; makes sparse features dense.
    - ``'auto'``: dense features are standardised, and so are few columns that are stored as sparse
      but hardly are; of other sparse ones, the columns that reach beyond [-1, 1] are divided by
      their largest absolute value and the others stay as they are, so binary and tf-idf bags of
      words are not touched.

    Values far beyond those of labelled rows are clipped to ``bounds`` (2, d), in the fit and later:
    one row, labelled or not, does not decide the scale of others. ``loop`` is what a self loop
    weighs beside the edges. Scalers of 0.2 clip nothing, and their loops weigh 1.
    """

    scaling: str
    shift: NDArray[np.float32] | None = None
    scale: NDArray[np.float32] | None = None
    bounds: NDArray[np.float32] | None = None
    loop: float = 1.0

    @classmethod
    def fit(
        cls,
        features: Features,
        scaling: str = "auto",
        *,
        labelled: NDArray[np.bool_] | None = None,
        loop: float = 1.0,
    ) -> Self:
        """Choose shifts and scales from these features, of rows of which some are labelled."""
        check_name("feature scaling", scaling, SCALINGS)
        if scaling in ("none", "row"):
            return cls(scaling, loop=loop)
        n = features.shape[0]
        known = np.ones(n, dtype=bool) if labelled is None or not labelled.any() else labelled
        if scaling == "auto" and sp.issparse(features) and not _few_and_filled(features):
            most, more = _two_largest(abs(features[np.flatnonzero(known)]))
            most = np.where((more > 0) & (most > FAR * more), more, most)
            scale = np.maximum(most, 1).astype(np.float32)
            return cls(scaling, scale=scale, bounds=_bounds(-scale, scale), loop=loop)
        dense = _dense(features)
        low, high = _range(dense, known)
        # A column that is the same in all of them says nothing of others.
        low, high = np.where(low == high, -np.inf, low), np.where(low == high, np.inf, high)
        shift, deviation = _clipped_moments(dense, low, high)
        # A column that varies by no more than rounding is constant: leave its scale alone.
        smallest = np.finfo(np.float32).tiny
        rounding = 1e-6 if dense.dtype == np.float32 else 1e-14
        constant = deviation <= np.maximum(rounding * np.abs(shift), smallest)
        scale = np.where(constant, 1.0, deviation).astype(np.float32)
        return cls(scaling, shift.astype(dense.dtype), scale, _bounds(low, high), loop)

    def transform(self, features: Features) -> Features:
        """Return scaled features; the input is left as it is."""
        expected = self.scale if self.scale is not None else self.shift
        if expected is not None and features.shape[1] != len(expected):
            raise GraphError(
                f"features must have {len(expected)} columns, as when fitted; "
                f"got {features.shape[1]}."
            )
        if self.scaling == "row":
            # In float64, where neither a sum nor one over it leaves the range.
            if sp.issparse(features):
                scaled = features.copy()
                sums = or_one(abs(features.astype(np.float64)).sum(axis=1))
                scaled.data /= np.repeat(sums, np.diff(scaled.indptr))
                return scaled
            sums = or_one(np.abs(features).sum(axis=1, dtype=np.float64))
            out = np.empty_like(features, dtype=np.float32)
            return np.divide(features, sums[:, None], out=out, casting="same_kind")
        if self.shift is not None and self.scale is not None:
            scaled = self._clipped(_dense(features)) - self.shift
            scaled /= self.scale
            return scaled.astype(np.float32, copy=False)
        if self.scale is not None:
            features = self._clipped(features)
            if sp.issparse(features):
                return sp.csr_array(features @ sp.diags_array(1 / self.scale))
            features = features / self.scale
        return features if sp.issparse(features) else features.astype(np.float32, copy=False)

    def _clipped(self, features: Features) -> Features:
        """Return features between the bounds of their columns; themselves where all are."""
        if self.bounds is None or not sp.issparse(features):
            return features if self.bounds is None else np.clip(features, *self.bounds)
        data = features.data.clip(*self.bounds[:, features.indices])
        return sp.csr_array((data, features.indices, features.indptr), shape=features.shape)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fitted numbers, to be saved with the model's."""
        loop = None if self.loop == 1 else np.array([self.loop])
        parts = {"shift": self.shift, "scale": self.scale, "bounds": self.bounds, "loop": loop}
        return {name: value for name, value in parts.items() if value is not None}


def _two_largest(rows: sp.csr_array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest value of every column, and the largest of its other rows."""
    largest = rows.max(axis=0).toarray().ravel().astype(np.float64)
    at = np.flatnonzero(rows.data == largest[rows.indices])
    one = np.full(rows.shape[1], -1)
    one[rows.indices[at]] = at
    rows.data[one[one >= 0]] = 0
    return largest, rows.max(axis=0).toarray().ravel().astype(np.float64)


def _range(
    dense: NDArray[np.float32], known: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the range of each column in known rows, without one that is far from all others."""
    ends = dense[:0]
    for rows in blocks(len(dense), max(1, _NUMBERS_AT_ONCE // max(1, dense.shape[1]))):
        both = np.concatenate([ends, dense[rows][known[rows]]])
        outermost = [0, 1, -2, -1]
        ends = np.partition(both, outermost, axis=0)[outermost] if len(both) > 4 else both
    if len(ends) < 4:
        return ends.min(axis=0), ends.max(axis=0)
    least, less, more, most = np.sort(ends, axis=0).astype(np.float64)
    width = np.where(more > less, more - less, np.inf)
    low, high = np.maximum(least, less - FAR * width), np.minimum(most, more + FAR * width)
    ends = np.where([low > least, high < most], [less, more], [least, most]).astype(dense.dtype)
    return ends[0], ends[1]


def _clipped_moments(
    dense: NDArray[np.float32], low: NDArray[np.float32], high: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and deviation of columns whose values are clipped, in little memory."""
    mean = square = np.zeros(dense.shape[1])
    parts = list(blocks(len(dense), max(1, _NUMBERS_AT_ONCE // max(1, dense.shape[1]))))
    for rows in parts:
        mean = mean + np.clip(dense[rows], low, high).sum(axis=0, dtype=np.float64) / len(dense)
    for rows in parts:
        square = square + np.square(np.clip(dense[rows], low, high) - mean).sum(axis=0)
    return mean, np.sqrt(square / len(dense))


def _bounds(low: NDArray[np.float32], high: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a range with as much again on each side."""
    width, most = high.astype(np.float64) - low, np.finfo(np.float32).max
    return np.stack([low - width, high + width]).clip(-most, most).astype(low.dtype)


def _few_and_filled(features: sp.csr_array) -> bool:
    cells = features.shape[0] * features.shape[1]
    return features.shape[1] <= FEW_COLUMNS and features.nnz >= HARDLY_SPARSE * cells


def or_one(sums: NDArray[Any]) -> NDArray[np.float64]:
    """Return what can be divided by: 1 in the place of 0."""
    return np.where(sums == 0, 1.0, sums)


def unit_rows(matrix: Features) -> Features:
    """Divide each row by its Euclidean length; rows of zeros stay."""
    if sp.issparse(matrix):
        rows = sp.csr_array(matrix)
        lengths = or_one(np.sqrt(rows.astype(np.float64).power(2).sum(axis=1)))
        data = rows.data / np.repeat(lengths, np.diff(rows.indptr))
        return sp.csr_array((data.astype(np.float32), rows.indices, rows.indptr), rows.shape)
    lengths = or_one(np.sqrt(np.square(matrix, dtype=np.float64).sum(axis=1)))
    return (matrix / lengths[:, None]).astype(np.float32)


def _dense(features: Features) -> NDArray[np.float32]:
    return features.toarray() if sp.issparse(features) else features
