"""What a fit keeps of its vertices and predictions, and how those of a later graph differ.

Columns that are seen of vertices or predicted for them are compared with the :class:`Reference` of
the fit by Fisher's exact test: of categories whether they are there as often, of numbers whether as
many lie below each tenth. p-values are corrected for their number by Holm's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.runs.comparing import SIGNIFICANCE, holm
from graphfilter.runs.fit import Fit
from graphfilter.training import REGRESSION, Task
from graphfilter.util.machine import blocks
from graphfilter.util.words import count

Array = NDArray[np.float64]
Index = NDArray[np.int64]

FEATURES, DEGREE, ANSWERS = "features", "degree", "answers"
KINDS = (FEATURES, DEGREE, ANSWERS)
# What version 0.2 compared too.
_NO_LONGER = "variation"
# Thresholds of a column: tenths of its values, its largest, and just below its smallest.
N_THRESHOLDS = 11
# Numbers of a matrix that are looked at together.
_AT_ONCE = 1 << 22
# Below this many deviations no test can matter among several: it is not computed.
_WORTH_A_TEST = 2.0
# Vertices that are looked at, and bytes of their features: enough for shares to a percent.
MOST_VERTICES, MOST_BYTES = 50_000, 1 << 26


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
        Features, degrees, and predictions: the last of vertices that were not trained on, where
        there are some.
    """

    columns: dict[str, ColumnSummary]

    @classmethod
    def of(cls, fit: Fit) -> Reference:
        """Summarise a fit."""
        graph, every, n = fit.plan.graph, np.arange(fit.plan.graph.n_vertices), len(fit.names)
        unseen = np.setdiff1d(every, fit.plan.split.train)
        seen = sample(every, graph.n_features, fit.plan.seed)
        some = sample(unseen if len(unseen) else every, n, fit.plan.seed)
        columns = make_columns(graph, fit.task, fit.outputs[some], fit.answers[some], seen, n)
        if not fit.plan.has_features:
            columns.pop(FEATURES, None)
        return cls({kind: ColumnSummary.of(values) for kind, values in columns.items()})

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, to be saved, by the names of version 0.2."""
        return {
            f"columns.{kind}.{key}": values
            for kind, summary in self.columns.items()
            for key, values in summary.to_arrays().items()
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Reference:
        """Return what :meth:`to_arrays` returned; ValueError or TypeError where it did not.

        What version 0.2 kept beside is left out.
        """
        columns: dict[str, dict[str, Any]] = {}
        for key, values in arrays.items():
            if values.dtype.kind not in "biuf":
                raise ValueError(f"a reference must hold numbers; {key} holds {values.dtype}")
            what, _, rest = key.partition(".")
            kind, _, part = rest.partition(".")
            if what == "columns" and kind != _NO_LONGER:
                columns.setdefault(kind, {})[part] = values
        if not columns.keys() <= set(KINDS):
            raise ValueError(f"a reference with other columns: {sorted(columns)}")
        return cls({kind: ColumnSummary.from_arrays(**each) for kind, each in columns.items()})


def sample(rows: Index, n_features: int, seed: int) -> Index:
    """Return at most so many of some vertices, in order."""
    most = int(np.clip(MOST_BYTES // (4 * max(n_features, 1)), 100, MOST_VERTICES))
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng((seed, 5)).choice(rows, most, replace=False))


def make_columns(
    graph: Graph, task: Task, outputs: NDArray[Any], answers: NDArray[Any], seen: Index, n: int
) -> dict[str, Any]:
    """Return what is compared: of the vertices ``seen``, and outputs and answers of ``n`` names."""
    said = np.eye(n)[answers] if task.one_class else answers
    columns = {
        DEGREE: np.diff(graph.indptr)[seen, None],
        ANSWERS: outputs if task is REGRESSION else said,
    }
    return columns if graph.features is None else {**columns, FEATURES: graph.features[seen]}


# An edge counts at both of its ends: two vertices say as much as one that is independent.
SHARED = {DEGREE: 2}
# Fewer vertices are too few to find a change of a usual size.
FEW = 30
# The most changes that are listed on the terminal.
MOST_SAID = 3


@dataclass(frozen=True)
class Move:
    """One column at the threshold where it differs most from the fit.

    Attributes
    ----------
    kind : str
        features, degree or answers.
    what : str
        The vertices that are counted, in words: those above the threshold.
    before, now : float
        Their share at the fit and now.
    p_value : float
        Corrected for the number of comparisons (Holm).
    """

    kind: str
    what: str
    before: float
    now: float
    p_value: float

    @property
    def moved(self) -> bool:
        """Whether it differs beyond chance."""
        return self.p_value <= SIGNIFICANCE

    @property
    def sentence(self) -> str:
        return f"{self.what}: {self.before:.1%} at the fit, {self.now:.1%} now"


@dataclass(frozen=True, eq=False)
class Drift:
    """A comparison of vertices with those of the fit.

    Attributes
    ----------
    n_compared : int
    are_new : bool
        Whether the compared vertices are those that the run does not know; all otherwise.
    moves : tuple of Move
        Every comparison, those beyond chance first.
    """

    n_compared: int
    are_new: bool
    moves: tuple[Move, ...]

    @property
    def beyond_chance(self) -> tuple[Move, ...]:
        return tuple(move for move in self.moves if move.moved)

    @property
    def compared(self) -> str:
        word = "new " if self.are_new else ""
        return count(self.n_compared, f"{word}vertex", f"{word}vertices")

    def sentence(self) -> str:
        """Say what moved."""
        moved, n = self.beyond_chance, len(self.moves)
        of = f"{count(n, 'comparison')} of the {self.compared} with those of the fit"
        alarms = f"(a false alarm in at most {SIGNIFICANCE:.0%} of predictions)"
        if moved:
            shown = "; ".join(f"vertices with {move.sentence}" for move in moved[:MOST_SAID])
            more = "; and more" if len(moved) > MOST_SAID else ""
            accuracy = "Answers may be less accurate: label some of these vertices to measure it."
            return (
                f"Drift: of {of} {len(moved):,} beyond chance {alarms}: {shown}{more}. {accuracy}"
            )
        few = f" Only large changes show in {self.compared}." if self.n_compared < FEW else ""
        return f"No drift: of {of} none is beyond chance {alarms}.{few}"


def find_drift(
    reference: Reference,
    graph: Graph,
    task: Task,
    names: Sequence[str],
    outputs: Callable[[Index], Array],
    answers: NDArray[Any],
    rows: Index,
    *,
    are_new: bool,
    seed: int = 0,
) -> Drift:
    """Compare vertices of a graph with those of a fit.

    Parameters
    ----------
    graph : Graph
        With features as the model takes them.
    outputs : callable
        Gives those (m, C) of some of its vertices.
    answers : array (n,) or (n, C)
        Of all of them.
    rows : int array
        The vertices to compare.
    are_new : bool
        Whether those are all that the run does not know.
    """
    n, seen = len(names), sample(rows, graph.n_features, seed)
    sampled = sample(rows, n, seed)
    columns = make_columns(graph, task, outputs(sampled), answers[sampled], seen, n)
    titles = {
        DEGREE: [DEGREE],
        ANSWERS: names,
        FEATURES: graph.feature_names or [f"feature {i}" for i in range(graph.n_features)],
    }
    rough: list[Move] = []
    for kind in KINDS:
        summary = reference.columns.get(kind)
        if summary is None or columns[kind].shape[1] != len(summary.thresholds):
            continue
        moved = summary.compare(columns[kind], shared=SHARED.get(kind, 1))
        for title, limits, t, before, now, p in zip(
            titles[kind], summary.thresholds, moved.threshold, moved.before, moved.now,
            moved.p_values, strict=True,
        ):  # fmt: skip
            what, is_below = _in_words(kind, title, float(t), limits)
            shares = (1 - before, 1 - now) if is_below else (before, now)
            rough.append(Move(kind, what, float(shares[0]), float(shares[1]), float(p)))
    p_values = holm([m.p_value for m in rough]) if rough else []
    moves = [replace(m, p_value=float(p)) for m, p in zip(rough, p_values, strict=True)]
    moves.sort(key=lambda move: (move.p_value, -abs(move.now - move.before)))
    return Drift(len(rows), are_new, tuple(moves))


def _in_words(kind: str, title: str, t: float, limits: Array) -> tuple[str, bool]:
    """Return which vertices are counted, and whether those are the ones below a threshold."""
    subject = {FEATURES: repr(title), DEGREE: "neighbours", ANSWERS: f"the answer {title!r}"}[kind]
    finite = limits[np.isfinite(limits)]
    if set(finite[1:].tolist()) <= {0.0, 1.0} and t >= 0 and kind in (FEATURES, ANSWERS):
        return subject, False
    if t == limits[0]:
        least = np.nextafter(t, np.inf)
        if kind == DEGREE:
            return f"fewer than {least:.0f} neighbours, the least at the fit", True
        return f"{subject} below {least:.4g}, the least at the fit", True
    if kind == DEGREE:
        return f"more than {count(round(t), 'neighbour')}", False
    return f"{subject} above {t:.4g}", False
