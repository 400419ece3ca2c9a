"""The rules that draw splits, against their own arithmetic."""

# Tests hand in what users do.
# pyright: reportArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from numpy.typing import NDArray

from graphfilter.splits import Split, fraction, per_class, stratified
from graphfilter.util.errors import GraphError

Draw = Callable[[NDArray[Any], int], Split]

RULES: dict[str, Draw] = {
    "stratified": stratified,
    "per_class": per_class,
    "fraction": lambda labels, seed: fraction(labels, seed, 0.1),
}

label_arrays = st.lists(st.integers(-1, 4), max_size=80).map(lambda y: np.array(y, dtype=np.int64))


def sizes(split: Split) -> list[int]:
    return [len(split.train), len(split.val), len(split.test)]


def parts(split: Split) -> list[list[int]]:
    return [split.train.tolist(), split.val.tolist(), split.test.tolist()]


@pytest.mark.parametrize("rule", RULES)
@given(labels=label_arrays, seed=st.integers(0, 2**32))
def test_split_rules_cover_the_labelled_vertices_once(
    rule: str, labels: NDArray[Any], seed: int
) -> None:
    split = RULES[rule](labels, seed)
    drawn = np.concatenate([split.train, split.val, split.test])
    np.testing.assert_array_equal(np.sort(drawn), np.flatnonzero(labels >= 0))


@pytest.mark.parametrize("rule", RULES)
def test_split_rules_follow_their_seed_alone(rule: str) -> None:
    labels = np.arange(200) % 5
    np.random.seed(1)  # noqa: NPY002 - the global state must not matter
    first = RULES[rule](labels, 3)
    np.random.seed(2)  # noqa: NPY002
    assert parts(first) == parts(RULES[rule](labels, 3))
    assert parts(first) != parts(RULES[rule](labels, 4))


@given(labels=label_arrays, shares=st.lists(st.integers(0, 20), min_size=3, max_size=3))
@example(np.zeros(36, dtype=np.int64), [17, 2, 1])  # remainders equal but for floating point
def test_stratified_shares_are_the_largest_remainders(
    labels: NDArray[Any], shares: list[int]
) -> None:
    """Hamilton's method in exact arithmetic; so each class is within 1 of its exact share.

    Unless that leaves validation or test less than half of its share, which is filled up.
    """
    whole = max(20, sum(shares))
    split = stratified(labels, 0, [share / whole for share in shares])
    n_known = int(np.count_nonzero(labels >= 0))
    every, wanted = np.zeros(3), [Fraction(share, whole) * n_known for share in shares]
    same = True
    for c in np.unique(labels[labels >= 0]):
        m = int(np.count_nonzero(labels == c))
        exact = [Fraction(share, whole) * m for share in shares]
        expected = [int(e) for e in exact]
        left = round(sum(exact)) - sum(expected)
        for i in sorted(range(3), key=lambda i: (expected[i] - exact[i], i))[:left]:
            expected[i] += 1
        got = [(labels[part] == c).tolist().count(True) for part in parts(split)]
        every += expected
        same = same and got == expected
        assert sum(got) == sum(expected)
        assert got[0] >= min(expected[0], 1)
    for part in (1, 2):
        if every[part] < wanted[part] / 2:
            assert sizes(split)[part] >= every[part]
            break
    else:
        assert same


@pytest.mark.parametrize(
    ("n_members", "expected"),
    [(1, [1, 0, 0]), (2, [1, 1, 0]), (3, [2, 1, 0]), (4, [2, 1, 1]), (5, [3, 1, 1])],
)
def test_stratified_learns_from_a_small_class_before_testing_on_it(
    n_members: int, expected: list[int]
) -> None:
    assert sizes(stratified(np.zeros(n_members, dtype=int), 0)) == expected


def test_stratified_leaves_out_what_the_fractions_leave_out() -> None:
    split = stratified(np.repeat([0, 1], 50), 0, (0.2, 0.1, 0.3))
    assert sizes(split) == [20, 10, 30]
    assert split.rule == "stratified 0.2/0.1/0.3"


@pytest.mark.parametrize("counts", [(40, 40, 40), (90, 20, 10), (101, 7, 1), (1, 1, 1)])
def test_per_class_counts_equal_gprgnn(counts: tuple[int, ...]) -> None:
    """GPR-GNN's ``random_planetoid_splits``: percls_trn of each class, then val_lb of the rest."""
    labels = np.repeat(np.arange(len(counts)), counts)
    n = len(labels)
    percls_trn = round(0.6 * n / len(counts))
    val_lb = round(0.2 * n)
    split = per_class(np.concatenate([labels, [-1, -1]]), 0)
    train = [min(percls_trn, m) for m in counts]
    assert np.bincount(labels[split.train], minlength=len(counts)).tolist() == train
    rest = n - sum(train)
    assert len(split.val) == min(val_lb, rest)
    assert len(split.test) == rest - len(split.val)


