"""Averages of features over neighbours, over theirs, …, kept beside the arrays of a store.

They are made when they are first needed, and read by whoever needs the same again: the next fit,
prediction, a report. What is kept has the bits of what would be made. ``hops.json`` says of which
edges and columns they are, and holds the checksum of every file; it is written last.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import DataFileError, ModelFileError
from graphfilter.graph import Graph
from graphfilter.inputs import average_hops
from graphfilter.storage import convert, read_checked_json, write_checked_json
from graphfilter.store.arrays import (
    StoredArray,
    map_array,
    mapped_file,
    verify_array,
    write_array,
)
from graphfilter.store.checks import check_values
from graphfilter.store.header import HEADER_FILE, read_header

HOPS_FILE = "hops.json"
# Fewer multiplications take less time than keeping what they give.
WORTH_KEEPING = 10**8

log_warning = logging.getLogger("graphfilter").warning
STRUCTURE = ("indptr", "indices", "weights")

Array = NDArray[np.float32]


@dataclass(frozen=True)
class KeptHops:
    """What ``hops.json`` holds: the checksum of what they were made of, and the arrays."""

    made_of: str = ""
    arrays: list[StoredArray] = field(default_factory=list)


def kept_hops(graph: Graph, columns: Array, n_hops: int) -> list[Array]:
    """Return what :func:`~graphfilter.inputs.views.average_hops` does, from the store if it can.

    Where the graph is not a store, or the work is small, they are made. Files that are damaged, or
    of something else, are replaced, and what cannot be written is not kept; both are logged.
    """
    folder = store_of(graph)
    work = len(graph.indices) * columns.shape[1] * n_hops
    if folder is None or work < WORTH_KEEPING or columns.dtype != np.float32:
        return average_hops(graph, columns, n_hops)
    made_of = _checksum(folder, columns, n_hops)
    try:
        if (folder / HOPS_FILE).exists():
            return read_kept(folder / HOPS_FILE, made_of, [columns.shape] * n_hops)
    except (DataFileError, ModelFileError, TypeError) as error:
        log_warning("Averages of neighbours are made again: %s", error)
    made = average_hops(graph, columns, n_hops)
    try:
        _write(folder, made_of, made)
    except DataFileError as error:
        log_warning("Averages of neighbours are not kept: %s", error)
    return made


def store_of(graph: Graph) -> Path | None:
    """Return the store that a graph's edges are mapped from; None where they are not."""
    file = _file_of(graph.indices)
    if file is None or not (file.parent / HEADER_FILE).is_file():
        return None
    try:
        arrays = read_header(file.parent).arrays
    except DataFileError:
        return None  # It was changed since the graph was opened.
    for role in STRUCTURE:
        stored, own = arrays.get(role), getattr(graph, role)
        if stored is None and own is None:
            continue
        if stored is None or _file_of(own) != file.with_name(stored.file):
            return None
    return file.parent


def _file_of(array: Any) -> Path | None:
    """Return the file that an array is mapped from, while that is the one of its name."""
    mapped = mapped_file(array)
    return Path(str(mapped.filename)) if mapped is not None and mapped.is_current else None


def _checksum(folder: Path, columns: Array, n_hops: int) -> str:
    """Return the checksum of edges, columns and the number of hops."""
    digest = hashlib.sha256(repr((edges_of(folder), columns.shape, n_hops)).encode())
    digest.update(np.ascontiguousarray(columns).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def edges_of(folder: Path, roles: tuple[str, ...] = STRUCTURE) -> list[str]:
    """Return the checksums of a store's edges, from its header."""
    arrays = read_header(folder).arrays
    return [arrays[role].sha256 for role in roles if role in arrays]


def read_kept(path: Path, made_of: str, shapes: list[tuple[int, ...]]) -> list[Array]:
    """Map the arrays of a header; raise where they are of something else, or damaged."""
    kept = convert(KeptHops, read_checked_json(path))
    if kept.made_of != made_of:
        raise DataFileError(path, "is of other features, edges or steps.")
    if [(array.dtype, array.shape) for array in kept.arrays] != [("<f4", s) for s in shapes]:
        raise DataFileError(path, f"must name {len(shapes)} arrays of the shape {shapes[:1]}.")
    hops = [map_array(path.parent, array) for array in kept.arrays]
    for array in kept.arrays:
        verify_array(path.parent, array)
    try:
        for hop in hops:
            check_values({"features": hop})
    except ValueError as error:
        raise DataFileError(path, f"{error}.") from None
    return hops


def _write(folder: Path, made_of: str, hops: list[Array]) -> None:
    # Until the last line the header is that of the files before, whose checksums then differ.
    arrays = [write_array(folder / f"hops-{k}.bin", hop) for k, hop in enumerate(hops, 1)]
    write_checked_json(folder / HOPS_FILE, asdict(KeptHops(made_of, arrays)))
