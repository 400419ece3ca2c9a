"""Which labelled vertices are learned from, chosen on and tested on.

Every rule draws from an explicit seed and names itself in the :class:`Split`, because accuracies
under different rules are not comparable. Unlabelled vertices (label -1) are never drawn.

A random split flatters a model that will meet the future, or new customers, plants or households:
its test vertices resemble their neighbours in training more than those to come. :func:`by_time` and
:func:`by_group` mirror how a model will be used: on later vertices, or on groups it has never seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphfilter.util.errors import GraphError

__all__ = [
    "Split",
    "by_group",
    "by_time",
    "check_vertices",
    "few",
    "fraction",
    "per_class",
    "stratified",
]


def check_vertices(
    index: ArrayLike, n: int | None, what: str = "vertices", *, repeats: bool = False
) -> NDArray[np.int64]:
    """Return vertex numbers in the order given, or raise.

    Parameters
    ----------
    index : array
        Whole numbers from 0 to n - 1, or a boolean mask with one entry per vertex.
    n : int or None
        The number of vertices; None where it is not known yet, and then only the form is checked.
    what : str
        Their name in errors.
    repeats : bool
        Whether a vertex may be listed more than once.

    Examples
    --------
    >>> check_vertices([True, False, True], 3)
    array([0, 2])
    >>> check_vertices([0, 7], 3, "the test vertices")
    Traceback (most recent call last):
    graphfilter.util.errors.GraphError: the test vertices must lie in 0..2; got 0..7.
    """
    try:
        array: NDArray[Any] = np.asarray(index)
    except ValueError:
        raise GraphError(f"{what} must be one list; got rows of unequal length.") from None
    if n_masked := int(np.ma.count_masked(index)) if isinstance(index, np.ma.MaskedArray) else 0:
        raise GraphError(f"{what} must not be masked; {n_masked:,} are. Pass x.compressed().")
    if array.dtype == bool and array.ndim == 1:
        if n is not None and len(array) != n:
            raise GraphError(f"a mask of {what} must have {n} entries; got {len(array)}.")
        return np.flatnonzero(array)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise GraphError(
            f"{what} must be a list of vertex numbers, or a boolean mask with one entry per "
            f"vertex; got shape {array.shape} of {array.dtype}."
        )
    if array.size and (array.min() < 0 or (n is not None and array.max() >= n)):
        least = "not be negative" if n is None else f"lie in 0..{n - 1}"
        raise GraphError(f"{what} must {least}; got {array.min()}..{array.max()}.")
    if not repeats and len(np.unique(array)) != len(array):
        raise GraphError(f"{what} must be listed once each; got one twice. Pass np.unique of them.")
    return array.astype(np.int64)


Index = NDArray[np.int64]

# How the rules begin by which chance alone divides.
RANDOM = ("stratified", "fraction", "few", "per_class")


@dataclass(frozen=True, eq=False, init=False)
class Split:
    """Three disjoint sets of vertices, as sorted index arrays.

    Parameters
    ----------
    train, val, test : array of int
        Vertex indices. Boolean masks are taken too.
    rule : str
        The rule that drew it: the name to print with any number that comes from it.

    Attributes
    ----------
    is_random : bool
        Whether chance alone divided training and validation vertices, which may change places: not
        those that somebody gave, nor those divided by time or by group.

    Examples
    --------
    >>> import graphfilter as gf
    >>> split = gf.Split(train=[0, 1], val=[2], test=[3])
    >>> split.part_of(5).tolist()
    ['train', 'train', 'val', 'test', '']
    """

    train: Index
    val: Index
    test: Index
    rule: str
    # Not of ``__init__``, so that ``dataclasses.replace`` leaves it out.
    is_random: bool = field(init=False)

    def __init__(
        self, train: ArrayLike, val: ArrayLike, test: ArrayLike, *, rule: str = "given"
    ) -> None:
        for part, vertices in (("train", train), ("val", val), ("test", test)):
            index = np.sort(check_vertices(vertices, None, f"the split's {part} vertices"))
            index.flags.writeable = False
            object.__setattr__(self, part, index)
        object.__setattr__(self, "rule", rule)
        object.__setattr__(self, "is_random", rule.startswith(RANDOM))
        for a, b in (("train", "val"), ("train", "test"), ("val", "test")):
            shared = np.intersect1d(getattr(self, a), getattr(self, b))
            if len(shared):
                raise GraphError(
                    f"the parts of a split must be disjoint; {a} and {b} share {len(shared)}, the "
                    f"first of them vertex {shared[0]}."
                )

    def part_of(self, n_vertices: int) -> NDArray[np.str_]:
        """Name each vertex's part: train, val, test, or '' for none."""
        self.check(n_vertices)
        part = np.full(n_vertices, "", dtype="<U5")
        for name in ("train", "val", "test"):
            part[getattr(self, name)] = name
        return part

    def check(self, n_vertices: int) -> None:
        """Raise unless every index is a vertex of a graph of this size."""
        for name in ("train", "val", "test"):
            check_vertices(getattr(self, name), n_vertices, f"the split's {name} vertices")

    def __repr__(self) -> str:
        sizes = f"train={len(self.train)}, val={len(self.val)}, test={len(self.test)}"
        return f"Split({sizes}, rule={self.rule!r})"


