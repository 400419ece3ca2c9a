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
