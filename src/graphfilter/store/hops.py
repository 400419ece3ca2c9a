"""Averages of features over neighbours, over theirs, …, kept beside the arrays of a store.

They are made when they are first needed, and read by whoever needs the same again: the next fit,
prediction, a report. What is kept has the bits of what would be made; ``hops.json`` is its header.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from graphfilter.errors import DataFileError
from graphfilter.graph import Graph
from graphfilter.inputs import average_hops
from graphfilter.store.arrays import StoredArray, mapped_file, write_array
from graphfilter.store.header import HEADER_FILE, read_header
from graphfilter.store.kept import Array, keep

HOPS_FILE = "hops.json"
# Fewer multiplications take less time than keeping what they give.
WORTH_KEEPING = 10**8

STRUCTURE = ("indptr", "indices", "weights")


def kept_hops(graph: Graph, columns: Array, n_hops: int) -> list[Array]:
    """Return what :func:`~graphfilter.inputs.views.average_hops` does, from the store if it can.

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
