"""Folding: every labelled vertex is held out once, each class evenly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from graphfilter.splits import (
    N_FOLDS,
    NO_FOLD,
    Folding,
    Split,
    by_group,
    by_time,
    few,
    fraction,
    per_class,
    stratified,
)


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


def test_vertices_stay_in_the_fold_that_they_had() -> None:
    classes = np.arange(80) % 2
    first = Folding.of(stratified(classes[:60], 0), classes[:60])
    kept = np.append(first.held, np.full(20, NO_FOLD, dtype=np.int8))
    grown = Folding.of(stratified(classes, 1), classes, kept)
    both = (kept != NO_FOLD) & (grown.held != NO_FOLD)
    assert both.sum() > 30
    np.testing.assert_array_equal(grown.held[both], kept[both])
    # New ones go where there are fewest.
    sizes = [len(one.val) for one in grown.splits]
    assert max(sizes) - min(sizes) <= 4


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


def test_new_vertices_go_where_their_class_is_rarest_however_many_others_are_there() -> None:
    kept = np.repeat(np.arange(N_FOLDS, dtype=np.int8), 4)
    classes = np.append((kept > 0).astype(np.int64), np.zeros(4, dtype=np.int64))
    split = Split(np.arange(20), np.arange(20, 24), [], rule="stratified")
    given = np.append(kept, np.full(4, NO_FOLD, dtype=np.int8))
    grown = Folding.of(split, classes, given)
    # Every fold has four vertices; the first alone has the class of the new ones.
    assert sorted(grown.held[20:].tolist()) == [1, 2, 3, 4]