@pytest.mark.parametrize(("share", "expected"), [(0.1, [20, 40, 140]), (0.9, [180, 10, 10])])
def test_fraction_gives_validation_at_most_half_of_the_rest(
    share: float, expected: list[int]
) -> None:
    split = fraction(np.zeros(200, dtype=int), 0, share)
    assert sizes(split) == expected
    assert split.rule == f"fraction {share}"


@pytest.mark.parametrize(
    "fractions",
    [(0.5,), (0.5, 0.5), (0.25,) * 4, (0.6, 0.3, 0.2), (-0.1, 0.5, 0.5), (np.nan, 0.2, 0.2)],
)
def test_stratified_refuses_impossible_fractions(fractions: tuple[float, ...]) -> None:
    with pytest.raises(GraphError, match="split fractions must be"):
        stratified(np.zeros(9, dtype=int), 0, fractions)


@pytest.mark.parametrize("share", [-0.1, 1.5, np.nan])
def test_other_rules_refuse_impossible_fractions(share: float) -> None:
    with pytest.raises(GraphError, match="split fractions must be"):
        per_class(np.zeros(9, dtype=int), 0, share)
    with pytest.raises(GraphError, match="split fractions must be"):
        fraction(np.zeros(9, dtype=int), 0, share)


@pytest.mark.parametrize("labels", [["a", "b"], [0.0, 1.0], [[0, 1]]])
def test_rules_refuse_labels_that_are_not_class_numbers(labels: Any) -> None:
    for draw in RULES.values():
        with pytest.raises(GraphError, match="one integer per vertex"):
            draw(labels, 0)


def test_split_sorts_and_takes_masks() -> None:
    split = Split([4, 0], [False, True, False, False, False], np.empty(0))
    assert parts(split) == [[0, 4], [1], []]
    assert split.rule == "given"
    assert repr(split) == "Split(train=2, val=1, test=0, rule='given')"


def test_split_is_immutable_and_leaves_its_input_alone() -> None:
    train = np.array([2, 0])
    split = Split(train, [], [])
    assert train.tolist() == [2, 0]
    assert train.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        split.train[0] = 7
    with pytest.raises(AttributeError):
        split.rule = "other"  # pyright: ignore


@pytest.mark.parametrize(
    ("given_parts", "problem"),
    [
        (([0, 1], [1], []), "train and val share 1, the first of them vertex 1"),
        (([3], [], [3]), "train and test share 1"),
        (([], [5, 2], [2, 5]), "val and test share 2, the first of them vertex 2"),
        (([-1], [], []), "train vertices must not be negative"),
        (([1, 1], [], []), "once each; got one twice"),
        (([0.0], [], []), "vertex numbers, or a boolean mask"),
        (([[0]], [], []), "vertex numbers, or a boolean mask"),
    ],
)
def test_split_refuses_parts_that_are_no_split(given_parts: Any, problem: str) -> None:
    with pytest.raises(GraphError, match=problem):
        Split(*given_parts)


def test_stratified_on_texas_keeps_its_single_vertex_class_in_training(data_folder: Path) -> None:
    labels = np.load(data_folder / "texas.npz")["y"]
    rare = np.flatnonzero(np.bincount(labels) == 1)
    assert len(rare) == 1
    for seed in range(5):
        assert rare[0] in labels[stratified(labels, seed).train]


@pytest.mark.parametrize(
    ("fractions", "sizes"),
    [((0.75, 0.25, 0), (15, 5, 0)), ((0.6, 0.2, 0.2), (10, 6, 4)), ((0.8, 0, 0.2), (16, 0, 4))],
)
def test_small_classes_leave_validation_and_test_their_shares(
    fractions: tuple[float, ...], sizes: tuple[int, ...]
) -> None:
    """Two labels of each of ten classes: by class alone, parts would have none."""
    labels = np.repeat(np.arange(10), 2)
    split = stratified(labels, 0, fractions)
    assert (len(split.train), len(split.val), len(split.test)) == sizes
    assert set(labels[split.train]) == set(range(10))


def test_share_that_small_classes_hardly_change_is_left() -> None:
    """Half of the share is enough: splits of ordinary graphs are those of each class alone."""
    labels = np.repeat(np.arange(4), [2, 2, 2, 14])
    split = stratified(labels, 0, (0.75, 0.25, 0))
    assert (len(split.train), len(split.val)) == (17, 3)
