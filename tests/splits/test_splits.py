"""Which vertices are learned from, chosen on and tested on; and folds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.splits import (
    Split,
    by_group,
    by_time,
    check_vertices,
    few,
    fraction,
    per_class,
    stratified,
)
from graphfilter.systems.prepared import N_FOLDS, NO_FOLD, Folding
from graphfilter.util.errors import GraphError

# Tests hand in what users do.
# pyright: reportArgumentType=false


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


def test_split_by_time_trains_on_the_past_and_tests_on_the_latest() -> None:
    rng = np.random.default_rng(0)
    times = rng.permutation(100).astype(float)
    labels = rng.integers(0, 2, 100)
    labels[:10] = -1
    split = by_time(labels, times)
    assert times[split.train].max() < times[split.val].min()
    assert times[split.val].max() < times[split.test].min()
    assert [len(split.train), len(split.val), len(split.test)] == [54, 18, 18]
    assert (labels[np.concatenate([split.train, split.val, split.test])] >= 0).all()
    assert split.rule == "by time 0.6/0.2/0.2"


@given(st.lists(st.integers(0, 6), min_size=3, max_size=60))
def test_split_by_time_keeps_a_moment_together(times: list[int]) -> None:
    labels = np.zeros(len(times), dtype=int)
    if len(set(times)) < 3:
        with pytest.raises(GraphError, match="three different times"):
            by_time(labels, times)
        return
    split = by_time(labels, times)
    parts = [set(np.asarray(times)[part]) for part in (split.train, split.val, split.test)]
    assert all(parts)
    assert max(parts[0]) < min(parts[1])
    assert max(parts[1]) < min(parts[2])


def test_vertices_without_a_time_are_in_no_part() -> None:
    times = np.array([1.0, 2, 3, 4, 5, np.nan])
    split = by_time(np.zeros(6, int), times)
    assert 5 not in np.concatenate([split.train, split.val, split.test])


@given(st.lists(st.integers(-1, 9), min_size=12, max_size=80), st.integers(0, 5))
def test_no_group_is_in_two_parts(groups: list[int], seed: int) -> None:
    labels = np.arange(len(groups)) % 3
    n_groups = len({g for g in groups if g >= 0}) + groups.count(-1)
    if n_groups < 3:
        with pytest.raises(GraphError, match="three groups"):
            by_group(labels, groups, seed)
        return
    split = by_group(labels, groups, seed)
    part = split.part_of(len(groups))
    assert (part != "").all()
    assert set(part) == {"train", "val", "test"}
    for group in {g for g in groups if g >= 0}:
        assert len(set(part[np.asarray(groups) == group])) == 1


def test_split_by_many_groups_has_the_shares_of_every_class() -> None:
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 400, 4000)
    labels = (rng.random(4000) < 0.1).astype(int)
    split = by_group(labels, groups, seed=3)
    for c in (0, 1):
        total = (labels == c).sum()
        shares = [(labels[p] == c).sum() / total for p in (split.train, split.val, split.test)]
        np.testing.assert_allclose(shares, (0.6, 0.2, 0.2), atol=0.02)
    again = by_group(labels, groups, seed=3)
    np.testing.assert_array_equal(split.train, again.train)
    assert not np.array_equal(split.train, by_group(labels, groups, seed=4).train)


def test_wrong_times_and_shares_are_said() -> None:
    with pytest.raises(GraphError, match="one number per vertex"):
        by_time([0, 1, 0], [1.0, 2.0])
    with pytest.raises(GraphError, match="one number per vertex"):
        by_group([0, 1, 0], ["a", "b", "c"], 0)
    with pytest.raises(GraphError, match="three above 0"):
        by_time([0, 1, 0], [1, 2, 3], (0.8, 0.2, 0))


def test_split_by_time_cuts_a_second_time_after_the_first() -> None:
    """Most vertices are of the first moment, so both cuts would like to be at its end."""
    split = by_time(np.zeros(10, int), [0.0] * 8 + [1.0, 2.0])
    assert [len(split.train), len(split.val), len(split.test)] == [8, 1, 1]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-1, 3), min_size=12, max_size=90), st.integers(0, 5))
def test_every_labelled_vertex_is_held_out_once_and_no_other_is(
    labels: list[int], seed: int
) -> None:
    classes = np.array(labels)
    if (classes >= 0).sum() < 6:
        return
    split = stratified(classes, seed)
    folding = Folding.of(split, classes)
    labelled = np.sort(np.concatenate([split.train, split.val]))
    assert len(folding.splits) == N_FOLDS
    np.testing.assert_array_equal(np.flatnonzero(folding.held != NO_FOLD), labelled)
    for fold, one in enumerate(folding.splits):
        np.testing.assert_array_equal(one.val, np.flatnonzero(folding.held == fold))
        np.testing.assert_array_equal(np.union1d(one.train, one.val), labelled)
        np.testing.assert_array_equal(one.test, split.test)
        assert one.rule == split.rule
    for own in np.unique(classes[labelled]):
        sizes = np.bincount(folding.held[labelled[classes[labelled] == own]], minlength=N_FOLDS)
        assert sizes.max() - sizes.min() <= 1
    totals = np.bincount(folding.held[labelled], minlength=N_FOLDS)
    assert totals.max() - totals.min() <= len(np.unique(classes[labelled]))


def test_folds_depend_on_the_vertices_and_classes_alone() -> None:
    classes = np.arange(60) % 3
    split = stratified(classes, 0)
    again = Split(split.val, split.train, split.test, rule="stratified, other way round")
    one, other = (Folding.of(each, classes).held for each in (split, again))
    np.testing.assert_array_equal(one, other)


def test_only_rules_that_draw_at_random_may_change_places() -> None:
    labels = np.arange(60) % 2
    for split in (stratified(labels, 0), few(labels, 0, 0.2), fraction(labels, 0, 0.5)):
        assert split.is_random
    assert per_class(labels, 0).is_random
    for split in (by_time(labels, np.arange(60)), by_group(labels, np.arange(60) // 5, 0)):
        assert not split.is_random
    assert not Split([0], [1], [2]).is_random


@pytest.mark.parametrize("rule", ["given; validation drawn from train", "public", "fixed"])
def test_parts_that_somebody_gave_stay(rule: str) -> None:
    assert not Split([0], [1], [2], rule=rule).is_random


PATH = [[0, 1], [1, 2]]


def test_check_vertices_takes_numbers_in_order_and_masks() -> None:
    assert check_vertices([3, 0], 4).tolist() == [3, 0]
    assert check_vertices([True, False, False, True], 4).tolist() == [0, 3]
    assert check_vertices(np.array([3], dtype=np.uint8), 4).dtype == np.int64
    assert check_vertices([], 4).tolist() == []
    assert check_vertices([2, 2], 3, repeats=True).tolist() == [2, 2]


def test_check_vertices_of_an_unknown_graph_takes_any_number_from_zero() -> None:
    assert check_vertices([10**9], None).tolist() == [10**9]
    with pytest.raises(GraphError, match="not be negative; got -1"):
        check_vertices([-1], None)


@pytest.mark.parametrize(
    ("index", "problem"),
    [
        ([0.0, 1.0], "must be a list of vertex numbers"),
        ([[0, 1]], r"shape \(1, 2\)"),
        ([[0], [0, 1]], "unequal length"),
        ("ab", "must be a list of vertex numbers"),
        ([True, False], r"must have 3 entries; got 2"),
        ([-1, 0], r"0\.\.2; got -1\.\.0"),
        ([0, 3], r"0\.\.2; got 0\.\.3"),
        ([1, 1], "once each"),
    ],
)
def test_check_vertices_refuses_what_is_no_choice_of_vertices(index: object, problem: str) -> None:
    with pytest.raises(GraphError, match=problem):
        check_vertices(index, 3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(GraphError, match=problem):
        Graph.from_edges(PATH).subgraph(index)  # pyright: ignore[reportArgumentType]


def test_subgraph_of_no_vertices_is_refused() -> None:
    with pytest.raises(GraphError, match="at least one"):
        Graph.from_edges(PATH).subgraph([False, False, False])


def test_split_names_the_part_that_is_wrong() -> None:
    with pytest.raises(GraphError, match=r"the split's val vertices must lie in 0\.\.2; got 7"):
        Split([0], [7], [1]).check(3)  # pyright: ignore[reportArgumentType]
