"""Folds: the vertices that calibrate, divided so that none judges a pool that has seen it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import ConfigError, check_number

Index = NDArray[np.int64]

N_FOLDS = 5


def held_folds(vertices: Index, seed: int, n_folds: int = N_FOLDS) -> list[Index]:
    """Divide vertices at random into folds of nearly equal size, none of them empty.

    >>> [len(fold) for fold in held_folds(np.arange(12), seed=0)]
    [3, 3, 2, 2, 2]
    """
    drawn = np.random.default_rng((seed, 2)).permutation(vertices)
    return [np.sort(part) for part in np.array_split(drawn, min(n_folds, len(drawn)) or 1)]


def check_coverage(coverage: float) -> float:
    """Return a coverage if it is a number between 0 and 1; otherwise raise.

    >>> check_coverage(0.9)
    0.9
    """
    if not 0 < check_number("coverage", coverage) < 1:
        raise ConfigError(f"coverage must be between 0 and 1; got {coverage}. Usual are .8 to .95.")
    return float(coverage)


def fewest_for(coverage: float) -> int:
    """Return how many vertices must calibrate for a coverage; with fewer everything is allowed.

    >>> fewest_for(0.9), fewest_for(0.95)
    (9, 19)
    """
    return int(np.ceil(coverage / (1 - coverage) - 1e-9))
