"""What a fit keeps of its vertices and predictions, in small, to compare later graphs with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.runs.fit import PARTS, Fit
from graphfilter.spectral import rayleigh_quotient
from graphfilter.training import REGRESSION, Task
from graphfilter.training.scores import LossBins
from graphfilter.util.machine import blocks

Array = NDArray[np.float64]
Index = NDArray[np.int64]

FEATURES, DEGREE, VARIATION, ANSWERS = "features", "degree", "variation", "answers"
KINDS = (FEATURES, DEGREE, VARIATION, ANSWERS)
# Thresholds of a column: tenths of its values, its largest, and just below its smallest.
N_THRESHOLDS = 11
# Numbers of a matrix that are looked at together.
_AT_ONCE = 1 << 22
# Below this many deviations no test can matter among several: it is not computed.
_WORTH_A_TEST = 2.0
# Vertices that are looked at, and bytes of their features: enough for shares to a percent.
MOST_VERTICES, MOST_BYTES = 50_000, 1 << 26
# Above this many stored entries times answers, their frequency is not computed.
MOST_FREQUENCY = 10**8


@dataclass(frozen=True, eq=False)
class Moved:
    """How columns differ from their summary, each at the threshold where it differs most.

    Attributes
    ----------
    p_values : array (d,)
        Of the largest difference of a column, corrected for its thresholds; 1 where it is too
        small for a test to matter.
    threshold, before, now : arrays (d,)
        Where a column differs most, and the shares of its values above that.
    """

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
        shares = np.linspace(0, 1, N_THRESHOLDS)
        for at, block in _column_blocks(values):
            limits = np.quantile(block, shares, axis=0, method="inverted_cdf").T
            # Nothing was below the smallest: what comes below it is new.
            limits[:, 0] = np.nextafter(limits[:, 0], -np.inf)
            limits[:, 1:][np.diff(limits, axis=1) <= 0] = np.nan
            thresholds[at], counts[at] = limits, _count(block, limits)
        return cls(int(values.shape[0]), thresholds, counts)

    def compare(self, values: Any, *, shared: int = 1) -> Moved:
        """Compare new rows (m, d) of the same columns, dense or sparse.

        ``shared`` rows count as one where they depend on each other.
        """
        from scipy.stats import hypergeom

        m, there = values.shape[0], np.isfinite(self.thresholds)
        if not m or not self.n:
            nothing = np.full(len(self.counts), np.nan)
            return Moved(np.ones(len(nothing)), nothing, nothing, nothing)
        counts = np.zeros(self.counts.shape, dtype=np.int64)
        for at, block in _column_blocks(values):
            counts[at] = _count(block, self.thresholds[at])
        new, n_new, n_old = counts // shared, m // shared, self.n // shared
        total, n = new + self.counts // shared, n_new + n_old
        mean = total * (n_new / n)
        spread = np.sqrt(np.maximum(mean * (1 - total / n) * n_old / max(n - 1, 1), 1e-12))
        p_values = np.ones(new.shape)
        worth = np.nonzero((abs(new - mean) > _WORTH_A_TEST * spread) & there)
        k, totals = new[worth], total[worth]
        low = hypergeom.cdf(k, n, totals, n_new)
        high = hypergeom.sf(k - 1, n, totals, n_new)
        p_values[worth] = np.minimum(1.0, 2 * np.minimum(low, high))
        corrected = np.minimum(1.0, p_values.min(axis=1) * there.sum(axis=1))
        before, now = 1 - self.counts / self.n, 1 - counts / m
        most = np.where(there, abs(now - before), -1.0).argmax(axis=1)
        row = np.arange(len(most))
        return Moved(corrected, *(a[row, most] for a in (self.thresholds, before, now)))

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


def _count(block: Array, thresholds: Array) -> NDArray[np.int64]:
    """Return how many values of each column do not exceed its thresholds (d, 11)."""
    limits = np.nan_to_num(thresholds.T, nan=np.inf)
    return np.stack([(block <= t).sum(axis=0) for t in limits], axis=1)


def _column_blocks(values: Any) -> Iterator[tuple[slice, Array]]:
    """Yield columns and what they hold, some at a time."""
    n, d = values.shape
    by_column = values.tocsc() if hasattr(values, "tocsc") else values
    for at in blocks(d, _AT_ONCE // max(n, 1)):
        block = by_column[:, at]
        dense = block.toarray() if hasattr(block, "toarray") else block
        yield at, np.asarray(dense, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Reference:
    """Summaries of a fit's vertices and predictions.

    Attributes
    ----------
    columns : dict of str to ColumnSummary
        Features, degrees, how far neighbours' predictions differ, and predictions. The last two of
        vertices that were not trained on, where there are some.
    losses : tuple of LossBins
        Of the judged vertices: what predictions lose by how sure they are; of numbers one each.
    measured : array (k,)
        The mean of each of those losses.
    part : str
        Which vertices are judged: test, or val or train where there are no others.
    deviation : array (T,)
        Of the predictions, where they are numbers.
    frequency : float or None
        The mean graph frequency of the predictions.
    """

    columns: dict[str, ColumnSummary]
    losses: tuple[LossBins, ...]
    measured: Array
    part: str
    deviation: Array
    frequency: float | None

    @classmethod
    def of(cls, fit: Fit) -> Reference:
        """Summarise a fit."""
        graph, task, outputs, answers = fit.plan.graph, fit.task, fit.outputs, fit.answers
        every, n = np.arange(graph.n_vertices), len(fit.names)
        unseen = np.setdiff1d(every, fit.plan.split.train)
        seen = sample(every, graph.n_features, fit.plan.seed)
        sampled = sample(unseen if len(unseen) else every, n, fit.plan.seed)
        deviation = np.ones(1)
        if task is REGRESSION:
            deviation = np.maximum(outputs.std(axis=0), 1e-12)
        columns = make_columns(graph, task, outputs[sampled], answers, seen, sampled, n, deviation)
        if not fit.plan.has_features:
            columns.pop(FEATURES, None)
        judged, truth = fit.judged, fit.plan.truth[fit.judged]
        pairs = signals_and_losses(task, outputs[judged], answers[judged], truth)
        return cls(
            {kind: ColumnSummary.of(values) for kind, values in columns.items() if values.shape[0]},
            tuple(LossBins.of(*pair) for pair in pairs),
            np.array([losses.mean() for _, losses in pairs]),
            fit.part,
            deviation,
            answer_frequency(graph, task, answers, n),
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, to be saved, by the names of version 0.2."""
        arrays: dict[str, NDArray[Any]] = {
            "promised": self.measured,
            "part": np.array([PARTS.index(self.part)]),
            "deviation": self.deviation,
            "frequency": np.array([np.nan if self.frequency is None else self.frequency]),
        }
        nested = {f"columns.{kind}": summary for kind, summary in self.columns.items()}
        for name, one in {
            **nested,
            **{f"losses.{t}": b for t, b in enumerate(self.losses)},
        }.items():
            arrays |= {f"{name}.{key}": values for key, values in one.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Reference:
        """Return what :meth:`to_arrays` returned; ValueError or KeyError where it did not."""
        nested: dict[str, dict[str, dict[str, Any]]] = {"columns": {}, "losses": {}}
        for key, values in arrays.items():
            if values.dtype.kind not in "biuf":
                raise ValueError(f"a reference must hold numbers; {key} holds {values.dtype}")
            kind, _, rest = key.partition(".")
            name, _, part = rest.partition(".")
            if kind in nested and part:
                nested[kind].setdefault(name, {})[part] = values
        measured, deviation = (np.asarray(arrays[k], float) for k in ("promised", "deviation"))
        part, frequency = (float(np.asarray(arrays[k]).item()) for k in ("part", "frequency"))
        if not (np.isfinite(measured).all() and np.isfinite(deviation).all()):
            raise ValueError("a reference must hold finite numbers")
        if measured.shape != (len(nested["losses"]),) or not (deviation > 0).all():
            raise ValueError("a reference whose losses do not fit together")
        if not set(nested["columns"]) <= set(KINDS):
            raise ValueError(f"a reference with other columns: {sorted(nested['columns'])}")
        losses = [nested["losses"][str(t)] for t in range(len(measured))]
        try:
            columns = {n: ColumnSummary.from_arrays(**v) for n, v in nested["columns"].items()}
            bins = tuple(LossBins.from_arrays(**each) for each in losses)
        except TypeError as error:
            raise ValueError(str(error)) from None
        known = frequency if np.isfinite(frequency) else None
        return cls(columns, bins, measured, PARTS[int(part)], deviation, known)


def sample(rows: Index, n_features: int, seed: int) -> Index:
    """Return at most so many of some vertices, in order."""
    most = int(np.clip(MOST_BYTES // (4 * max(n_features, 1)), 100, MOST_VERTICES))
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng((seed, 5)).choice(rows, most, replace=False))


def make_columns(
    graph: Graph,
    task: Task,
    outputs: NDArray[Any],
    answers: NDArray[Any],
    seen: Index,
    sampled: Index,
    n: int,
    deviation: Any,
) -> dict[str, Any]:
    """Return what is compared: of the vertices ``seen``, and predictions of those ``sampled``.

    ``outputs`` are of the sampled ones, ``answers`` of all vertices, of ``n`` names.
    """
    said = answers[sampled]
    if task.one_class:
        said = np.eye(n)[said]
    columns = {
        DEGREE: np.diff(graph.indptr)[seen, None],
        VARIATION: variation(graph, answers, sampled, deviation),
        ANSWERS: outputs if task is REGRESSION else said,
    }
    return columns if graph.features is None else {**columns, FEATURES: graph.features[seen]}


def variation(graph: Graph, answers: NDArray[Any], rows: Index, deviation: Any = 1.0) -> Any:
    """Return how far the predictions of neighbours differ from those of some vertices: (m, 1).

    Of classes and labels the share of neighbours with another one; of numbers the distance from
    their mean in deviations. Vertices without neighbours are left out.
    """
    degrees = np.diff(graph.indptr)[rows].astype(np.int64)
    rows, degrees = rows[degrees > 0], degrees[degrees > 0]
    if not len(rows):
        return np.zeros((0, 1))
    first = np.cumsum(degrees) - degrees
    within = np.arange(degrees.sum()) - np.repeat(first, degrees)
    neighbours = graph.indices[np.repeat(graph.indptr[rows].astype(np.int64), degrees) + within]
    if answers.dtype.kind == "f":
        means = np.add.reduceat(answers[neighbours], first) / degrees[:, None]
        return (abs(answers[rows] - means) / deviation).mean(axis=1, keepdims=True)
    differs = answers[neighbours] != np.repeat(answers[rows], degrees, axis=0)
    if differs.ndim == 2:
        differs = differs.mean(axis=1)
    return (np.add.reduceat(differs.astype(np.float64), first) / degrees)[:, None]


def answer_frequency(graph: Graph, task: Task, answers: NDArray[Any], n: int) -> float | None:
    """Return the mean graph frequency of the predictions; None where it would take long."""
    if not graph.n_edges or len(graph.indices) * n > MOST_FREQUENCY:
        return None
    quotients = []
    for column in (answers == c for c in range(n)) if task.one_class else answers.T:
        # As labels have it: plus and minus one half; numbers around their mean.
        numbers = np.asarray(column, dtype=np.float64)
        centre = numbers.mean() if task is REGRESSION else 0.5
        quotients.append(rayleigh_quotient(graph, numbers - centre))
    return float(np.nanmean(quotients)) if np.isfinite(quotients).any() else None


def signals_and_losses(
    task: Task, outputs: NDArray[Any], answers: NDArray[Any], truth: NDArray[Any] | None = None
) -> list[tuple[Array, Array]]:
    """Return what predictions say of themselves, and what they lose where the truth is known.

    Of classes the probability of the answer, and whether it is wrong; of labels the mean of both;
    of each number the prediction itself, and how far it is off.
    """
    nothing = np.zeros(0)
    if task is REGRESSION:
        return [
            (column, nothing if truth is None else abs(column - truth[:, t]))
            for t, column in enumerate(outputs.T)
        ]
    if task.one_class:
        sure = outputs[np.arange(len(answers)), answers]
        return [(sure, nothing if truth is None else (answers != truth).astype(np.float64))]
    sure = np.where(answers > 0, outputs, 1 - outputs).mean(axis=1)
    return [(sure, nothing if truth is None else (answers != (truth > 0.5)).mean(axis=1))]
