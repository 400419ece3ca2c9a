"""What a fit keeps of its vertices and predictions, and how those of a later graph differ.

Columns that are seen of vertices or predicted for them are compared with the :class:`Reference` of
the fit by Fisher's exact test: of categories whether they are there as often, of numbers whether as
many lie below each tenth. p-values are corrected for their number by Holm's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.runs.comparing import LEVEL, SIGNIFICANCE, holm
from graphfilter.runs.fit import PARTS, Fit
from graphfilter.training import REGRESSION, Task
from graphfilter.util.machine import blocks
from graphfilter.util.words import count, listed, number

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


MOST_BINS, FEWEST_IN_A_BIN = 10, 30


@dataclass(frozen=True)
class Expected:
    """A mean loss that is expected, and its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class LossBins:
    r"""The mean loss of vertices whose truth is known, by a signal that each vertex has.

    The signal is what an answer says of itself, such as its probability. Of N new vertices with
    shares :math:`w_b` in the bins of the signal, the mean loss is expected to be

    .. math:: \mu = \sum_b w_b \bar\ell_b, \qquad n_{eff} = 1 / \sum_b w_b^2 / n_b ,

    if vertices of equal signal have the losses that they had. A loss that is a share of errors is
    then beta-binomial, as if :math:`n_{eff}` vertices had shown :math:`\mu` of them; any other is
    normal with the variance :math:`\sum_b w_b v_b (1 / n_{eff} + 1 / N)`.

    Attributes
    ----------
    edges : array (B - 1,)
        Between bins.
    counts, means, variances : arrays (B,)

    Examples
    --------
    >>> import numpy as np
    >>> sure = np.linspace(0, 1, 200)
    >>> bins = LossBins.of(sure, wrong := (sure < 0.25).astype(float))
    >>> bool(abs(bins.expect(sure, is_share=True).value - wrong.mean()) < 0.01)
    True
    """

    edges: Array
    counts: NDArray[np.int64]
    means: Array
    variances: Array

    @classmethod
    def of(cls, signal: Array, losses: Array) -> LossBins:
        """Divide vertices by their signal into bins of equal size."""
        n_bins = int(np.clip(len(signal) // FEWEST_IN_A_BIN, 1, MOST_BINS))
        edges = np.unique(np.quantile(signal, np.linspace(0, 1, n_bins + 1)[1:-1]))
        place = np.searchsorted(edges, signal, side="left")
        counts = np.bincount(place, minlength=len(edges) + 1)
        # Each bin is drawn to the mean of all by one vertex.
        sums = np.bincount(place, weights=losses, minlength=len(counts))
        means = (sums + losses.mean()) / (counts + 1)
        far = np.square(losses - means[place])
        squares = np.bincount(place, weights=far, minlength=len(counts))
        return cls(edges, counts, means, (squares + losses.var()) / (counts + 1))

    def expect(self, signal: Array, *, is_share: bool) -> Expected:
        """Return what the mean loss of vertices with these signals should be.

        ``is_share`` says that a loss is an error or none, or a share of errors.
        """
        place = np.searchsorted(self.edges, signal, side="left")
        n = max(len(signal), 1)
        shares = np.bincount(place, minlength=len(self.counts)) / n
        value = float(shares @ self.means)
        n_alike = 1 / max(float(np.square(shares) @ (1 / (self.counts + 1))), 1e-12)
        if is_share:
            from scipy.stats import betabinom

            law = betabinom(n, value * n_alike + 0.5, (1 - value) * n_alike + 0.5)
            low, high = law.ppf([(1 - LEVEL) / 2, (1 + LEVEL) / 2]) / n
            return Expected(value, float(low), float(high))
        variance = float(shares @ self.variances) * (1 / n_alike + 1 / n)
        half = NormalDist().inv_cdf((1 + LEVEL) / 2) * np.sqrt(variance)
        return Expected(value, max(0.0, value - half), value + half)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, to be saved."""
        return {name: getattr(self, name) for name in ("edges", "counts", "means", "variances")}

    @classmethod
    def from_arrays(cls, edges: Any, counts: Any, means: Any, variances: Any) -> LossBins:
        """Return what :meth:`to_arrays` returned; ValueError where it could not have."""
        numbers = [np.asarray(a, dtype=np.float64) for a in (edges, means, variances)]
        sizes = np.asarray(counts)
        shapes = {a.shape for a in (sizes, *numbers[1:])}
        if shapes != {(len(numbers[0]) + 1,)} or sizes.dtype.kind not in "iu":
            raise ValueError("bins of losses of different lengths")
        if not all(np.isfinite(a).all() for a in numbers) or (numbers[2] < 0).any():
            raise ValueError("bins of losses must hold finite numbers")
        if (np.diff(numbers[0]) < 0).any() or (sizes < 0).any():
            raise ValueError("bins of losses must be sorted")
        return cls(numbers[0], sizes.astype(np.int64), numbers[1], numbers[2])


@dataclass(frozen=True, eq=False)
class Reference:
    """Summaries of a fit's vertices and predictions.

    Attributes
    ----------
    columns : dict of str to ColumnSummary
        Features, degrees, and predictions: the last of vertices that were not trained on, where
        there are some.
    losses : tuple of LossBins
        Of the judged vertices: what predictions lose by how sure they are; of numbers one each.
    measured : array (k,)
        The mean of each of those losses.
    part : str
        Which vertices are judged: test, or val or train where there are no others.
    """

    columns: dict[str, ColumnSummary]
    losses: tuple[LossBins, ...]
    measured: Array
    part: str

    @classmethod
    def of(cls, fit: Fit) -> Reference:
        """Summarise a fit."""
        graph, task, outputs, answers = fit.plan.graph, fit.task, fit.outputs, fit.answers
        every, n = np.arange(graph.n_vertices), len(fit.names)
        unseen = np.setdiff1d(every, fit.plan.split.train)
        seen = sample(every, graph.n_features, fit.plan.seed)
        sampled = sample(unseen if len(unseen) else every, n, fit.plan.seed)
        columns = make_columns(graph, task, outputs[sampled], answers[sampled], seen, n)
        if not fit.plan.has_features:
            columns.pop(FEATURES, None)
        judged, truth = fit.judged, fit.plan.truth[fit.judged]
        pairs = signals_and_losses(task, outputs[judged], answers[judged], truth)
        return cls(
            {kind: ColumnSummary.of(values) for kind, values in columns.items()},
            tuple(LossBins.of(*pair) for pair in pairs),
            np.array([losses.mean() for _, losses in pairs]),
            fit.part,
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, to be saved, by the names of version 0.2."""
        arrays: dict[str, NDArray[Any]] = {
            "promised": self.measured,
            "part": np.array([list(PARTS).index(self.part)]),
        }
        nested: dict[str, ColumnSummary | LossBins] = {
            f"columns.{kind}": summary for kind, summary in self.columns.items()
        }
        nested |= {f"losses.{t}": bins for t, bins in enumerate(self.losses)}
        for name, one in nested.items():
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
        measured = np.asarray(arrays["promised"], float)
        part = list(PARTS)[int(np.asarray(arrays["part"]).item())]
        if measured.shape != (len(nested["losses"]),) or not np.isfinite(measured).all():
            raise ValueError("a reference whose losses do not fit together")
        nested["columns"].pop(_NO_LONGER, None)
        if not set(nested["columns"]) <= set(KINDS):
            raise ValueError(f"a reference with other columns: {sorted(nested['columns'])}")
        losses = [nested["losses"][str(t)] for t in range(len(measured))]
        columns = {n: ColumnSummary.from_arrays(**v) for n, v in nested["columns"].items()}
        bins = tuple(LossBins.from_arrays(**each) for each in losses)
        return cls(columns, bins, measured, part)


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


@dataclass(frozen=True)
class ExpectedLoss:
    """What an error should be on this graph, with its interval, and what it was at the fit.

    ``now`` and ``before`` are written out; ``as_accuracy`` says that they are shares that are
    right.
    """

    name: str
    expected: Expected
    now: str
    before: str
    as_accuracy: bool


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
    losses : tuple of ExpectedLoss
    part : str
        The vertices of the fit that the losses were measured on.
    """

    n_compared: int
    are_new: bool
    moves: tuple[Move, ...]
    losses: tuple[ExpectedLoss, ...]
    part: str

    @property
    def beyond_chance(self) -> tuple[Move, ...]:
        return tuple(move for move in self.moves if move.moved)

    @property
    def compared(self) -> str:
        word = "new " if self.are_new else ""
        return count(self.n_compared, f"{word}vertex", f"{word}vertices")

    def sentences(self, most: int = MOST_SAID) -> list[str]:
        """Say what moved, and what accuracy to expect."""
        moved, n = self.beyond_chance, len(self.moves)
        of = f"{count(n, 'comparison')} of the {self.compared} with those of the fit"
        alarms = f"(a false alarm in at most {SIGNIFICANCE:.0%} of predictions)"
        if moved:
            shown = "; ".join(f"vertices with {move.sentence}" for move in moved[:most])
            more = "; and more" if len(moved) > most else ""
            said = [f"Drift: of {of} {len(moved):,} beyond chance {alarms}: {shown}{more}."]
        else:
            few = f" Only large changes show in {self.compared}." if self.n_compared < FEW else ""
            said = [f"No drift: of {of} none is beyond chance {alarms}.{few}"]
        return [*said, *self.say_losses()]

    def say_losses(self) -> list[str]:
        """Say what accuracy, or which error, to expect."""
        if not self.losses:
            return []
        by = "the predicted numbers"
        if self.losses[0].as_accuracy:
            by = "the predicted probabilities"
        before = listed([loss.before for loss in self.losses])
        verb, judged = "should be", f", judged by {by}"
        if self.beyond_chance:
            verb, judged = "would be", f" if {by} were as accurate as at the fit"
        expected = listed([f"{loss.name} {verb} {loss.now}" for loss in self.losses])
        sentences = [
            f"On these vertices {expected}{judged}; on the {PARTS[self.part]} vertices of the fit "
            f"it was {before}."
        ]
        if self.beyond_chance:
            text = "After such drift they may not be, and the true value may lie far outside this"
            sentences.append(f"{text} interval: label some of these vertices to measure it.")
        return sentences


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
    said = outputs(sampled)
    columns = make_columns(graph, task, said, answers[sampled], seen, n)
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
    losses = _expect(reference, task, names, said, answers[sampled])
    return Drift(len(rows), are_new, tuple(moves), losses, reference.part)


def _expect(
    reference: Reference,
    task: Task,
    names: Sequence[str],
    outputs: NDArray[Any],
    answers: NDArray[Any],
) -> tuple[ExpectedLoss, ...]:
    """Return what each loss should be on vertices with these predictions."""
    shares = task is not REGRESSION
    titles = ["accuracy" if task.one_class else "the share of labels that are right"]
    if not shares:
        titles = ["the mean error" + ("" if len(names) == 1 else f" of {n!r}") for n in names]
    losses = []
    for title, bins, (signal, _), measured in zip(
        titles, reference.losses, signals_and_losses(task, outputs, answers), reference.measured,
        strict=True,
    ):  # fmt: skip
        loss = bins.expect(signal, is_share=shares)
        now = f"{number(loss.value)} ({number(loss.low)} to {number(loss.high)})"
        before = number(float(measured))
        if shares:
            low, high = 1 - min(1.0, loss.high), 1 - loss.low
            now, before = f"{1 - loss.value:.1%} ({low:.1%} to {high:.1%})", f"{1 - measured:.1%}"
        losses.append(ExpectedLoss(title, loss, now, before, shares))
    return tuple(losses)


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
