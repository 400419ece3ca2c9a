"""What an estimator promises of its answers: sets and intervals, calibrated on validation vertices.

The validation vertices have chosen epochs and weighed members. Unless some of them are set aside
(``calibration_fraction``), each is scored by a pool that was fitted without it; what chose the
epochs remains, so that on a few dozen validation vertices the truth is inside less often than
promised. Vertices that are set aside chose nothing: the promise is then exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.estimators.conformal import (
    Average,
    IntervalCalibration,
    IntervalFold,
    SetCalibration,
    SetFold,
    SetRule,
    neighbour_average,
)
from graphfilter.estimators.members import FittedMember, combine_folds
from graphfilter.splits import held_folds
from graphfilter.training import REGRESSION, Task
from graphfilter.util.errors import GraphError

Array = NDArray[np.float64]

# The outputs of each fold, and how hard vertices are.
Folded = tuple[list[Array], Array]

# Above this many vertices times classes, scores are not averaged over neighbours, which needs those
# of all vertices and for each rule.
MOST_DIFFUSED = 2 * 10**6


@dataclass(frozen=True, eq=False)
class Promise:
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
        draws = self.sets.draws(graph.n_vertices)[rows]
        return self.sets.p_values(_repeated(outputs, len(self.sets.folds)), average, draws)

    def bounds(self, outputs: Sequence[Array], hardness: Array, coverage: float) -> Array:
        """Return the ends (n, T, 2) of the interval of every number, on its scale."""
        found = []
        for t, interval in enumerate(self.intervals):
            k = len(interval.folds)
            answers = [own_outputs[:, t] for own_outputs in _repeated(outputs, k)]
            found.append(interval.bounds(answers, coverage, [hardness[:, :, t]] * k))
        return np.stack(found, axis=1)

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
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Promise | None:
        """Return what :meth:`to_arrays` returned; None of nothing."""
        if not arrays:
            return None
        if "sets.rules" in arrays:
            numbers = np.asarray(arrays["sets.rules"], dtype=np.float64)
            if numbers.ndim != 2 or not np.isfinite(numbers).all():
                raise ValueError("the rules of a promise are damaged")
            rules = [SetRule(float(penalty), float(diffusion)) for penalty, diffusion in numbers]
            scores = [_scores(arrays[f"sets.scores{k}"]) for k in range(len(rules))]
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
                    raise ValueError("a promise whose widths have different columns")
                made.append(IntervalFold(centre, scale, slope, _scores(arrays[key % "scores"])))
            intervals.append(IntervalCalibration(tuple(made)))
        return cls(intervals=tuple(intervals))


def make_promise(
    outputs: Sequence[Array],
    hardness: Array,
    truth: NDArray[Any],
    val: NDArray[np.int64],
    graph: Graph,
    task: Task,
    seed: int,
    aside: NDArray[np.int64] | None = None,
) -> Promise | None:
    """Calibrate on validation vertices; None where there are none.

    Parameters
    ----------
    outputs : sequence of arrays (n, C)
        Of the pools without a fold each, or one for all.
    hardness : array (n, k, T)
        See :func:`number_hardness`; of other tasks without columns.
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
        return Promise(
            intervals=tuple(
                IntervalCalibration.fit(
                    [own_outputs[:, t] for own_outputs in outputs],
                    held,
                    numbers[:, t],
                    [hardness[:, :, t]] * len(held),
                    others,
                )
                for t in range(numbers.shape[1])
            )
        )
    average: Average | None = None
    if outputs[0].size <= MOST_DIFFUSED and graph.n_edges:
        average = neighbour_average(graph)
    else:  # The held vertices alone.
        known = np.concatenate([*held, val[:0] if others is None else others])
        outputs, truth = [own_outputs[known] for own_outputs in outputs], truth[known]
        ends = np.cumsum([len(part) for part in held])
        held = np.split(np.arange(ends[-1]), ends[:-1])
        others = None if others is None else np.arange(ends[-1], len(known))
    has = np.eye(outputs[0].shape[1], dtype=bool)[truth] if task.one_class else truth > 0.5
    return Promise(
        SetCalibration.fit(
            outputs,
            held,
            np.asarray(has),
            average=average,
            several=not task.one_class,
            seed=seed,
            others=others,
        )
    )


def fold_outputs(
    answers: Sequence[Array],
    members: Sequence[FittedMember],
    task: Task,
    degrees: NDArray[Any],
    shares: Array | None = None,
) -> Folded:
    """Return the outputs of each fold, and how hard the vertices of these degrees are.

    ``shares`` as in :func:`~graphfilter.estimators.members.combine`.
    """
    outputs = combine_folds(answers, members, task, shares)
    if task is not REGRESSION:
        return outputs, np.zeros((len(outputs[0]), 0, 0))
    return outputs, number_hardness(answers, [m.share for m in members], outputs[0], degrees)


def number_hardness(
    answers: Sequence[Array], shares: Sequence[float], outputs: Array, degrees: NDArray[Any]
) -> Array:
    """Return what may tell how far a number is from its answer: (n, 3, T).

    How far members disagree, the answer itself, and the degree of the vertex.
    """
    weights = np.asarray(shares) if sum(shares) > 0 else np.ones(len(answers))
    stacked = np.stack(answers)
    mean = np.einsum("m,mnt->nt", weights / weights.sum(), stacked)
    variance = np.einsum("m,mnt->nt", weights / weights.sum(), np.square(stacked - mean))
    near = np.log1p(degrees)[:, None] + np.zeros_like(outputs)
    return np.stack([0.5 * np.log(variance + 1e-6), outputs, near], axis=1)


def check_promise(promise: Promise | None) -> Promise:
    """Return the promise of a fitted estimator, or raise where it has none."""
    if promise is None:
        raise GraphError(
            "sets and intervals are calibrated on validation vertices; there are none. Fit with a "
            "validation_fraction above 0, or a split that has some."
        )
    return promise


def _repeated(outputs: Sequence[Array], n: int) -> list[Array]:
    if len(outputs) not in (1, n):
        raise ValueError(f"outputs of {len(outputs)} folds, but {n} are calibrated")
    return list(outputs) * (n if len(outputs) == 1 else 1)


def _scores(values: NDArray[Any]) -> Array:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or not len(scores) or np.isnan(scores).any():
        raise ValueError("the scores of a promise are damaged")
    return np.sort(scores)
