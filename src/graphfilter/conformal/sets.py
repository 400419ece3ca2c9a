"""Sets of classes: adaptive, regularised, and averaged over neighbours where that helps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphfilter.conformal.coverages import check_coverage
from graphfilter.conformal.neighbours import Average

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
    fold this is split conformal prediction, whose coverage is exact; with several at least
    :math:`1 - 2\alpha` is proven and :math:`1 - \alpha` is what is seen.

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
    >>> from graphfilter.conformal import SetCalibration, sets_at
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
            Averages scores over neighbours: see :func:`~graphfilter.conformal.neighbour_average`.
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
