"""Rows of numbers on disk: written a block at a time, read where they are asked for."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Rows that are read at a time where single ones are asked for.
_AT_ONCE = 1 << 15


class RowsFile:
    """A matrix in a file of its own, which is not mapped: only what is asked for is in memory.

    Parameters
    ----------
    path : path
        A file that is made.

    Examples
    --------
    >>> import tempfile
    >>> rows = RowsFile(tempfile.mkdtemp() + "/rows")
    >>> rows.append(np.arange(6.0).reshape(3, 2))
    >>> rows[1:3].tolist(), rows[np.array([2, 0])].tolist(), len(rows)
    ([[2.0, 3.0], [4.0, 5.0]], [[4.0, 5.0], [0.0, 1.0]], 3)
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)
        self._path.touch()
        self._n, self._width = 0, 0

    def __len__(self) -> int:
        return self._n

    def append(self, block: NDArray[np.float64]) -> None:
        """Write rows after those that are there, of the same width."""
        if self._n and block.shape[1] != self._width:
            raise ValueError(f"rows must have {self._width} numbers; got {block.shape[1]}")
        self._width = block.shape[1]
        with self._path.open("ab") as stream:
            np.ascontiguousarray(block, dtype=np.float64).tofile(stream)
        self._n += len(block)

    def __getitem__(self, rows: slice | NDArray[Any]) -> NDArray[np.float64]:
        """Return rows: of a slice without steps, or with these numbers."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self._n)
            return self._read(start, stop)
        made = np.empty((len(rows), self._width))
        order = np.argsort(rows, kind="stable")
        numbers = np.asarray(rows)[order]
        for start in range(0, self._n, _AT_ONCE):
            first, last = np.searchsorted(numbers, [start, start + _AT_ONCE])
            if last > first:
                block = self._read(start, min(start + _AT_ONCE, self._n))
                made[order[first:last]] = block[numbers[first:last] - start]
        return made

    def _read(self, start: int, stop: int) -> NDArray[np.float64]:
        count = max(stop - start, 0) * self._width
        found = np.fromfile(self._path, np.float64, count, offset=8 * start * self._width)
        return found.reshape(-1, self._width)
