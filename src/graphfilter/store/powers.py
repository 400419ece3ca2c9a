"""Hops P^k X of every vertex, kept beside the arrays of a store and mapped from there.

``powers.bin`` holds the K + 1 hops of one vertex after another, so that some vertices are read in
one piece; ``powers.json`` is its header.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.runtime import blocks
from graphfilter.store.arrays import StoredArray, writing_array
from graphfilter.store.kept import Array, keep

POWERS_FILE, POWERS_ARRAY = "powers.json", "powers.bin"
# Smaller ones are made in less time than they are read and checked.
WORTH_KEEPING = 1 << 25
_PIECE_BYTES = 4 << 20

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Recipe:
    """What hops (n, K + 1, d) are made of, and how: a few columns, or vertices, at a time.

    Attributes
    ----------
    made_of : str
        A checksum of all that they depend on.
    shape : (int, int, int)
    rows : callable
        Gives X: the features of some vertices after another, from the first on.
    powers : callable
        From some columns of X (n, c) to those of P X, …, P^K X.
    columns : int
        How many columns it takes at a time.
    """

    made_of: str
    shape: Shape
    rows: Callable[[], Iterator[Array]]
    powers: Callable[[Array], Iterator[Array]]
    columns: int


def kept_powers(folder: Path, recipe: Recipe) -> Array | None:
    """Return the hops that a store keeps, mapped; made and written first where needed.

    Files that are damaged, or of something else, are replaced. None where they cannot be written.
    Both are logged.
    """
    n, n_parts, d = recipe.shape
    path, shapes = folder / POWERS_FILE, [(n, n_parts * d)]
    kept = keep(path, recipe.made_of, shapes, lambda: [_write(folder, recipe)], what="Hops")
    return None if kept is None else kept[0].reshape(recipe.shape)


def _write(folder: Path, recipe: Recipe) -> StoredArray:
    """Write hops by columns to a file without a name, and from there by vertices."""
    n, n_parts, d = recipe.shape
    with tempfile.TemporaryFile(dir=folder) as file:
        scratch = _Scratch(file, recipe)
        scratch.fill()
        with writing_array(folder / POWERS_ARRAY, "<f4", (n_parts * d,)) as writer:
            for at in blocks(n, _PIECE_BYTES // (4 * n_parts * max(d, 1))):
                rows = scratch.read(at.start, at.stop)
                writer.append(rows.reshape(len(rows), -1))
    return writer.result


class _Scratch:
    """A file of hops block by block of columns: of each the K + 1 hops, (n, c), one after another.

    It is written to, not mapped, so that a full disk is an error that can be caught.
    """

    def __init__(self, file: IO[bytes], recipe: Recipe) -> None:
        self._file, self._recipe = file, recipe
        d, width = recipe.shape[2], recipe.columns
        self._blocks = [(at, min(at + width, d)) for at in range(0, d, width)]

    def fill(self) -> None:
        """Write all hops: the features in one pass, then their powers by columns."""
        n, n_parts, d = self._recipe.shape
        self._file.truncate(4 * n * n_parts * d)
        first = 0
        for rows in self._recipe.rows():
            for block in self._blocks:
                self._write(block, 0, first, rows[:, slice(*block)])
            first += len(rows)
        for block in self._blocks:
            self._file.flush()
            for k, hop in enumerate(self._recipe.powers(self._map(block)[0]), 1):
                self._write(block, k, 0, hop)
        self._file.flush()

    def read(self, start: int, end: int) -> Array:
        """Return the hops of some vertices (m, K + 1, d)."""
        _, n_parts, d = self._recipe.shape
        rows = np.empty((end - start, n_parts, d), dtype=np.float32)
        for block in self._blocks:
            rows[:, :, slice(*block)] = self._map(block)[:, start:end].transpose(1, 0, 2)
        return rows

    def _write(self, block: tuple[int, int], k: int, first: int, values: Array) -> None:
        n, width = self._recipe.shape[0], block[1] - block[0]
        self._file.seek(self._start(block) + 4 * width * (k * n + first))
        self._file.write(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)

    def _map(self, block: tuple[int, int]) -> NDArray[Any]:
        n, n_parts, _ = self._recipe.shape
        shape = n_parts, n, block[1] - block[0]
        at = self._start(block)
        return np.memmap(self._file, dtype=np.float32, mode="r", offset=at, shape=shape)

    def _start(self, block: tuple[int, int]) -> int:
        n, n_parts, _ = self._recipe.shape
        return 4 * n * n_parts * block[0]
