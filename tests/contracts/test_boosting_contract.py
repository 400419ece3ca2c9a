"""Boosted trees that grow in compiled code: those of scikit-learn, whatever the threads."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from graphfilter.models import Trees, TreesConfig, trees as module
from graphfilter.operators.kernels import native_boosting
from graphfilter.operators.kernels.native_boosting import MISSING, TreeGrower, takes_boosting

pytestmark = pytest.mark.skipif(not takes_boosting(), reason="the CPU kernel was not built")
STRUCTURE = ("roots", "feature", "left", "right", "missing_left", "outputs")


def make_rows(n: int, d: int, gaps: float = 0.0) -> NDArray[np.float32]:
    """Columns of many values and of few, whose cuts gain the same now and then."""
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, d)).astype(np.float32)
    rows[:, ::3] = np.round(rows[:, ::3])
    rows[rng.random((n, d)) < gaps] = np.nan
    return rows


def classes_of(rows: NDArray[np.float32], n_classes: int) -> NDArray[np.int64]:
    first = np.nan_to_num(rows).sum(axis=1)
    return np.digitize(first, np.quantile(first, np.arange(1, n_classes) / n_classes))


ROWS, GAPS = make_rows(700, 13), make_rows(700, 10, gaps=0.2)
CASES = {
    "classes": (ROWS, classes_of(ROWS, 3)),
    "two classes": (ROWS, classes_of(ROWS, 2)),
    "missing values": (GAPS, classes_of(GAPS, 3)),
    "more classes than grow at once": (GAPS, classes_of(GAPS, 20)),
    "too few rows to split": (ROWS[:30], classes_of(ROWS[:30], 2)),
    "one column": (ROWS[:, :1], classes_of(ROWS, 3)),
    "labels": (GAPS, np.stack([classes_of(GAPS, 2) > 0, classes_of(GAPS, 3) > 1], axis=1)),
    "numbers": (GAPS, np.nan_to_num(GAPS[:, :2]).astype(np.float64) ** 2),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_compiled_trees_are_those_of_scikit_learn(
    case: str, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, targets = CASES[case]
    n_classes = int(targets.max()) + 1 if targets.ndim == 1 else targets.shape[1]
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(rows)) if weighted else None
    states = []
    for compiled in (True, False):
        monkeypatch.setattr(module, "takes_boosting", lambda compiled=compiled: compiled)
        grown = Trees(rows.shape[1], n_classes, TreesConfig(n_rounds=12))
        grown.fit(rows, targets, sample_weight=weight, seed=3)
        states.append(grown.state_dict())
    ours, theirs = states
    for name in STRUCTURE:
        assert torch.equal(ours[name], theirs[name]), name
    for name in ("threshold", "value", "start"):
        torch.testing.assert_close(ours[name], theirs[name], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("most_bytes", [1, 2**28])
def test_trees_do_not_depend_on_threads_nor_on_how_many_grow_at_once(
    most_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    binned = np.asfortranarray(rng.integers(0, 9, (500, 21)).astype(np.uint8))
    binned[:50, 2] = MISSING
    found = []
    for n_threads, limit in ((1, 2**28), (3, most_bytes)):
        monkeypatch.setattr(native_boosting, "threads_worth", lambda _, n=n_threads: n)
        monkeypatch.setattr(native_boosting, "MOST_BYTES", limit)
        gradients = torch.randn(5, 500, generator=torch.Generator().manual_seed(0))
        raw = torch.zeros(5, 500, dtype=torch.float64)
        grower = TreeGrower(binned, np.full(21, 9), l2=1.0, step=0.1)
        grown = grower.grow(gradients, torch.ones(5, 500), raw)
        found.append((raw, grown))
    (raw, grown), (other_raw, other) = found
    assert torch.equal(raw, other_raw)
    np.testing.assert_array_equal(grown.sizes, other.sizes)
    for t, size in enumerate(grown.sizes):
        assert size > 1
        np.testing.assert_array_equal(grown.nodes[t, :size], other.nodes[t, :size])
        np.testing.assert_array_equal(grown.values[t, :size], other.values[t, :size])
