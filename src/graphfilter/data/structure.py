"""What follows from the structure of a graph: checksums, reach, sentences, a notebook's card."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.util.pictures import card
from graphfilter.util.words import count

if TYPE_CHECKING:
    from graphfilter.data.graph import Graph

# Numbers that are hashed at a time: an array may be larger than memory.
_AT_ONCE = 1 << 22


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
        _add(digest, array)
    return digest.hexdigest()[:32]


def links_checksum(graph: Graph) -> str:
    """Return a checksum of the edges alone: who is connected to whom."""
    digest = hashlib.sha256()
    for array in (graph.indptr, graph.indices, graph.weights, graph.arcs):
        # Whatever the width of the integers that hold it.
        whole = array is not None and array.dtype.kind != "f"
        _add(digest, array, np.dtype(np.int64) if whole else None)
    return digest.hexdigest()[:32]


def _add(digest: Any, array: NDArray[Any] | None, dtype: np.dtype[Any] | None = None) -> None:
    """Add the length and the bytes of an array, a piece at a time."""
    if array is None:
        digest.update((1).to_bytes(8, "little") + b"-")
        return
    dtype = array.dtype if dtype is None else dtype
    digest.update((array.size * dtype.itemsize).to_bytes(8, "little"))
    flat = array.reshape(-1) if array.flags.c_contiguous else np.ascontiguousarray(array).ravel()
    for start in range(0, len(flat), _AT_ONCE):
        piece = flat[start : start + _AT_ONCE].astype(dtype, copy=False)
        digest.update(piece.view(np.uint8).data)


# Vertices to start from, and the share of the graph that counts as having come far.
N_STARTS, FAR = 9, 0.1


def is_wide(graph: Graph, n_steps: int) -> bool:
    """Return whether so many steps from a vertex lead to a small part of the graph only.

    So it is of grids, meshes and roads; in most other graphs a few steps lead nearly everywhere. It
    is wide if most of a few vertices drawn at random reach neither a tenth of all vertices nor all
    that they are connected to.

    Examples
    --------
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([(i, i + 1) for i in range(199)])
    >>> is_wide(path, 6), is_wide(path, 30)
    (True, False)
    """
    rng = np.random.default_rng(0)
    starts = rng.integers(graph.n_vertices, size=N_STARTS)
    return 2 * sum(_stays_near(graph, start, n_steps) for start in starts.tolist()) > N_STARTS


def _stays_near(graph: Graph, start: int, n_steps: int) -> bool:
    reached = np.zeros(graph.n_vertices, dtype=bool)
    reached[start], n_reached = True, 1
    last = np.array([start])
    for _ in range(n_steps):
        ends = [graph.indices[graph.indptr[v] : graph.indptr[v + 1]] for v in last.tolist()]
        found = np.unique(np.concatenate(ends)) if ends else last[:0]
        last = found[~reached[found]]
        reached[last] = True
        n_reached += len(last)
        if not len(last) or n_reached >= FAR * graph.n_vertices:
            return False
    return True


def say_links(graph: Graph) -> list[str]:
    """Return in sentences which way the edges go, and of what types they are."""
    sentences = []
    if graph.arcs is not None:
        sentences.append(say_arcs(int(np.count_nonzero(graph.arcs)), graph.n_edges))
    if graph.kinds is not None:
        sizes = np.count_nonzero(graph.kinds.values, axis=1) // 2
        pairs = zip(graph.kinds.names, sizes.tolist(), strict=True)
        sentences.append(f"Edge types: {', '.join(f'{name} {n:,}' for name, n in pairs)}.")
    return sentences


def say_arcs(n_arcs: int, n_edges: int) -> str:
    """Say how many edges go both ways."""
    both = count(n_arcs - n_edges, "edge goes", "edges go")
    return f"Directions kept: {count(n_arcs, 'arc')}; {both} both ways."


# The largest number of classes, and of notes, that are shown.
_MOST = 12


def graph_card(graph: Graph) -> str:
    """Return the sizes of a graph, its classes and what was cleaned, as HTML."""
    neighbours = np.diff(graph.indptr)
    edges = f"{graph.n_edges:,}{'' if graph.weights is None else ', weighted'}"
    rows = [("vertices", f"{graph.n_vertices:,}"), ("edges", edges)]
    if graph.n_edges:
        mean = f"{neighbours.mean():.1f} on average, {neighbours.max():,} at most"
        alone = int(np.count_nonzero(neighbours == 0))
        rows.append(("neighbours", mean + (f"; {alone:,} vertices have none" if alone else "")))
    if graph.arcs is not None:
        rows.append(("arcs", f"{np.count_nonzero(graph.arcs):,}"))
    if graph.kinds is not None:
        rows.append(("edge types", ", ".join(map(str, graph.kinds.names))))
    if graph.n_features:
        sparse = "" if isinstance(graph.features, np.ndarray) else ", sparse"
        rows.append(("features", f"{graph.n_features:,}{sparse}"))
    if graph.splits:
        rows.append(("fixed splits", str(len(graph.splits))))
    if graph.labels is not None and graph.n_classes:
        known = graph.labels[graph.labels >= 0]
        counts = np.bincount(known, minlength=graph.n_classes)
        rows.append(("labelled", f"{len(known):,} vertices, {graph.n_classes} classes"))
        for name, n in list(zip(graph.classes.tolist(), counts.tolist(), strict=True))[:_MOST]:
            rows.append((str(name), f"{n:,}"))
        if graph.n_classes > _MOST:
            rows.append(("…", f"and {graph.n_classes - _MOST} more classes"))
    shown = " ".join(graph.notes[:_MOST])
    return card(f"Graph {graph.name!r}", rows, note=shown)
