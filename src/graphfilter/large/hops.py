"""Hops of features, kept beside the arrays of the store that they are made of.

They are made when they are first needed, and read by whoever needs the same again: the next fit,
prediction, a report. What is kept has the bits of what would be made. ``powers.bin`` holds the
K + 1 hops of one vertex after another, so that some vertices are read in one piece;
``powers.json``, written last, says what it was made of and holds its checksum.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.data import store
from graphfilter.data.graph import STRUCTURE, Graph
from graphfilter.models.scaling import FeatureScaler
from graphfilter.operators import Operator
from graphfilter.operators.kernels.product_kernel import as_shared, made_to_be_kept
from graphfilter.operators.polynomial import COLUMNS, stack_powers, walk_powers
from graphfilter.util.errors import DataFileError, GraphError, ModelFileError
from graphfilter.util.files import OWN, scratch_folder
from graphfilter.util.machine import blocks, memory_of_process, threads_for
from graphfilter.util.records import RowsFile, convert, read_checked_json, write_checked_json
from graphfilter.util.words import say_bytes

Array = NDArray[np.float32]
_log_warning = logging.getLogger("graphfilter").warning


@dataclass(frozen=True)
class KeptHops:
    """The header: the checksum of what the hops were made of, and their array."""

    made_of: str = ""
    arrays: list[store.StoredArray] = field(default_factory=list)


def read_kept(path: Path, made_of: str, shape: tuple[int, int]) -> Array:
    """Map the array of a header; raise where it is of something else, or damaged."""
    kept = convert(KeptHops, read_checked_json(path))
    if kept.made_of != made_of:
        raise DataFileError(path, "is of other features, edges or steps.")
    if [(array.dtype, array.shape) for array in kept.arrays] != [("<f4", shape)]:
        raise DataFileError(path, f"must name one array of the shape {shape}.")
    array = store.map_array(path.parent, kept.arrays[0])
    store.verify_array(path.parent, kept.arrays[0])
    try:
        store.check_values({"features": array})
    except ValueError as error:
        raise DataFileError(path, f"{error}.") from None
    return array


POWERS_FILE, POWERS_ARRAY = "powers.json", "powers.bin"
_PIECE_BYTES = 4 << 20

# Features that are scaled at a time.
_ROWS_BYTES = 4 << 20


@made_to_be_kept
def make_hops(graph: Graph, scaler: FeatureScaler, operator: Operator, n_hops: int) -> Tensor:
    """Return X, P X, …, P^K X of every vertex (n, K + 1, d), X scaled; ``operator`` on a CPU.

    Those of a store are kept in it and mapped; memory is then that of a few columns. Files that are
    damaged, or of something else, are replaced, and logged.
    """
    n, n_parts, d = shape = graph.n_vertices, n_hops + 1, graph.n_features
    n_bytes, folder = 4 * n * n_parts * d, store.store_of(graph)
    with torch.no_grad(), threads_for(len(graph.indices) * COLUMNS):
        if folder is not None and n_bytes >= store.KEPT_FROM_BYTES:
            made_of = _sum_of_all(folder, graph, scaler, operator, n_hops)
            path, made = folder / POWERS_FILE, (n, n_parts * d)
            try:
                if path.exists():
                    return as_shared(read_kept(path, made_of, made).reshape(shape))
            except (DataFileError, ModelFileError, TypeError) as error:
                _log_warning("Hops are made again: %s", error)
            try:
                # Until the header is written it is that of before, whose checksum then differs.
                array = _write(folder, graph, scaler, operator, shape)
                write_checked_json(path, asdict(KeptHops(made_of, [array])))
                return as_shared(store.map_array(folder, array).reshape(shape))
            except (DataFileError, OSError) as error:
                _log_warning("Hops are not kept: %s", error)
        if n_bytes > memory_of_process():
            raise GraphError(
                f"the hops of {graph.name} take {say_bytes(n_bytes)}, more than there is "
                "memory; write the graph to a store (graphfilter store), which keeps them on disk."
            )
        rows = np.concatenate([*_scaled_rows(graph, scaler)])
        return stack_powers(operator, torch.from_numpy(rows), n_hops)


def _scaled_rows(graph: Graph, scaler: FeatureScaler) -> Iterator[Array]:
    """Yield the scaled features of some vertices after another."""
    features: Any = graph.features
    for at in blocks(graph.n_vertices, _ROWS_BYTES // (4 * max(graph.n_features, 1))):
        rows = scaler.transform(features[at])
        dense = rows.toarray() if sp.issparse(rows) else rows
        yield np.ascontiguousarray(dense, dtype=np.float32)


def _sum_of_all(
    folder: Path, graph: Graph, scaler: FeatureScaler, operator: Operator, n_hops: int
) -> str:
    """Return the checksum of all that the hops depend on, to the bit."""
    arrays = store.read_header(folder).arrays
    edges = [arrays[role].sha256 for role in (*STRUCTURE, "arcs") if role in arrays]
    kernel = type(operator.kernel).__name__
    about = (edges, graph.directed, operator.kind, kernel, n_hops, graph.n_features)
    digest = hashlib.sha256(repr(about).encode())
    for block in _scaled_rows(graph, scaler):
        digest.update(block.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _write(
    folder: Path,
    graph: Graph,
    scaler: FeatureScaler,
    operator: Operator,
    shape: tuple[int, int, int],
) -> store.StoredArray:
    """Write hops by columns to files, and from there by vertices.

    The features come first, in one pass, and then their powers, some columns at a time. What is
    written is not mapped, so that a full disk is an error that can be caught.
    """
    n, n_parts, d = shape
    buffers = torch.empty(2, n, COLUMNS)
    with scratch_folder(f"{OWN}hops-", folder) as scratch:
        files = [(at, RowsFile(scratch / str(at.start), np.float32)) for at in blocks(d, COLUMNS)]
        for rows in _scaled_rows(graph, scaler):
            for columns, file in files:
                file.append(rows[:, columns])
        for _, file in files:
            for hop in walk_powers(operator, torch.from_numpy(file[:n]), n_parts - 1, buffers):
                file.append(hop.numpy())
        with store.writing_array(folder / POWERS_ARRAY, "<f4", (n_parts * d,)) as writer:
            for at in blocks(n, _PIECE_BYTES // (4 * n_parts * max(d, 1))):
                rows = np.empty((at.stop - at.start, n_parts, d), dtype=np.float32)
                for columns, file in files:
                    for k in range(n_parts):
                        rows[:, k, columns] = file[k * n + at.start : k * n + at.stop]
                writer.append(rows.reshape(len(rows), -1))
    return writer.result
