"""A short name for the content of a graph, the same wherever and whenever it is read."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from graphfilter.graph.graph import Graph


def checksum_of(graph: Graph) -> str:
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
        content = b"-" if array is None else np.ascontiguousarray(array).tobytes()
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()[:32]


def links_checksum(graph: Graph) -> str:
    """Return a checksum of the edges alone: who is connected to whom."""
    digest = hashlib.sha256()
    for array in (graph.indptr, graph.indices, graph.weights, graph.arcs):
        # Whatever the width of the integers that hold it.
        wide = array if array is None or array.dtype.kind == "f" else array.astype(np.int64)
        content = b"-" if wide is None else np.ascontiguousarray(wide).tobytes()
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()[:32]
