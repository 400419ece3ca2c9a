"""Sets and intervals that hold the truth as often as asked for, calibrated on validation vertices.

Vertices that are set aside (``calibration_fraction``) chose nothing, and no network learned from
them, with folds as without: they are answered for as vertices without a label are. This is split
conformal prediction, whose sets hold the truth of vertices that are drawn like those set aside at
least as often as asked for, on average. (One reservation: features of an unlabelled vertex that are
beyond those of all labelled ones are clipped.)

Otherwise all validation vertices calibrate, which have chosen epochs. Each is scored by a pool that
was fitted without it, but where labels are held out in folds by the one network that has not seen
its label, and others by the mean of all: nothing is proven then, and on a few dozen validation
vertices the truth is inside less often than asked for.

Sets of classes are adaptive, regularised, and averaged over neighbours where that helps; intervals
of numbers are conformalised errors, wider where answers are less sure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.systems.prepared import held_folds
from graphfilter.training import REGRESSION, TargetScale, Task
from graphfilter.util.errors import ConfigError, GraphError, check_number

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Average = Callable[[Array], Array]
# The outputs of each fold, and how hard vertices are.
Folded = tuple[list[Array], Array]

# The coverages at which rules are compared: a set of any other is made by the same rule.
COMPARED = (0.8, 0.9, 0.95)
# How much smaller sets must be for a rule that is not the plain one.
SMALLER = 0.99
# Scores this near count as equal: one vertex's differ by rounding between devices and versions.
NEAR = 1e-6
# How strongly the slopes of the log width are drawn to 0, in vertices.
RIDGE = 5.0
# Halvings of the range in which a bound lies: beyond the digits of a float64.
HALVINGS = 70
# Above this many vertices times classes, scores are not averaged over neighbours, which needs those
# of all vertices and for each rule.
MOST_DIFFUSED = 2 * 10**6


def check_coverage(coverage: float) -> float:
    """Return a coverage if it is a number between 0 and 1; otherwise raise.

    >>> check_coverage(0.9)
    0.9
    """
    if not 0 < check_number("coverage", coverage) < 1:
        raise ConfigError(f"coverage must be between 0 and 1; got {coverage}. Usual: 0.8 to 0.95.")
    return float(coverage)


def fewest_for(coverage: float) -> int:
    """Return how many vertices must calibrate for a coverage; with fewer everything is allowed.

    >>> fewest_for(0.9), fewest_for(0.95)
    (9, 19)
    """
    return int(np.ceil(coverage / (1 - coverage) - 1e-9))


def neighbour_average(graph: Graph) -> Average:
    """Return what takes columns (n, C) to their averages over neighbours.

    A vertex without edges keeps its own.

    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([[0, 1], [1, 2]], 4)
    >>> neighbour_average(path)(np.array([[1.0], [0.0], [3.0], [5.0]])).ravel().tolist()
    [0.0, 2.0, 0.0, 5.0]
    """
    adjacency = sp.csr_array(graph.adjacency)
    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.float64)
    alone = degrees == 0

    def average(columns: Array) -> Array:
        means = (adjacency @ columns) / np.where(alone, 1.0, degrees)[:, None]
        return np.where(alone[:, None], columns, means)

    return average


@dataclass(frozen=True)
class SetRule:
    r"""How badly a class fits a vertex.

    .. math:: s_{ic} = \sum_{c' : p_{ic'} > p_{ic}} p_{ic'} + u_i p_{ic}
              + \lambda \max(0, o_{ic} - 1), \qquad
              \tilde s = (1 - \delta)\, s + \delta D^{-1} A s

    The mass of what is more probable, with :math:`u_i` uniform (APS: Romano, Sesia & Candès 2020),
    a penalty for every place :math:`o` after the first (RAPS: Angelopoulos et al. 2021), and
    diffused over the graph (DAPS: Zargarbashi, Antonelli & Bojchevski 2023).

    Attributes
    ----------
    penalty, diffusion : float
        λ and δ.
    """

    penalty: float = 0.0
    diffusion: float = 0.0

    def scores(self, probabilities: Array, draws: Array, average: Average | None) -> Array:
        """Return the score of every vertex and class (n, C); ``draws`` (n,) are in [0, 1)."""
        order = np.argsort(-probabilities, axis=1, kind="stable")
        ranked = np.take_along_axis(probabilities, order, axis=1)
        places = np.arange(probabilities.shape[1])
        ahead = np.cumsum(ranked, axis=1) - ranked
        values = ahead + draws[:, None] * ranked + self.penalty * places
        scores = np.empty_like(values)
        np.put_along_axis(scores, order, values, axis=1)
        if self.diffusion and average is not None:
            return (1 - self.diffusion) * scores + self.diffusion * average(scores)
        return scores


PLAIN = SetRule()
RULES = tuple(SetRule(p, d) for d in (0.0, 0.5) for p in (0.0, 0.02, 0.1, 0.5))


@dataclass(frozen=True, eq=False)
class SetFold:
    """What one fold says: the rule that the others chose, and the sorted scores of its vertices."""

    rule: SetRule
    scores: Array


@dataclass(frozen=True, eq=False)
class SetCalibration:
    r"""How probable a class must be to be in a set, learned from vertices whose class is known.

    Cross-conformal (Vovk 2015; as CV+, Barber et al. 2021): the vertices of a fold are scored by
    outputs, and with a rule, that were made without them. The p-value of a class is

    .. math:: \pi_{vc} = \frac{1 + \sum_k \#\{i \in F_k : s_k(i, y_i) \ge s_k(v, c)\}}{n + 1}

    and the set of coverage :math:`1 - \alpha` holds the classes with :math:`\pi > \alpha`. With one
    fold, of vertices that were set aside, this is split conformal prediction: of exchangeable
    vertices at least :math:`1 - \alpha` are covered. With several nothing is proven. The proof of
    :math:`1 - 2\alpha` asks that all that scores a vertex was made without it; here only pools and
    rules are, the networks below them have chosen epochs on all folds.

    Of several labels per vertex, the score of a vertex is that of its worst label: a set then
    holds all of them as often as asked for.

    Attributes
    ----------
    folds : tuple of SetFold
    several : bool
        Whether a vertex may have several labels.
    seed : int
        Of the draws u.

    Examples
    --------
    >>> import numpy as np
    >>> from graphfilter.estimators.calibration import SetCalibration, sets_at
    >>> p = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.5, 0.5]])
    >>> truth = np.eye(2, dtype=bool)[[0, 1, 0, 0]]
    >>> calibration = SetCalibration.fit([p], [np.arange(3)], truth, seed=0)
    >>> sets_at(calibration.p_values([p]), p, coverage=0.99).all()
    np.True_
    """

    folds: tuple[SetFold, ...]
    several: bool = False
    seed: int = 0

    @classmethod
    def fit(
        cls,
        outputs: Sequence[Array],
        held: Sequence[Index],
        truth: NDArray[np.bool_],
        *,
        average: Average | None = None,
        several: bool = False,
        seed: int = 0,
        others: Index | None = None,
    ) -> SetCalibration:
        """Calibrate.

        Parameters
        ----------
        outputs : sequence of arrays (n, C)
            Probabilities of all vertices, those of each fold made without its vertices.
        held : sequence of int arrays
            The vertices of each fold.
        truth : bool array (n, C)
            Which class, or which labels, a vertex has; only read for those that are held.
        average : callable, optional
            Averages scores over neighbours: see :func:`neighbour_average`.
        several : bool
            Whether a vertex may have several labels.
        others : int array, optional
            Further vertices whose class is known. They choose the rule where there is one fold.
        """
        draws = _draws(seed, len(truth))
        folds = []
        for k, (p, own) in enumerate(zip(outputs, held, strict=True)):
            apart = rest_of(held, k, others)
            rule = PLAIN if several else _choose_rule(p, apart, truth, draws, average)
            scores = _own_scores(_scores(p, rule, draws, average, several), truth, own)
            folds.append(SetFold(rule, np.sort(scores)))
        return cls(tuple(folds), several, seed)

    @property
    def n_vertices(self) -> int:
        """How many vertices calibrate."""
        return sum(len(fold.scores) for fold in self.folds)

    @property
    def is_diffused(self) -> bool:
        """Whether some fold averages scores over neighbours."""
        return any(fold.rule.diffusion > 0 for fold in self.folds)

    def p_values(
        self, outputs: Sequence[Array], average: Average | None = None, draws: Array | None = None
    ) -> Array:
        """Return how well every class fits every vertex: p-values (n, C).

        ``outputs`` are those of each fold, as in :meth:`fit`, of any graph; ``draws`` those of the
        vertices where they are some of a graph's.
        """
        draws = _draws(self.seed, len(outputs[0])) if draws is None else draws
        at_least = np.ones(outputs[0].shape)
        for p, fold in zip(outputs, self.folds, strict=True):
            scores = _scores(p, fold.rule, draws, average, self.several)
            at_least += len(fold.scores) - np.searchsorted(fold.scores, scores - NEAR)
        return at_least / (self.n_vertices + 1)


def rest_of(held: Sequence[Index], fold: int, others: Index | None) -> Index:
    """Return the vertices of all folds but one, and further ones."""
    further = held[0][:0] if others is None else others
    return np.concatenate([*held[:fold], *held[fold + 1 :], further])


def sets_at(
    p_values: Array, probabilities: Array, coverage: float, *, several: bool = False
) -> NDArray[np.bool_]:
    """Return which classes are in the set of every vertex: bool (n, C).

    A set of classes holds the most probable one at least; of several labels it may be empty.
    """
    # A p-value is a fraction: rounding must not decide.
    chosen = p_values > 1 - check_coverage(coverage) + 1e-12
    if not several:
        chosen[np.arange(len(chosen)), probabilities.argmax(axis=1)] = True
    return chosen


def _draws(seed: int, n: int) -> Array:
    return np.random.default_rng((seed, 3)).random(n)


def _scores(p: Array, rule: SetRule, draws: Array, average: Average | None, several: bool) -> Array:
    return 1 - p if several else rule.scores(p, draws, average)


def _own_scores(scores: Array, truth: NDArray[np.bool_], vertices: Index) -> Array:
    """Return the score of the class of each vertex: of several labels, of the worst."""
    return np.where(truth[vertices], scores[vertices], -np.inf).max(axis=1)


def _choose_rule(
    p: Array, vertices: Index, truth: NDArray[np.bool_], draws: Array, average: Average | None
) -> SetRule:
    """Return the rule whose sets of these vertices are the smallest; the plain one in doubt."""
    if len(vertices) < 2:
        return PLAIN
    rules = [rule for rule in RULES if average is not None or not rule.diffusion]
    sizes = {rule: _mean_size(rule.scores(p, draws, average), truth, vertices) for rule in rules}
    best = min(sizes, key=lambda rule: sizes[rule])
    return best if sizes[best] < SMALLER * sizes[PLAIN] else PLAIN


def _mean_size(scores: Array, truth: NDArray[np.bool_], vertices: Index) -> float:
    own = _own_scores(scores, truth, vertices)
    limits = [np.quantile(own, coverage, method="higher") for coverage in COMPARED]
    # The most probable class counts in any case.
    return float(
        np.mean([np.maximum((scores[vertices] <= q).sum(axis=1), 1).mean() for q in limits])
    )


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
    intervals shorter. The bounds have the form of CV+ (Barber, Candès, Ramdas & Tibshirani 2021),
    without its proof, for the reason at :class:`SetCalibration`:

    .. math:: [\,q^-_\alpha\{\hat y_k(v) - r_i w_k(v)\},\; q^+_\alpha\{\hat y_k(v) + r_i w_k(v)\}\,]

    over the vertices i of all folds k, with quantiles that count one vertex more. With one fold
    this is split conformal prediction. Where too few vertices calibrate for a coverage, bounds are
    infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from graphfilter.estimators.calibration import IntervalCalibration
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
        hardness: Array | None = None,
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
        hardness : array (n, k), optional
            What may say how hard a vertex is.
        others : int array, optional
            Further vertices whose number is known. They choose the widths where there is one fold.
        """
        columns = np.zeros((len(truth), 0)) if hardness is None else hardness
        folds = []
        for k, (answer, own) in enumerate(zip(answers, held, strict=True)):
            apart = rest_of(held, k, others)
            width = _fit_width(np.abs(truth - answer)[apart], columns[apart])
            scores = np.abs(truth - answer)[own] / width.widths(columns)[own]
            folds.append(IntervalFold(width.centre, width.scale, width.slope, np.sort(scores)))
        return cls(tuple(folds))

    @property
    def n_vertices(self) -> int:
        """How many vertices calibrate."""
        return sum(len(fold.scores) for fold in self.folds)

    def bounds(
        self, answers: Sequence[Array], coverage: float, hardness: Array | None = None
    ) -> Array:
        """Return the low and the high end of every vertex (n, 2), from the answers of each fold."""
        columns = np.zeros((len(answers[0]), 0)) if hardness is None else hardness
        widths = [fold.widths(columns) for fold in self.folds]
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


