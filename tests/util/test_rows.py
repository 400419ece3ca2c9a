"""Rows of numbers on disk: what is read is what was written, wherever it is asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from graphfilter.util.records import RowsFile


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    width=st.integers(1, 3),
    seed=st.integers(0, 100),
)
def test_rows_are_read_as_an_array_is(
    sizes: list[int], width: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = np.random.default_rng(seed)
    blocks = [rng.normal(size=(n, width)) for n in sizes]
    expected, rows = np.concatenate(blocks), RowsFile(tmp_path_factory.mktemp("rows") / "rows")
    for block in blocks:
        rows.append(block)
    assert len(rows) == len(expected)
    for part in (slice(None), slice(2, 5), slice(-3, None), slice(50, 60)):
        np.testing.assert_array_equal(rows[part], expected[part])
    if len(expected):
        some = rng.integers(len(expected), size=12)
        np.testing.assert_array_equal(rows[some], expected[some])


def test_rows_of_another_width_are_refused(tmp_path: Path) -> None:
    rows = RowsFile(tmp_path / "rows")
    rows.append(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="must have 3 numbers; got 2"):
        rows.append(np.zeros((2, 2)))
