"""Whether sets and intervals hold the truth as often as they promised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.metrics.significance import LEVEL, wilson_interval


@dataclass(frozen=True)
class Coverage:
    """The share of vertices whose set or interval held the truth, with its interval.

    >>> Coverage.of(np.array([True, True, True, False])).share
    0.75
    """

    n_vertices: int
    share: float
    low: float
    high: float

    @classmethod
    def of(cls, held: NDArray[np.bool_]) -> Coverage:
        """Count the vertices whose truth was held; there must be one."""
        n_held = int(held.sum())
        return cls(len(held), n_held / len(held), *wilson_interval(n_held, len(held)))


def coverage_by(held: NDArray[np.bool_], groups: NDArray[Any]) -> dict[Any, Coverage]:
    """Return the coverage of each group of vertices, in the order of the groups' names."""
    return {name: Coverage.of(held[groups == name]) for name in np.unique(groups).tolist()}


def chance_of_coverage(
    coverage: float, n_calibrated: int, n_vertices: int, level: float = LEVEL
) -> tuple[float, float]:
    r"""Return between which shares chance alone puts the coverage of new vertices.

    Of exchangeable vertices, those that are held are beta-binomial with
    :math:`a = n + 1 - l, b = l, l = \lfloor \alpha (n + 1) \rfloor`: both those that calibrate and
    those that are counted are few.

    >>> low, high = chance_of_coverage(0.9, n_calibrated=1000, n_vertices=1000)
    >>> round(low, 2), 0.92 < high < 0.93
    (0.87, True)
    """
    from scipy.stats import betabinom

    missed = int(np.floor((1 - coverage) * (n_calibrated + 1) + 1e-9))
    if missed < 1:
        return 1.0, 1.0
    law = betabinom(n_vertices, n_calibrated + 1 - missed, missed)
    ends = law.ppf([(1 - level) / 2, (1 + level) / 2]) / n_vertices
    return float(ends[0]), float(ends[1])