@dataclass(frozen=True, eq=False)
class Calibration:
    """How sets or intervals are made from the outputs of each fold.

    Attributes
    ----------
    sets : SetCalibration, optional
    intervals : tuple of IntervalCalibration
        One per number.
    """

    sets: SetCalibration | None = None
    intervals: tuple[IntervalCalibration, ...] = ()

    @property
    def n_vertices(self) -> int:
        """How many vertices calibrate."""
        return (self.sets or self.intervals[0]).n_vertices

    @property
    def is_diffused(self) -> bool:
        """Whether the set of a vertex depends on what is said of its neighbours."""
        return self.sets is not None and self.sets.is_diffused

    def p_values(self, outputs: Sequence[Array], graph: Graph, rows: Any = slice(None)) -> Array:
        """Return the p-value of every class (m, C) of the vertices in ``rows``, whose outputs are.

        Where scores are averaged over neighbours it must be all.
        """
        assert self.sets is not None
        average = neighbour_average(graph) if self.is_diffused else None
        draws = _draws(self.sets.seed, graph.n_vertices)[rows]
        return self.sets.p_values(_repeated(outputs, len(self.sets.folds)), average, draws)

    def intervals_at(self, folded: Folded, coverage: float, scales: Sequence[TargetScale]) -> Array:
        """Return the ends (n, T, 2) of the interval of every number, in its unit."""
        ends = []
        for t, (interval, scale) in enumerate(zip(self.intervals, scales, strict=True)):
            answers = [fold[:, t] for fold in _repeated(folded[0], len(interval.folds))]
            bounds = interval.bounds(answers, coverage, folded[1][:, :, t])
            ends.append(scale.undo_bounds(bounds))
        return np.stack(ends, axis=1)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, to be saved."""
        if self.sets is not None:
            rules = [(fold.rule.penalty, fold.rule.diffusion) for fold in self.sets.folds]
            return {
                "sets.rules": np.array(rules),
                "sets.said": np.array([self.sets.several, self.sets.seed]),
                **{f"sets.scores{k}": fold.scores for k, fold in enumerate(self.sets.folds)},
            }
        return {
            f"number{t}.{name}{k}": getattr(fold, name)
            for t, interval in enumerate(self.intervals)
            for k, fold in enumerate(interval.folds)
            for name in ("centre", "scale", "slope", "scores")
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Calibration | None:
        """Return what :meth:`to_arrays` returned; None of nothing."""
        if not arrays:
            return None
        if "sets.rules" in arrays:
            numbers = np.asarray(arrays["sets.rules"], dtype=np.float64)
            if numbers.ndim != 2 or not np.isfinite(numbers).all():
                raise ValueError("the rules of a calibration are damaged")
            rules = [SetRule(float(penalty), float(diffusion)) for penalty, diffusion in numbers]
            scores = [_read_scores(arrays[f"sets.scores{k}"]) for k in range(len(rules))]
            several, seed = (int(x) for x in np.asarray(arrays["sets.said"]))
            folds = tuple(SetFold(rule, s) for rule, s in zip(rules, scores, strict=True))
            return cls(SetCalibration(folds, bool(several), seed))
        intervals: list[IntervalCalibration] = []
        while f"number{len(intervals)}.scores0" in arrays:
            t, made = len(intervals), list[IntervalFold]()
            while (key := f"number{t}.%s{len(made)}") % "scores" in arrays:
                centre, scale, slope = (
                    np.asarray(arrays[key % name], dtype=np.float64)
                    for name in ("centre", "scale", "slope")
                )
                finite = np.isfinite([centre, scale, slope]).all()
                if not finite or centre.ndim != 1 or not centre.shape == scale.shape == slope.shape:
                    raise ValueError("a calibration whose widths have different columns")
                scores = _read_scores(arrays[key % "scores"])
                made.append(IntervalFold(centre, scale, slope, scores))
            intervals.append(IntervalCalibration(tuple(made)))
        return cls(intervals=tuple(intervals))


def calibrate(
    outputs: Sequence[Array],
    hardness: Array,
    truth: NDArray[Any],
    val: NDArray[np.int64],
    graph: Graph,
    task: Task,
    seed: int,
    aside: NDArray[np.int64] | None = None,
) -> Calibration | None:
    """Calibrate on validation vertices; None where there are none.

    Parameters
    ----------
    outputs : sequence of arrays (n, C)
        Of the pools without a fold each, or one for all.
    hardness : array (n, k, T)
        What may tell how far a number is from its answer; of other tasks without columns.
    truth : array
        Class numbers (n,), labels (n, L), or numbers on their scales (n, T).
    val : int array
        Those that chose epochs and weights.
    aside : int array, optional
        Vertices that were set aside to calibrate. ``val`` then chooses the rule alone.
    """
    held, others = held_folds(val, seed), None
    if aside is not None and len(aside):
        held, others = [aside], val
    elif not len(val):
        return None
    outputs = _repeated(outputs, len(held))
    if task is REGRESSION:
        numbers = np.asarray(truth, dtype=np.float64)
        return Calibration(
            intervals=tuple(
                IntervalCalibration.fit(
                    [fold[:, t] for fold in outputs], held, numbers[:, t], hardness[:, :, t], others
                )
                for t in range(numbers.shape[1])
            )
        )
    average: Average | None = None
    if outputs[0].size <= MOST_DIFFUSED and graph.n_edges:
        average = neighbour_average(graph)
    else:  # The held vertices alone.
        known = np.concatenate([*held, val[:0] if others is None else others])
        outputs, truth = [fold[known] for fold in outputs], truth[known]
        ends = np.cumsum([len(part) for part in held])
        held = np.split(np.arange(ends[-1]), ends[:-1])
        others = None if others is None else np.arange(ends[-1], len(known))
    has = np.eye(outputs[0].shape[1], dtype=bool)[truth] if task.one_class else truth > 0.5
    return Calibration(
        SetCalibration.fit(
            outputs, held, np.asarray(has), average=average, several=not task.one_class, seed=seed,
            others=others,
        )
    )  # fmt: skip


def check_calibrated(calibration: Calibration | None) -> Calibration:
    """Return the calibration of a fitted estimator, or raise where it has none."""
    if calibration is None:
        text = "sets and intervals are calibrated on validation vertices; there are none."
        raise GraphError(f"{text} Set validation_fraction, or give a split that has some.")
    return calibration


def _repeated(outputs: Sequence[Array], n: int) -> list[Array]:
    if len(outputs) not in (1, n):
        raise ValueError(f"outputs of {len(outputs)} folds, but {n} are calibrated")
    return list(outputs) * (n if len(outputs) == 1 else 1)


def _read_scores(values: NDArray[Any]) -> Array:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or not len(scores) or np.isnan(scores).any():
        raise ValueError("the scores of a calibration are damaged")
    return np.sort(scores)
