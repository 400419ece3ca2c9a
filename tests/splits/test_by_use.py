"""Splits by time and by group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from graphfilter.splits import by_group, by_time
from graphfilter.util.errors import GraphError


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
