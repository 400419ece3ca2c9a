"""Hops P^k X of every vertex, kept beside the arrays of a store and mapped from there.

``powers.bin`` holds the K + 1 hops of one vertex after another, so that some vertices are read in
one piece; ``powers.json`` says what they were made of, and is written last.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.store.arrays import StoredArray, map_array, writing_array
from graphfilter.data.store.hops import KeptHops, log_warning, read_kept
from graphfilter.errors import DataFileError, ModelFileError
from graphfilter.storage import write_checked_json

POWERS_FILE, POWERS_ARRAY = "powers.json", "powers.bin"
# Smaller ones are made in less time than they are read and checked.
WORTH_KEEPING = 1 << 25
_PIECE_BYTES = 16 << 20

Array = NDArray[np.float32]
Shape = tuple[int, int, int]
# Gives the hops of some columns after another: each of one hop and some columns, (n, c), the hops
# of the same columns in their order.
Make = Callable[[], Iterator[Array]]


def kept_powers(folder: Path, made_of: str, shape: Shape, make: Make) -> Array | None:
    """Return the hops (n, K + 1, d) that a store keeps, made and written first where needed.

    Files that are damaged, or of something else, are replaced. None where they cannot be written.
    Both are logged.
    """
    n, n_parts, d = shape
    try:
        if (folder / POWERS_FILE).exists():
            return read_kept(folder / POWERS_FILE, made_of, [(n, n_parts * d)])[0].reshape(shape)
    except (DataFileError, ModelFileError, TypeError) as error:
        log_warning("Hops are made again: %s", error)
    try:
        stored = _write(folder, made_of, shape, make())
    except DataFileError as error:
        log_warning("Hops are not kept: %s", error)
        return None
    return map_array(folder, stored).reshape(shape)


def _write(folder: Path, made_of: str, shape: Shape, hops: Iterator[Array]) -> StoredArray:
    """Write hops by columns to a file without a name, and from there by vertices."""
    n, n_parts, d = shape
    try:
        with tempfile.TemporaryFile(dir=folder) as scratch:
            widths = [_append(scratch, hop) for hop in hops][::n_parts]
            scratch.flush()
            numbers = np.memmap(scratch, dtype=np.float32, mode="r")
            with writing_array(folder / POWERS_ARRAY, "<f4", (n_parts * d,)) as writer:
                step = max(1, _PIECE_BYTES // (4 * n_parts * max(d, 1)))
                for start in range(0, n, step):
                    rows = _rows(numbers, shape, widths, start, min(start + step, n))
                    writer.append(rows.reshape(len(rows), -1))
    except OSError as error:
        raise DataFileError(folder, f"cannot be written to: {error.strerror}.") from None
    write_checked_json(folder / POWERS_FILE, asdict(KeptHops(made_of, [writer.result])))
    return writer.result


def _append(scratch: IO[bytes], hop: Array) -> int:
    # Written, not mapped: a full disk is then an error that can be caught.
    scratch.write(np.ascontiguousarray(hop).reshape(-1).view(np.uint8).data)
    return hop.shape[1]


def _rows(
    numbers: NDArray[Any], shape: Shape, widths: list[int], start: int, end: int
) -> NDArray[Any]:
    """Return the hops of some vertices, from where they lie column block by column block."""
    n, n_parts, d = shape
    rows = np.empty((end - start, n_parts, d), dtype=np.float32)
    at = 0
    for width in widths:
        block = numbers[n * n_parts * at :][: n * n_parts * width].reshape(n_parts, n, width)
        rows[:, :, at : at + width] = block[:, start:end].transpose(1, 0, 2)
        at += width
    return rows
