"""Hashes of text: a function of the text alone, and columns compared by them exactly."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from graphfilter.tables import cells as text_hashes
from graphfilter.tables.cells import all_differ, hash_text

LONG = ["c" * 512, "c" * 600, "c" * 599 + "d", "c" * 512 + "d", "c" * 513]
TEXTS = ["a", "a\0", "\0", "", "b" * 8, "b" * 9, "Zoë", "7", "007", " 7", *LONG]


def test_hash_of_a_text_does_not_depend_on_its_place():
    words = TEXTS
    whole = hash_text(pa.array(words))
    alone = [int(hash_text(pa.array([word]))[0]) for word in words]
    assert whole.tolist() == alone
    assert hash_text(pa.array(words).slice(3, 5)).tolist() == alone[3:8]
    assert hash_text(pa.array(words, pa.large_string())).tolist() == alone
    assert len(set(alone)) == len(words)


def test_hashes_of_ids_that_count_up_fill_all_places_evenly():
    hashes = hash_text(pa.array([f"user-{i:09d}" for i in range(1 << 14)]))
    for shift in (0, 32, 52):
        counts = np.bincount(hashes.astype(np.int64) >> shift & 4095, minlength=4096)
        # Independent throws of 4 on average: a variance of 4, give or take 3 %.
        assert counts.var() == pytest.approx(4, rel=0.15)


@pytest.mark.parametrize("collide", [False, True])
@settings(max_examples=15, deadline=None)
@given(parts=st.lists(st.lists(st.sampled_from("abcdefghijkl"), max_size=3), max_size=4))
def test_cells_all_differ_where_a_set_has_as_many(parts, collide):
    words = [word for part in parts for word in part]
    column = pa.chunked_array([pa.array(part, pa.string()) for part in parts], pa.string())
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(text_hashes, "hash_text", lambda text: np.zeros(len(text), np.uint64))
        assert all_differ(column) == (len(set(words)) == len(words))
