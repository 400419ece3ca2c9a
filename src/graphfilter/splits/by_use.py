"""Splits that mirror how a model will be used: on later vertices, or on groups it has never seen.

A random split flatters a model that will meet the future, or new customers, plants or households:
its test vertices resemble their neighbours in training more than those to come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphfilter.errors import GraphError
from graphfilter.splits.rules import Split, as_labels, check_fractions

FRACTIONS = (0.6, 0.2, 0.2)


def by_time(
    labels: ArrayLike | None, times: ArrayLike, fractions: Sequence[float] = FRACTIONS
) -> Split:
    """Train on the earliest labelled vertices, validate on the next and test on the latest.

    Vertices of one moment stay together: each cut moves to the nearest change of time. Vertices
    without a time (NaN) are in no part.

    Parameters
    ----------
    labels : int array (n,)
        -1 for unlabelled.
    times : float array (n,)
        Any numbers that grow with time; NaN where unknown.

    Examples
    --------
    >>> by_time([0, 1, 0, 1, 0], [2020, 2021, 2022, 2023, 2024])
    Split(train=3, val=1, test=1, rule='by time 0.6/0.2/0.2')
    """
    codes, moments = as_labels(labels), _one_per_vertex(times, labels, "times")
    moments = moments.astype(np.float64)
    shares = _three(fractions)
    usable = np.flatnonzero((codes >= 0) & np.isfinite(moments))
    order = usable[np.argsort(moments[usable], kind="stable")]
    changes = np.flatnonzero(np.diff(moments[order])) + 1
    if len(changes) < 2:
        raise GraphError(
            "a split by time needs three different times among the labelled vertices; got "
            f"{len(np.unique(moments[usable]))}. Name a column with more of them."
        )
    wanted = np.cumsum(shares)[:2] / shares.sum() * len(order)
    first = _nearest(changes[:-1], wanted[0])
    second = _nearest(changes[changes > first], wanted[1])
    name = "/".join(f"{f:g}" for f in fractions)
    return Split(order[:first], order[first:second], order[second:], rule=f"by time {name}")


def by_group(
    labels: ArrayLike | None,
    groups: ArrayLike,
    seed: int,
    fractions: Sequence[float] = FRACTIONS,
) -> Split:
    """Draw a split in which no group is in two parts, the classes as even as that allows.

    Groups come in random order, and each goes to the part that is then nearest to its share of
    every class.

    Parameters
    ----------
    labels : int array (n,)
        -1 for unlabelled.
    groups : int array (n,)
        The number of each vertex's group; a vertex with a negative one is a group of its own.

    Examples
    --------
    >>> split = by_group([0, 1, 0, 1, 0, 1], [7, 7, 8, 8, 9, 9], seed=0)
    >>> len(split.train), len(split.val), len(split.test)
    (2, 2, 2)
    """
    codes, given = as_labels(labels), _one_per_vertex(groups, labels, "groups")
    shares = _three(fractions)
    known = np.flatnonzero(codes >= 0)
    numbers = given[known].astype(np.int64)
    alone = numbers < 0
    numbers[alone] = numbers.max(initial=-1) + 1 + np.arange(alone.sum())
    names, member = np.unique(numbers, return_inverse=True)
    if len(names) < 3:
        raise GraphError(
            f"a split by group needs three groups with labelled vertices; got {len(names)}."
        )
    n_classes = int(codes.max(initial=0)) + 1
    counts = np.zeros((len(names), n_classes))
    np.add.at(counts, (member, codes[known]), 1)
    part = _assign(counts, shares, np.random.default_rng(seed))[member]
    name = "/".join(f"{f:g}" for f in fractions)
    return Split(*(known[part == i] for i in range(3)), rule=f"by group {name}")


def _assign(
    counts: NDArray[np.float64], shares: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Give each group, counted by class, a part; every part gets at least one."""
    # Small classes count as much as large ones.
    scale = 1 / np.maximum(counts.sum(axis=0), 1)
    left = shares[:, None] * (counts.sum(axis=0) * scale) / shares.sum()
    part = np.zeros(len(counts), dtype=np.int64)
    empty = [0, 1, 2]
    for n_done, group in enumerate(rng.permutation(len(counts)).tolist()):
        size = counts[group] * scale
        # How much nearer to its target each part comes: |left|² - |left - size|².
        gain = 2 * left @ size - size @ size
        open_to = empty if len(counts) - n_done <= len(empty) else [0, 1, 2]
        chosen = max(open_to, key=gain.__getitem__)
        part[group] = chosen
        left[chosen] -= size
        if chosen in empty:
            empty.remove(chosen)
    return part


def _nearest(changes: NDArray[np.int64], wanted: float) -> int:
    return int(changes[np.abs(changes - wanted).argmin()])


def _three(fractions: Sequence[float]) -> NDArray[np.float64]:
    shares = check_fractions(fractions)
    if len(shares) != 3 or not (shares > 0).all():
        raise GraphError(
            f"split fractions must be three above 0: train, val, test; got {tuple(fractions)}."
        )
    return shares


def _one_per_vertex(values: ArrayLike, labels: ArrayLike | None, what: str) -> NDArray[Any]:
    array = np.asarray(values)
    n = len(np.asarray(labels))
    if array.shape != (n,) or array.dtype.kind not in "iuf":
        raise GraphError(
            f"{what} must be one number per vertex ({n}); got shape {array.shape} of {array.dtype}."
        )
    return array
