"""Intervals of numbers: conformalised errors, wider where answers are less sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphfilter.conformal.coverages import check_coverage
from graphfilter.conformal.sets import COMPARED, SMALLER, rest_of

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# How strongly the slopes of the log width are drawn to 0, in vertices.
RIDGE = 5.0
# Halvings of the range in which a bound lies: beyond the digits of a float64.
HALVINGS = 70


@dataclass(frozen=True, eq=False)
class IntervalFold:
    r"""What one fold says: how wide the others' errors are, and the sorted scores of its vertices.

    Attributes
    ----------
    centre, scale, slope : arrays (k,)
        The width is :math:`\exp(\text{slope} \cdot (d - \text{centre}) / \text{scale})` of columns
        d that say how hard a vertex is, none further out than two scales.
    scores : array (m,)
        :math:`|y - \hat y|` over the width.
    """

    centre: Array
    scale: Array
    slope: Array
    scores: Array

    def widths(self, hardness: Array) -> Array:
        """Return the relative width of the interval of every vertex (n,)."""
        steps = np.clip((hardness - self.centre) / self.scale, -2, 2)
        return np.exp(steps @ self.slope)


@dataclass(frozen=True, eq=False)
class IntervalCalibration:
    r"""How far a number may be from its answer, learned from vertices whose number is known.

    Errors are divided by a width that depends on what is known of a vertex (how far members
    disagree, its answer, its degree; by least squares of the log errors), where that makes
    intervals shorter. The bounds are those of CV+ (Barber, Candès, Ramdas & Tibshirani 2021):

    .. math:: [\,q^-_\alpha\{\hat y_k(v) - r_i w_k(v)\},\; q^+_\alpha\{\hat y_k(v) + r_i w_k(v)\}\,]

    over the vertices i of all folds k, with quantiles that count one vertex more. With one fold
    this is split conformal prediction. Where too few vertices calibrate for a coverage, bounds are
    infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from graphfilter.conformal import IntervalCalibration
    >>> answers, numbers = np.zeros(20), np.linspace(-1, 1, 20)
    >>> calibration = IntervalCalibration.fit([answers], [np.arange(19)], numbers)
    >>> calibration.bounds([answers], coverage=0.9)[0].round(2).tolist()
    [-0.89, 0.89]
    """

    folds: tuple[IntervalFold, ...]

    @classmethod
    def fit(
        cls,
        answers: Sequence[Array],
        held: Sequence[Index],
        truth: Array,
        hardness: Sequence[Array] | None = None,
        others: Index | None = None,
    ) -> IntervalCalibration:
        """Calibrate.

        Parameters
        ----------
        answers : sequence of arrays (n,)
            Of all vertices, those of each fold made without its vertices.
        held : sequence of int arrays
            The vertices of each fold.
        truth : array (n,)
            Only read for the vertices that are held.
        hardness : sequence of arrays (n, k), optional
            What may say how hard a vertex is, for each fold.
        others : int array, optional
            Further vertices whose number is known. They choose the widths where there is one fold.
        """
        columns = hardness or [np.zeros((len(truth), 0))] * len(answers)
        folds = []
        for k, (answer, own) in enumerate(zip(answers, held, strict=True)):
            apart = rest_of(held, k, others)
            width = _fit_width(np.abs(truth - answer)[apart], columns[k][apart])
            scores = np.abs(truth - answer)[own] / width.widths(columns[k])[own]
            folds.append(IntervalFold(width.centre, width.scale, width.slope, np.sort(scores)))
        return cls(tuple(folds))

    @property
    def n_vertices(self) -> int:
        """How many vertices calibrate."""
        return sum(len(fold.scores) for fold in self.folds)

    def bounds(
        self, answers: Sequence[Array], coverage: float, hardness: Sequence[Array] | None = None
    ) -> Array:
        """Return the low and the high end of every vertex (n, 2), from the answers of each fold."""
        columns = hardness or [np.zeros((len(answers[0]), 0))] * len(answers)
        widths = [fold.widths(d) for fold, d in zip(self.folds, columns, strict=True)]
        low = self._lower(answers, widths, check_coverage(coverage))
        high = -self._lower([-answer for answer in answers], widths, coverage)
        return np.column_stack([low, high])

    def _lower(self, answers: Sequence[Array], widths: Sequence[Array], coverage: float) -> Array:
        """Return the value that ⌊α (n + 1)⌋ of answer − score · width are not above."""
        n_below = int(np.floor((1 - coverage) * (self.n_vertices + 1) + 1e-9))
        if n_below < 1:
            return np.full(len(answers[0]), -np.inf)
        parts = list(zip(answers, widths, self.folds, strict=True))
        low = np.min([a - fold.scores[-1] * w for a, w, fold in parts], axis=0)
        high = np.max([a - fold.scores[0] * w for a, w, fold in parts], axis=0)
        for _ in range(HALVINGS):
            middle = low + (high - low) / 2
            below = np.zeros(len(low), dtype=np.int64)
            for a, w, fold in parts:
                below += len(fold.scores) - np.searchsorted(fold.scores, (a - middle) / w)
            enough = below >= n_below
            high, low = np.where(enough, middle, high), np.where(enough, low, middle)
        return high


def _fit_width(errors: Array, columns: Array) -> IntervalFold:
    """Return how errors grow with columns, where that makes intervals shorter; else not at all."""
    k = columns.shape[1]
    flat = IntervalFold(np.zeros(k), np.ones(k), np.zeros(k), errors)
    # An error of 0 says little more than a small one.
    positive = errors[errors > 0]
    if not k or len(positive) < 10:
        return flat
    centre, spread = columns.mean(axis=0), columns.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    steps = np.clip((columns - centre) / scale, -2, 2)
    logs = np.log(np.maximum(errors, 0.05 * float(np.median(positive))))
    gram = steps.T @ steps + RIDGE * np.eye(k)
    slope = np.linalg.solve(gram, steps.T @ (logs - logs.mean()))
    fitted = IntervalFold(centre, scale, slope, errors)
    shorter = _mean_width(fitted, columns) < SMALLER * _mean_width(flat, columns)
    return fitted if shorter else flat


def _mean_width(fold: IntervalFold, columns: Array) -> float:
    widths = fold.widths(columns)
    limits = [np.quantile(fold.scores / widths, c, method="higher") for c in COMPARED]
    return float(np.mean(limits) * widths.mean())
