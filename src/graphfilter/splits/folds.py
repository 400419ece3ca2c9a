"""Folds: vertices divided so that each is held once from what is fitted to the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from graphfilter.splits.rules import Split

Index = NDArray[np.int64]

N_FOLDS = 5
# The fold of a vertex that is in none.
NO_FOLD = -1


@dataclass(frozen=True, eq=False)
class Folding:
    """The labelled vertices of a split in folds: each is held out once, and else learned from.

    Attributes
    ----------
    held : int8 array (n,)
        The fold of each training and validation vertex, -1 of the others.
    splits : tuple of Split
        One per fold, which is what it validates on.
    """

    held: NDArray[np.int8]
    splits: tuple[Split, ...]

    @classmethod
    def of(
        cls, split: Split, classes: NDArray[np.int64], kept: NDArray[np.int8] | None = None
    ) -> Self:
        """Divide training and validation vertices, each class evenly.

        The folds depend on the vertices and their classes (n,) alone. Those in ``kept`` (n,) stay
        in their fold.

        >>> split = Split(train=[0, 1, 2, 3, 4, 5], val=[6, 7, 8, 9], test=[10])
        >>> folding = Folding.of(split, np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0]))
        >>> [len(one.val) for one in folding.splits], int(folding.held[10])
        ([2, 2, 2, 2, 2], -1)
        """
        labelled = np.sort(np.concatenate([split.train, split.val]))
        held = np.full(len(classes), NO_FOLD, dtype=np.int8)
        if kept is not None:
            held[labelled] = kept[labelled]
        totals = np.bincount(held[held >= 0], minlength=N_FOLDS)
        rng = np.random.default_rng((len(labelled), 7))
        for one in np.unique(classes[labelled]):
            own = labelled[classes[labelled] == one]
            counts = np.bincount(held[own][held[own] >= 0], minlength=N_FOLDS)
            for vertex in rng.permutation(own[held[own] < 0]).tolist():
                fold = min(range(N_FOLDS), key=lambda f: (counts[f], totals[f]))
                held[vertex] = fold
                counts[fold] += 1
                totals[fold] += 1
        return cls.again(held, split)

    @classmethod
    def again(cls, held: NDArray[np.int8], split: Split) -> Self:
        """Return the folds that vertices (n,) of a split are in already."""
        splits = (
            Split(
                np.flatnonzero((held != NO_FOLD) & (held != fold)),
                np.flatnonzero(held == fold),
                split.test,
                rule=split.rule,
            )
            for fold in range(N_FOLDS)
        )
        return cls(held, tuple(splits))


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
