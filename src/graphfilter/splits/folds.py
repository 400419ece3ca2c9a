"""Folds: vertices divided so that each is held once from what is fitted to the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]

N_FOLDS = 5


def held_folds(vertices: Index, seed: int, n_folds: int = N_FOLDS) -> list[Index]:
    """Divide vertices at random into folds of nearly equal size, none of them empty.

    >>> [len(fold) for fold in held_folds(np.arange(12), seed=0)]
    [3, 3, 2, 2, 2]
    """
    drawn = vertices[np.random.default_rng((seed, 2)).permutation(len(vertices))]
    return [np.sort(part) for part in np.array_split(drawn, min(n_folds, len(drawn)) or 1)]


def set_aside(vertices: Index, share: float, seed: int) -> tuple[Index, Index]:
    """Divide vertices at random into those that remain and a share that is set aside.

    >>> [part.tolist() for part in set_aside(np.arange(5), 0.4, seed=0)]
    [[1, 2, 4], [0, 3]]
    """
    drawn = vertices[np.random.default_rng((seed, 3)).permutation(len(vertices))]
    n = round(share * len(vertices))
    return np.sort(drawn[n:]), np.sort(drawn[:n])
