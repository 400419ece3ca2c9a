"""Coverages: what may be promised, and how many vertices a promise needs.

Scores averaged over neighbours.

Sets of classes: adaptive, regularised, and averaged over neighbours where that helps.

Intervals of numbers: conformalised errors, wider where answers are less sure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.util.errors import ConfigError, check_number


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


Average = Callable[[NDArray[np.float64]], NDArray[np.float64]]


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

    def average(columns: NDArray[np.float64]) -> NDArray[np.float64]:
        means = (adjacency @ columns) / np.where(alone, 1.0, degrees)[:, None]
        return np.where(alone[:, None], columns, means)

    return average


Array = NDArray[np.float64]
Index = NDArray[np.int64]

# The coverages at which rules are compared: a set of any other is made by the same rule.
COMPARED = (0.8, 0.9, 0.95)
# How much smaller sets must be for a rule that is not the plain one.
SMALLER = 0.99


# Scores this near count as equal: one vertex's differ by rounding between devices and versions.
NEAR = 1e-6


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
    fold this is split conformal prediction, whose coverage is exact for exchangeable
    vertices; with several :math:`1 - \alpha` is measured (docs/performance.md), not proven: the proof
    of :math:`1 - 2\alpha` asks that one model alone scores a vertex, and folds are averaged here.

    Of several labels per vertex, the score of a vertex is that of its worst label: a set then
    holds all of them as often as it promises.

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
    >>> from graphfilter.estimators import SetCalibration, sets_at
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
            Averages scores over neighbours: see :func:`~graphfilter.estimators.conformal.neighbour_average`.
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

    def draws(self, n: int) -> Array:
        """Return the draws u of the vertices of a graph."""
        return _draws(self.seed, n)

    def p_values(
        self,
        outputs: Sequence[Array],
        average: Average | None = None,
        draws: Array | None = None,
    ) -> Array:
        """Return how well every class fits every vertex: p-values (n, C).

        ``outputs`` are those of each fold, as in :meth:`fit`, of any graph; ``draws`` those of the
        vertices where they are some of a graph's.
        """
        draws = self.draws(len(outputs[0])) if draws is None else draws
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
    >>> from graphfilter.estimators import IntervalCalibration
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
