"""Rows that go down trees, compiled and by numpy: the same leaves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from graphfilter.models import forest as tree_nodes
from graphfilter.models.forest import TREES
from graphfilter.operators.kernels import native_trees
from graphfilter.operators.kernels.native_kernel import native_library
from graphfilter.operators.kernels.native_trees import takes_trees, tree_leaves
from graphfilter.util.errors import GraphError

pytestmark = pytest.mark.skipif(native_library() is None, reason="the CPU kernel was not built")
N_COLUMNS = 4


def make_trees(n_trees: int, depth: int) -> dict[str, Tensor]:
    """Full trees of random questions, whose thresholds are values that rows have."""
    rng = np.random.default_rng(0)
    size, inner = 2 ** (depth + 1) - 1, 2**depth - 1
    own = np.tile(np.arange(size), n_trees)
    first = np.repeat(np.arange(n_trees) * size, size)
    made = {
        "roots": np.arange(n_trees) * size,
        "threshold": rng.integers(-2, 3, size * n_trees).astype(np.float64),
        "feature": rng.integers(0, N_COLUMNS, size * n_trees),
        "left": first + np.where(own < inner, 2 * own + 1, own),
        "right": first + np.where(own < inner, 2 * own + 2, own),
        "missing_left": rng.random(size * n_trees) < 0.5,
    }
    return {name: torch.from_numpy(made[name]).to(dtype) for name, dtype in TREES.items()}


def make_rows(n: int) -> Tensor:
    rng = np.random.default_rng(1)
    rows = rng.integers(-3, 4, (n, N_COLUMNS)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.3] = np.nan
    return torch.from_numpy(rows)


@pytest.mark.parametrize(("n", "n_trees", "depth"), [(1, 1, 0), (63, 3, 2), (200, 7, 5), (0, 2, 1)])
@pytest.mark.parametrize("threads", [1, 3])
def test_compiled_leaves_are_those_of_numpy(
    n: int, n_trees: int, depth: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees, rows = make_trees(n_trees, depth), make_rows(n)
    monkeypatch.setattr(native_trees, "threads_worth", lambda work: threads)
    assert takes_trees(rows)
    found = tree_leaves(trees, rows).numpy()
    monkeypatch.setattr(tree_nodes, "takes_trees", lambda columns: False)
    np.testing.assert_array_equal(found, tree_nodes._leaves(trees, rows.numpy()))


def test_compiled_leaves_take_single_precision_alone() -> None:
    assert not takes_trees(torch.zeros(1, N_COLUMNS, dtype=torch.float64))


def test_compiled_leaves_refuse_other_tensors() -> None:
    trees = make_trees(2, 2)
    with pytest.raises(GraphError, match="left must be a contiguous"):
        tree_leaves({**trees, "right": trees["right"][:-1], "left": trees["left"].int()},
                    make_rows(3))  # fmt: skip


def test_leaves_without_the_compiled_function_are_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a library that was built before the function was written."""
    monkeypatch.setattr(native_trees, "native_library", object)
    assert not takes_trees(make_rows(1))
