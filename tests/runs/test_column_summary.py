"""Columns that moved are found, and those that did not raise no more alarms than promised."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from graphfilter.metrics import holm
from graphfilter.runs.drift import ColumnSummary


def draw(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return columns of every kind: numbers, rare and common words, counts, one value."""
    words = rng.random((n, 6)) < [0.01, 0.05, 0.2, 0.5, 0.9, 0.99]
    return np.column_stack([rng.normal(size=(n, 4)), words, rng.poisson(2, (n, 2)), np.zeros(n)])


def test_alarms_without_a_change_are_as_rare_as_promised() -> None:
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p_values = ColumnSummary.of(draw(rng, 200)).compare(draw(rng, 90)).p_values
        alarms += bool((holm(p_values.tolist()) <= 0.05).any())
    assert alarms <= 3


def test_p_values_are_valid_though_the_same_rows_chose_the_thresholds() -> None:
    values = np.arange(9.0)
    found = []
    for new in combinations(range(9), 4):
        old = np.setdiff1d(np.arange(9), new)
        moved = ColumnSummary.of(values[old, None]).compare(values[list(new), None])
        found.append(moved.p_values[0])
    every = np.array(found)
    for level in np.unique(every):
        assert (every <= level).mean() <= level + 1e-12


@pytest.mark.parametrize(
    ("column", "change"),
    [
        (1, lambda x: x + 1.0),
        (0, lambda x: 3 * x),
        (6, lambda x: np.maximum(x, np.arange(len(x)) % 2 == 0)),
        (12, lambda x: x + 5),
        (12, lambda x: x - 0.5),
    ],
    ids=["shifted", "wider", "word more often", "never so large", "never so small"],
)
def test_column_that_moved_is_found_and_no_other(column: int, change) -> None:
    rng = np.random.default_rng(0)
    summary, new = ColumnSummary.of(draw(rng, 400)), draw(rng, 300)
    new[:, column] = change(new[:, column])
    moved = summary.compare(new)
    assert np.flatnonzero(holm(moved.p_values.tolist()) <= 0.05).tolist() == [column]
    above = new[:, column] > moved.threshold[column]
    assert moved.now[column] == pytest.approx(above.mean())


def test_dependent_rows_count_less() -> None:
    rng = np.random.default_rng(0)
    summary, new = ColumnSummary.of(rng.normal(size=(300, 1))), rng.normal(0.4, size=(200, 1))
    alone, shared = (summary.compare(new, shared=k).p_values[0] for k in (1, 2))
    assert alone < shared


def test_sparse_columns_are_summarised_as_dense_ones() -> None:
    rng = np.random.default_rng(0)
    old, new = draw(rng, 50), draw(rng, 30)
    dense, sparse = ColumnSummary.of(old), ColumnSummary.of(sp.csr_array(old))
    np.testing.assert_array_equal(dense.thresholds, sparse.thresholds)
    np.testing.assert_array_equal(dense.counts, sparse.counts)
    first, second = dense.compare(new), sparse.compare(sp.csr_array(new))
    np.testing.assert_array_equal(first.p_values, second.p_values)
    again = ColumnSummary.from_arrays(**dense.to_arrays())
    np.testing.assert_array_equal(again.compare(new).p_values, first.p_values)


def test_nothing_to_compare_is_no_change() -> None:
    moved = ColumnSummary.of(np.ones((5, 2))).compare(np.ones((0, 2)))
    assert moved.p_values.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "change",
    [
        {"n": np.array([2])},
        {"counts": np.zeros((3, 11))},
        {"thresholds": np.full((3, 11), np.inf)},
        {"thresholds": np.zeros((2, 11))},
    ],
)
def test_damaged_summary_is_refused(change: dict[str, np.ndarray]) -> None:
    arrays = ColumnSummary.of(np.random.default_rng(0).normal(size=(9, 3))).to_arrays()
    with pytest.raises(ValueError, match=r"summary|thresholds"):
        ColumnSummary.from_arrays(**{**arrays, **change})
