"""Boosted trees that grow on a CPU, by the compiled code of ``native.c``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.operators.kernels.native_kernel import native_library
from graphfilter.operators.kernels.native_layers import check_tensor
from graphfilter.util.machine import threads_worth

# As native_boosting.h has them: leaves of a tree, trees that grow at once, columns of a chunk, and
# the bin of missing values.
MOST_LEAVES, MOST_TREES, BLOCK, MISSING = 31, 16, 8, 255
MOST_NODES = 2 * MOST_LEAVES - 1
# Bytes of a bin of a column, and of the best cut of some columns.
BIN_BYTES, CUT_BYTES = 24, 48
# Multiplications of a sparse product that take the time of a cell in a typical split.
PER_CELL = 8
# The most bytes in which trees grow at once, where there are several.
MOST_BYTES = 2**28


def takes_boosting() -> bool:
    """Return whether trees can be grown here; scikit-learn grows the same ones otherwise."""
    return hasattr(native_library(), "graphfilter_grow")


@dataclass(frozen=True, eq=False)
class Grown:
    """The trees of one round.

    Attributes
    ----------
    nodes : int64 array (n_trees, n_nodes, 5)
        Column, bin, left and right child (-1 of a leaf), and whether missing values go left.
    values : array (n_trees, n_nodes)
        What a leaf adds.
    sizes : int64 array (n_trees,)
        How many nodes each tree has.
    """

    nodes: NDArray[np.int64]
    values: NDArray[np.float64]
    sizes: NDArray[np.int64]


class TreeGrower:
    """Grows trees on columns that are in bins, as scikit-learn's HistGradientBoosting does.

    Parameters
    ----------
    binned : uint8 array (n, d), in Fortran's order
        The bin of every cell; ``MISSING`` where there is no value.
    n_bins : array (d,)
        Bins of each column, without that of missing values.
    l2, step : float
    """

    def __init__(
        self, binned: NDArray[np.uint8], n_bins: NDArray[np.integer], l2: float, step: float
    ) -> None:
        self._binned = torch.from_numpy(np.ascontiguousarray(binned.T))
        (self._d, self._n), self._l2, self._step = self._binned.shape, l2, step
        self._has_missing = (self._binned == MISSING).any(dim=1).to(torch.uint8)
        self._ends = torch.from_numpy(np.cumsum(n_bins, dtype=np.int64))
        per_tree = MOST_LEAVES * int(self._ends[-1]) * BIN_BYTES
        self._at_once = max(1, min(MOST_TREES, MOST_BYTES // per_tree))
        self._rooms: list[Tensor] = []

    def grow(self, gradients: Tensor, hessians: Tensor, raw: Tensor) -> Grown:
        """Grow one tree per row of gradients and hessians, and add its answers to ``raw``.

        Shapes
        ------
        gradients, hessians : float32 (n_trees, n);  raw : float64 (n_trees, n)
        """
        shape = (len(raw), self._n)
        for name, tensor in (("gradients", gradients), ("hessians", hessians)):
            check_tensor(name, tensor, shape)
        check_tensor("raw", raw, shape, torch.float64)
        # In the order in which numpy adds up a histogram, of whichever column.
        column = self._binned[0].numpy()
        sums = np.array(
            [
                [np.bincount(column, part.double().numpy(), 256).sum() for part in parts]
                for parts in zip(gradients, hessians, strict=True)
            ]
        )
        nodes = np.empty((len(raw), MOST_NODES, 5), dtype=np.int64)
        values, sizes = np.empty((len(raw), MOST_NODES)), np.empty(len(raw), dtype=np.int64)
        library, rooms = native_library(), self._take_rooms(min(self._at_once, len(raw)))
        assert library is not None
        for first in range(0, len(raw), self._at_once):
            some = slice(first, first + self._at_once)
            library.graphfilter_grow(
                self._n, self._d, len(raw[some]), self._binned.data_ptr(),
                self._has_missing.data_ptr(), self._ends.data_ptr(), gradients[some].data_ptr(),
                hessians[some].data_ptr(), sums[some].ctypes.data, self._l2, self._step,
                raw[some].data_ptr(), *(room.data_ptr() for room in rooms),
                nodes[some].ctypes.data, values[some].ctypes.data, sizes[some].ctypes.data,
                threads_worth(PER_CELL * self._n * self._d * len(raw[some])),
            )  # fmt: skip
        return Grown(nodes, values, sizes)

    def _take_rooms(self, n_trees: int) -> list[Tensor]:
        """Return the memory that trees grow in: histograms, rows, their gradients, and cuts."""
        if not self._rooms:
            sizes = (
                MOST_LEAVES * int(self._ends[-1]) * BIN_BYTES,
                2 * self._n * 4,
                self._n * 16,
                2 * -(-self._d // BLOCK) * CUT_BYTES,
            )
            self._rooms = [torch.empty(n_trees * size, dtype=torch.uint8) for size in sizes]
        return self._rooms