def stratified(
    labels: ArrayLike | None, seed: int, fractions: Sequence[float] = (0.6, 0.2, 0.2)
) -> Split:
    """Draw the paper's split: each class divided train / val / test in these fractions.

    A class of m vertices gives ``floor(fraction * m)`` to each part and its remaining one or two
    vertices to the parts with the largest remainders, training first among equals. So a class too
    small to reach every part (Texas has a class of one) is learned from before it is tested on,
    and no class is an error. Where small classes leave validation or test less than half of its
    share, as of 20 labels of 10 classes, it is filled up; each class keeps a training vertex.

    Examples
    --------
    >>> import graphfilter as gf
    >>> labels = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    >>> split = gf.splits.stratified(labels, seed=0)
    >>> len(split.train), len(split.val), len(split.test), split.rule
    (6, 2, 2, 'stratified 0.6/0.2/0.2')
    """
    codes = as_labels(labels)
    shares = check_fractions(fractions)
    if len(shares) != 3:
        raise GraphError(f"split fractions must be three: train, val, test; got {len(shares)}.")
    rng = np.random.default_rng(seed)
    classes = _members(codes)
    exact = shares * np.array([len(members) for members in classes]).reshape(-1, 1)
    counts = np.floor(exact + 1e-9).astype(int)
    for sizes, wanted in zip(counts, exact, strict=True):
        # Rounded, so that floating point does not break ties: they go to training first.
        order = np.argsort(-np.round(wanted - sizes, 9), kind="stable")
        left = round(np.round(wanted.sum(), 9)) - sizes.sum()
        sizes[order[:left]] += 1
    _fill_up(counts, exact.sum(axis=0))
    parts = _divide(classes, np.cumsum(counts, axis=1), rng)
    return Split(*parts, rule=f"stratified {_in_words(fractions)}")


def _in_words(fractions: Sequence[float]) -> str:
    return "/".join(f"{share:g}" for share in fractions)


def _divide(classes: Sequence[Index], ends: Iterable[Any], rng: np.random.Generator) -> list[Index]:
    """Shuffle the members of each class, and cut them into three parts where it says."""
    cuts = zip(classes, ends, strict=True)
    chunks = [np.split(rng.permutation(members), at)[:3] for members, at in cuts]
    return [_join([of_class[part] for of_class in chunks]) for part in range(3)]


def _fill_up(counts: NDArray[np.int_], wanted: NDArray[np.float64]) -> None:
    """Move vertices of classes (rows) to validation and test where those have too few."""
    for part in (1, 2):
        if counts[:, part].sum() >= wanted[part] / 2:
            continue
        while counts[:, part].sum() < int(wanted[part] + 1e-9):
            spare = counts - [1, 0, 0]
            spare[:, counts.sum(axis=0) <= wanted] = 0
            giver, giving = np.unravel_index(np.argmax(spare), spare.shape)
            if spare[giver, giving] < 1:
                break
            counts[giver, giving] -= 1
            counts[giver, part] += 1


def per_class(
    labels: ArrayLike | None, seed: int, train_fraction: float = 0.6, val_fraction: float = 0.2
) -> Split:
    """Draw the split of GPR-GNN and later spectral papers: equal training counts per class.

    ``round(train_fraction * n / C)`` training vertices of *each* class, then
    ``round(val_fraction * n)`` of the rest for validation. Small classes are used up in training
    and vanish from validation and test, so numbers under this rule compare with stratified ones
    on balanced data only.

    Examples
    --------
    >>> import graphfilter as gf
    >>> labels = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    >>> split = gf.splits.per_class(labels, seed=0)
    >>> len(split.train), len(split.val), len(split.test), split.rule
    (6, 2, 2, 'per_class 0.6/0.2')
    """
    codes = as_labels(labels)
    check_fractions((train_fraction, val_fraction))
    rng = np.random.default_rng(seed)
    members = _members(codes)
    n = sum(map(len, members))
    each = round(train_fraction * n / len(members)) if members else 0
    shuffled = [rng.permutation(m) for m in members]
    train = _join([m[:each] for m in shuffled])
    rest = rng.permutation(_join([m[each:] for m in shuffled]))
    n_val = round(val_fraction * n)
    rule = f"per_class {train_fraction:g}/{val_fraction:g}"
    return Split(train, rest[:n_val], rest[n_val:], rule=rule)


