"""Rows that go down decision trees on a CPU, by the compiled code of ``native.c``."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from graphfilter.operators.kernels.native_kernel import native_library
from graphfilter.operators.kernels.native_layers import check_tensor
from graphfilter.util.machine import threads_worth

# Multiplications of a sparse product that take the time of one row down one tree.
PER_TREE = 100

_NODES = {
    "threshold": torch.float64,
    "feature": torch.int64,
    "left": torch.int64,
    "right": torch.int64,
    "missing_left": torch.bool,
}


def takes_trees(columns: Tensor) -> bool:
    """Return whether :func:`tree_leaves` takes these columns; numpy does the same otherwise."""
    library = native_library()
    return hasattr(library, "graphfilter_leaves") and columns.dtype == torch.float32


def tree_leaves(trees: Mapping[str, Tensor], columns: Tensor) -> Tensor:
    """Return the node of each tree at which each row ends.

    The trees have passed :meth:`~graphfilter.models.forest.TreeNodes.check_state`, or were just
    grown: every path ends, and no node asks for a column that is not there.

    Shapes
    ------
    columns : float32 (n, d);  roots : int64 (n_trees,);  of each node : (n_nodes,)
    output : int64 (n, n_trees)
    """
    library = native_library()
    assert library is not None
    roots, shape = trees["roots"], trees["left"].shape
    check_tensor("columns", columns, tuple(columns.shape))
    check_tensor("roots", roots, tuple(roots.shape), torch.int64)
    for name, dtype in _NODES.items():
        check_tensor(name, trees[name], tuple(shape), dtype)
    (n, width), n_trees = columns.shape, len(roots)
    leaves = torch.empty(n, n_trees, dtype=torch.int64, device="cpu")
    library.graphfilter_leaves(
        n, width, n_trees, columns.data_ptr(), roots.data_ptr(),
        *(trees[name].data_ptr() for name in _NODES), leaves.data_ptr(),
        threads_worth(n * n_trees * PER_TREE),
    )  # fmt: skip
    return leaves
