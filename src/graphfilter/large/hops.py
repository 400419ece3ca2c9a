"""Arrays that are made of a graph, kept beside the arrays of its store.

A header says what they were made of and holds the checksum of every file; it is written last.

Averages of features over neighbours, over theirs, …, kept beside the arrays of a store.

They are made when they are first needed, and read by whoever needs the same again: the next fit,
prediction, a report. What is kept has the bits of what would be made; ``hops.json`` is its header.

Hops P^k X of every vertex, kept beside the arrays of a store and mapped from there.

``powers.bin`` holds the K + 1 hops of one vertex after another, so that some vertices are read in
one piece; ``powers.json`` is its header.
"""

from __future__ import annotations

import hashlib
import logging
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.data.store import (
    STRUCTURE,
    StoredArray,
    check_values,
    map_array,
    read_header,
    store_of,
    verify_array,
    write_array,
    writing_array,
)
from graphfilter.models.views import average_hops
from graphfilter.util.errors import DataFileError, ModelFileError
from graphfilter.util.machine import blocks
from graphfilter.util.records import convert, read_checked_json, write_checked_json

Array = NDArray[np.float32]
_log_warning = logging.getLogger("graphfilter").warning


@dataclass(frozen=True)
class KeptArrays:
    """What a header holds: the checksum of what the arrays were made of, and the arrays."""

    made_of: str = ""
    arrays: list[StoredArray] = field(default_factory=list)


def keep(
    path: Path,
    made_of: str,
    shapes: Sequence[tuple[int, ...]],
    write: Callable[[], list[StoredArray]],
    *,
    what: str,
) -> list[Array] | None:
    """Return the arrays of a header, mapped; made and written first where needed.

    Files that are damaged, or of something else, are replaced. None where they cannot be written.
    Both are logged.
    """
    try:
        if path.exists():
            return read_kept(path, made_of, shapes)
    except (DataFileError, ModelFileError, TypeError) as error:
        _log_warning("%s are made again: %s", what, error)
    try:
        # Until the header is written it is that of the files before, whose checksums then differ.
        arrays = write()
        write_checked_json(path, asdict(KeptArrays(made_of, arrays)))
    except (DataFileError, OSError) as error:
        _log_warning("%s are not kept: %s", what, error)
        return None
    return [map_array(path.parent, array) for array in arrays]


def read_kept(path: Path, made_of: str, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Map the arrays of a header; raise where they are of something else, or damaged."""
    kept = convert(KeptArrays, read_checked_json(path))
    if kept.made_of != made_of:
        raise DataFileError(path, "is of other features, edges or steps.")
    if [(array.dtype, array.shape) for array in kept.arrays] != [("<f4", s) for s in shapes]:
        raise DataFileError(path, f"must name {len(shapes)} arrays of the shape {shapes[:1]}.")
    found = [map_array(path.parent, array) for array in kept.arrays]
    for array in kept.arrays:
        verify_array(path.parent, array)
    try:
        for array in found:
            check_values({"features": array})
    except ValueError as error:
        raise DataFileError(path, f"{error}.") from None
    return found


HOPS_FILE = "hops.json"
# Fewer multiplications take less time than keeping what they give.
WORTH_KEEPING = 10**8


def kept_hops(graph: Graph, columns: Array, n_hops: int) -> list[Array]:
    """Return what :func:`~graphfilter.models.views.average_hops` does, from the store if it can.

    Where the graph is not a store, or the work is small, they are made. Files that are damaged, or
    of something else, are replaced, and what cannot be written is not kept; both are logged.
    """
    folder = store_of(graph)
    work = len(graph.indices) * columns.shape[1] * n_hops
    if folder is None or work < WORTH_KEEPING or columns.dtype != np.float32:
        return average_hops(graph, columns, n_hops)
    made: list[Array] = []

    def write() -> list[StoredArray]:
        made.extend(average_hops(graph, columns, n_hops))
        return [write_array(folder / f"hops-{k}.bin", hop) for k, hop in enumerate(made, 1)]

    made_of = _checksum(folder, columns, n_hops)
    shapes = [columns.shape] * n_hops
    kept = keep(folder / HOPS_FILE, made_of, shapes, write, what="Averages of neighbours")
    return made if kept is None else kept


def _checksum(folder: Path, columns: Array, n_hops: int) -> str:
    """Return the checksum of edges, columns and the number of hops."""
    digest = hashlib.sha256(repr((edges_of(folder), columns.shape, n_hops)).encode())
    digest.update(np.ascontiguousarray(columns).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def edges_of(folder: Path, roles: tuple[str, ...] = STRUCTURE) -> list[str]:
    """Return the checksums of a store's edges, from its header."""
    arrays = read_header(folder).arrays
    return [arrays[role].sha256 for role in roles if role in arrays]


POWERS_FILE, POWERS_ARRAY = "powers.json", "powers.bin"
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
