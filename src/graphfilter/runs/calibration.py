"""What a fit promises of its answers, and whether the promise was kept where it can be checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.base import VertexClassifier, VertexRegressor
from graphfilter.estimators.calibration import check_coverage, fewest_for
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.runs.plan import Plan
from graphfilter.training.scores import Coverage, chance_of_coverage, coverage_by
from graphfilter.util.errors import ConfigError
from graphfilter.util.words import count, number

SEPARATOR = ";"
# With so many that calibrate, coverage varies by a hundredth: more would be wasted.
MOST_SET_ASIDE = 1000


@dataclass(frozen=True, eq=False)
class Promised:
    """Sets or intervals of all vertices at one coverage.

    Attributes
    ----------
    plan : Plan
    coverage : float
    n_calibrated : int
        Validation vertices that calibrate.
    is_aside : bool
        Whether they were set aside, and chose nothing.
    sets : bool array (n, C), optional
    intervals : array (n, T, 2), optional
    n_widened : int
        Sets that hold what is answered beside what the coverage takes.
    """

    plan: Plan
    coverage: float
    n_calibrated: int
    sets: NDArray[np.bool_] | None = None
    intervals: NDArray[np.float64] | None = None
    is_aside: bool = False
    n_widened: int = 0

    @cached_property
    def held(self) -> NDArray[np.bool_]:
        """Whether the truth is inside, (n, T): of numbers each, otherwise in one column.

        Of no meaning where it is not known.
        """
        plan = self.plan
        if self.intervals is not None:
            low, high = self.intervals[..., 0], self.intervals[..., 1]
            return (low <= plan.truth) & (plan.truth <= high)
        assert self.sets is not None
        if self.plan.target.task.one_class:
            own = self.sets[np.arange(len(self.sets)), plan.target.codes]
            return (own & plan.known)[:, None]
        return np.all(self.sets | ~(plan.truth > 0.5), axis=1, keepdims=True)

    @property
    def test(self) -> NDArray[np.int64]:
        """The test vertices whose truth is known."""
        test = self.plan.split.test
        return test[self.plan.known[test]]

    @property
    def is_given(self) -> bool:
        """Whether test vertices are drawn like those that calibrate: not by time, not by group."""
        return self.plan.by.times is None and self.plan.by.groups is None

    @cached_property
    def observed(self) -> Coverage | None:
        """The coverage of the test vertices, of all their numbers; None where there are none."""
        test = self.test
        return Coverage.of(self.held[test].ravel()) if len(test) else None

    @property
    def chance(self) -> tuple[float, float] | None:
        """Between which shares chance alone puts the coverage of so many test vertices."""
        if self.observed is None:
            return None
        return chance_of_coverage(self.coverage, self.n_calibrated, len(self.test))

    def by_class(self) -> dict[str, Coverage]:
        """Return the coverage of each class, or of those with each label, on test vertices."""
        test = self.test
        if not len(test) or self.sets is None:
            return {}
        names, plan = self.plan.names, self.plan
        if self.plan.target.task.one_class:
            found = coverage_by(self.held[test, 0], plan.target.codes[test])
            return {names[code]: own for code, own in found.items()}
        has = plan.truth[test] > 0.5
        return {
            name: Coverage.of(self.sets[test, c][has[:, c]])
            for c, name in enumerate(names)
            if has[:, c].any()
        }

    def by_degree(self) -> dict[str, Coverage]:
        """Return the coverage of test vertices with few, some and many neighbours."""
        test = self.test
        if not len(test):
            return {}
        degrees = np.diff(self.plan.graph.indptr)[test]
        first, second = np.quantile(degrees, [1 / 3, 2 / 3], method="lower")
        thirds = (degrees > first).astype(int) + (degrees > second)
        words = (f"up to {first}", f"up to {second}", "more")
        repeated = np.repeat(thirds, self.held.shape[1])
        found = coverage_by(self.held[test].ravel(), repeated)
        return {words[k]: own for k, own in found.items()}

    def by_number(self) -> dict[str, Coverage]:
        """Return the coverage of each of several numbers on test vertices."""
        if not len(self.test) or len(self.plan.names) == 1 or self.intervals is None:
            return {}
        columns = self.held[self.test].T
        return {n: Coverage.of(own) for n, own in zip(self.plan.names, columns, strict=True)}

    @property
    def unseen(self) -> NDArray[np.bool_]:
        """Which vertices were neither trained nor validated on."""
        return ~np.isin(self.plan.parts, ("train", "val"))

    @property
    def size(self) -> float:
        """How many classes a set has on average, or how wide intervals are in the middle."""
        rows = self.unseen if self.unseen.any() else np.ones_like(self.unseen)
        if self.sets is not None:
            return float(self.sets[rows].sum(axis=1).mean())
        assert self.intervals is not None
        return float(np.median(np.diff(self.intervals[rows, 0], axis=1)))

    @property
    def n_sure(self) -> int:
        """Of how many vertices the set has one class."""
        return 0 if self.sets is None else int((self.sets.sum(axis=1) == 1).sum())

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns of ``predictions.csv``: the set, or the ends of the interval."""
        return promise_columns(self.plan.names, self.sets, self.intervals)

    def sentences(self) -> list[str]:
        """Say how large sets or intervals are, and whether they kept the promise."""
        n = len(self.held)
        share = f"{self.coverage:.3g}"
        unseen = " on unseen vertices" if self.unseen.any() else ""
        if self.intervals is not None:
            lines = [f"Intervals with coverage {share} have a median width of {number(self.size)}."]
        elif self.plan.target.task.one_class:
            lines = [
                f"Prediction sets with coverage {share} have {self.size:.2f} classes on "
                f"average{unseen}; {self.n_sure:,} of all {n:,} vertices have one class."
            ]
        else:
            lines = [
                f"Prediction sets with coverage {share} have {self.size:.2f} labels on average."
            ]
        if self.n_widened:
            lines.append(
                f"{count(self.n_widened, 'set holds', 'sets hold')} an additional class, the "
                "one that the threshold predicts: coverage may be higher than promised."
            )
        calibrated = count(self.n_calibrated, "validation vertex", "validation vertices")
        if self.n_calibrated < fewest_for(self.coverage):
            lines.append(
                f"{calibrated} cannot calibrate this coverage, which needs "
                f"{fewest_for(self.coverage)}: every set or interval holds everything."
            )
        elif self.is_aside:
            lines.append(
                f"Calibrated on {calibrated} set aside, which chose neither epochs nor weights."
            )
        else:
            lines.append(
                f"Calibrated on the {calibrated} that also chose the epochs; with so few, "
                "coverage may be a few points lower than promised."
            )
        if not self.is_given:
            lines.append(
                "Coverage is not guaranteed: the test vertices are from another time or "
                "other groups than the calibration vertices."
            )
        if self.observed is not None and self.chance is not None:
            seen = self.observed
            lines.append(
                f"Observed coverage on {count(len(self.test), 'test vertex', 'test vertices')}: "
                f"{seen.share:.1%} ({seen.low:.1%} to {seen.high:.1%}); expected by chance for "
                f"exchangeable vertices: {self.chance[0]:.1%} to {self.chance[1]:.1%}."
            )
            if self.plan.target.task.one_class and seen.share > self.chance[1]:
                lines.append("Every set holds the most probable class: coverage may be higher.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return it as ``metrics.json`` has it."""
        found: dict[str, Any] = {
            "coverage": self.coverage,
            "n_calibrated": self.n_calibrated,
            "set_aside": self.is_aside,
            "given": self.is_given,
            "size": self.size if np.isfinite(self.size) else None,
        }
        if self.sets is not None:
            found["one_class"] = self.n_sure
        if self.observed is not None:
            found["observed"] = asdict(self.observed)
            found["chance"] = self.chance
            found["by_class"] = {name: asdict(own) for name, own in self.by_class().items()}
            found["by_number"] = {name: asdict(own) for name, own in self.by_number().items()}
            found["by_degree"] = {name: asdict(own) for name, own in self.by_degree().items()}
        return found


def promise_columns(
    names: Sequence[str],
    sets: NDArray[np.bool_] | None = None,
    intervals: NDArray[np.float64] | None = None,
) -> dict[str, NDArray[Any]]:
    """Return sets (n, C) as one column of text, or intervals (n, T, 2) as columns of their ends."""
    if sets is not None:
        joined = [
            SEPARATOR.join(n for n, inside in zip(names, row, strict=True) if inside)
            for row in sets
        ]
        return {"set": np.array(joined, dtype=object)}
    assert intervals is not None
    alone = len(names) == 1
    return {
        word if alone else f"{word}_{name}": intervals[:, t, end]
        for t, name in enumerate(names)
        for word, end in (("low", 0), ("high", 1))
    }


def check_coverage_asked(plan: Plan, coverage: float | None) -> None:
    """Raise before training where a coverage cannot be promised."""
    if coverage is None:
        return
    check_coverage(coverage)
    if not len(plan.split.val):
        raise ConfigError(
            "a coverage is calibrated on validation vertices; there are none. Leave it out, or "
            "divide the vertices in another way."
        )


def calibration_share(n_validation: int, coverage: float) -> float:
    """Return which share of the validation vertices to set aside to calibrate a coverage.

    Half of them, at most 1,000. None where half would be too few for this coverage: all of them
    then calibrate, and choose too.

    >>> calibration_share(60, 0.9), calibration_share(12, 0.9), calibration_share(10_000, 0.9)
    (0.5, 0.0, 0.1)
    """
    if n_validation // 2 < fewest_for(coverage):
        return 0.0
    return min(0.5, MOST_SET_ASIDE / n_validation)


def promise_of(
    plan: Plan, estimator: VertexEstimator, coverage: float | None, answers: NDArray[Any]
) -> Promised | None:
    """Return the sets or intervals of a fitted estimator; None where none are asked for."""
    if coverage is None or estimator.calibration_ is None:
        return None
    n, aside = estimator.calibration_.n_vertices, bool(estimator.calibration_fraction)
    if isinstance(estimator, VertexRegressor):
        ends = estimator.predict_interval(coverage=coverage)
        shaped = ends if ends.ndim == 3 else ends[:, None]
        return Promised(plan, coverage, n, intervals=shaped, is_aside=aside)
    assert isinstance(estimator, VertexClassifier)
    needed = estimator.predict_set(coverage=coverage)
    sets = with_answers(needed, answers)
    n_widened = int((sets & ~needed).any(axis=1).sum())
    return Promised(plan, coverage, n, sets=sets, is_aside=aside, n_widened=n_widened)


def with_answers(sets: NDArray[np.bool_], answers: NDArray[Any]) -> NDArray[np.bool_]:
    """Return sets (n, C) that hold what is answered: a class of each vertex, or its labels.

    A threshold or costs may answer another class than the most probable one, which a set holds
    anyway. A larger set keeps the promise all the more.
    """
    chosen = np.eye(sets.shape[1], dtype=bool)[answers] if answers.ndim == 1 else answers > 0
    return sets | chosen