def fraction(labels: ArrayLike | None, seed: int, train_fraction: float) -> Split:
    """Draw a stratified split with few training labels, for studies of label efficiency.

    Validation gets 0.2, or half of what is left where that is less; the rest is tested on.

    Examples
    --------
    >>> import graphfilter as gf
    >>> labels = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    >>> split = gf.splits.fraction(labels, seed=0, train_fraction=0.4)
    >>> len(split.train), len(split.val), len(split.test), split.rule
    (4, 2, 4, 'fraction 0.4')
    """
    val = min(0.2, (1 - train_fraction) / 2)
    drawn = stratified(labels, seed, (train_fraction, val, 1 - train_fraction - val))
    return Split(drawn.train, drawn.val, drawn.test, rule=f"fraction {train_fraction:g}")


def few(labels: ArrayLike | None, seed: int, share: float) -> Split:
    """Draw a split for studies of label efficiency: validation is as small as training.

    Of every class, ``share`` of its vertices are trained on, and as many (at most 0.2 of them)
    validated on; at least one each, where a class has them. The rest is tested on.

    Examples
    --------
    >>> import graphfilter as gf
    >>> labels = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    >>> split = gf.splits.few(labels, seed=0, share=0.4)
    >>> len(split.train), len(split.val), len(split.test), split.rule
    (4, 2, 4, 'few 0.4')
    """
    if not 0 < share <= 0.8:
        raise GraphError(f"the share of training vertices must be in (0, 0.8]; got {share:g}.")
    rng = np.random.default_rng(seed)
    classes = _members(as_labels(labels))
    ends = []
    for members in classes:
        n_train = max(1, round(share * len(members)))
        ends.append([n_train, n_train + max(1, round(min(share, 0.2) * len(members)))])
    return Split(*_divide(classes, ends, rng), rule=f"few {share:g}")


def as_labels(labels: ArrayLike | None) -> NDArray[np.int64]:
    """Check labels: one integer per vertex."""
    if labels is None:
        raise GraphError("a split is drawn from labels; got None, as for a graph without labels.")
    codes = np.asarray(labels)
    if codes.ndim != 1 or not np.issubdtype(codes.dtype, np.integer):
        raise GraphError("labels must be one integer per vertex, -1 for unlabelled.")
    return codes.astype(np.int64)


def _members(labels: NDArray[np.int64]) -> list[Index]:
    """List the vertices of each class that has any."""
    return [np.flatnonzero(labels == c) for c in np.unique(labels[labels >= 0])]


def _join(chunks: list[Index]) -> Index:
    return np.concatenate(chunks) if chunks else np.empty(0, dtype=np.int64)


def check_fractions(fractions: Sequence[float]) -> NDArray[np.float64]:
    """Check the shares of a split's parts."""
    shares = np.asarray(fractions, dtype=float)
    if not ((shares >= 0).all() and shares.sum() <= 1 + 1e-9):  # NaN fails too
        raise GraphError(
            f"split fractions must be non-negative and sum to at most 1; got {tuple(fractions)}."
        )
    return shares


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
    rule = f"by time {_in_words(fractions)}"
    return Split(order[:first], order[first:second], order[second:], rule=rule)


def by_group(
    labels: ArrayLike | None, groups: ArrayLike, seed: int, fractions: Sequence[float] = FRACTIONS
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
    codes, group_of = as_labels(labels), _one_per_vertex(groups, labels, "groups")
    shares = _three(fractions)
    labelled = np.flatnonzero(codes >= 0)
    numbers = group_of[labelled].astype(np.int64)
    alone = numbers < 0
    numbers[alone] = numbers.max(initial=-1) + 1 + np.arange(alone.sum())
    names, member = np.unique(numbers, return_inverse=True)
    if len(names) < 3:
        raise GraphError(
            f"a split by group needs three groups with labelled vertices; got {len(names)}."
        )
    n_classes = int(codes.max(initial=0)) + 1
    counts = np.zeros((len(names), n_classes))
    np.add.at(counts, (member, codes[labelled]), 1)
    part = _assign(counts, shares, np.random.default_rng(seed))[member]
    rule = f"by group {_in_words(fractions)}"
    return Split(*(labelled[part == i] for i in range(3)), rule=rule)


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


def set_aside(vertices: Index, share: float, seed: int) -> tuple[Index, Index]:
    """Divide vertices at random into those that remain and a share that is set aside.

    >>> [part.tolist() for part in set_aside(np.arange(5), 0.4, seed=0)]
    [[1, 2, 4], [0, 3]]
    """
    drawn = vertices[np.random.default_rng((seed, 3)).permutation(len(vertices))]
    n = round(share * len(vertices))
    return np.sort(drawn[n:]), np.sort(drawn[:n])
