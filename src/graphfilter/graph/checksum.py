"""A short name for the content of a graph, the same wherever and whenever it is read."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.graph.arrays import GraphArrays
from graphfilter.runtime import blocks

_AT_ONCE = 1 << 22


def checksum_of(graph: GraphArrays) -> str:
    """Return a checksum of the edges, weights, features, labels, fixed splits and directions."""
    digest = hashlib.sha256()
    features = graph.features
    arrays = [graph.indptr, graph.indices, graph.weights, graph.labels]
    if features is not None and sp.issparse(features):
        arrays += [features.indptr, features.indices, features.data]
    else:
        arrays.append(features)
    arrays += [part for s in graph.splits for part in (s.train, s.val, s.test)]
    if graph.arcs is not None:
        arrays.append(graph.arcs)
    if graph.kinds is not None:
        names = np.frombuffer("\n".join(graph.kinds.names).encode(), dtype=np.uint8)
        arrays += [names, graph.kinds.values]
    for array in arrays:
        _add(digest, array)
    return digest.hexdigest()[:32]


def links_checksum(graph: GraphArrays) -> str:
    """Return a checksum of the edges alone: who is connected to whom."""
    digest = hashlib.sha256()
    for array in (graph.indptr, graph.indices, graph.weights, graph.arcs):
        # Whatever the width of the integers that hold it.
        whole = array is not None and array.dtype.kind != "f"
        _add(digest, array, np.dtype(np.int64) if whole else None)
    return digest.hexdigest()[:32]


def _add(digest: Any, array: NDArray[Any] | None, dtype: np.dtype[Any] | None = None) -> None:
    """Add the length and the bytes of an array, a piece at a time: it may be larger than memory."""
    if array is None:
        digest.update((1).to_bytes(8, "little") + b"-")
        return
    dtype = array.dtype if dtype is None else dtype
    digest.update((array.size * dtype.itemsize).to_bytes(8, "little"))
    flat = array.reshape(-1) if array.flags.c_contiguous else np.ascontiguousarray(array).ravel()
    for rows in blocks(len(flat), _AT_ONCE):
        piece = flat[rows].astype(dtype, copy=False)
        digest.update(piece.view(np.uint8).data)
