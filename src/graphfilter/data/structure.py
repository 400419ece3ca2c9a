"""What a graph holds, and what follows from it: the arrays behind a Graph.

Checksum, reach, sentences, the card of a notebook and subgraphs are computed from these arrays.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphfilter.data.edge_attributes import EdgeHistory, EdgeKinds
from graphfilter.data.edges import align_arcs, build_csr
from graphfilter.splits import Split, check_vertices
from graphfilter.tables.columns import Features
from graphfilter.util.errors import GraphError
from graphfilter.util.machine import blocks
from graphfilter.util.pictures import bar, card
from graphfilter.util.words import count


@dataclass(frozen=True, eq=False, repr=False)
class GraphArrays:
    """The content of a graph; :class:`~graphfilter.data.graph.Graph` says what each field is.

    Whatever is computed from a graph takes this, so that Graph itself may use it.
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    weights: NDArray[np.float32] | None = None
    features: Features | None = None
    labels: NDArray[np.int64] | None = None
    classes: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    vertex_names: tuple[Any, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    splits: tuple[Split, ...] = ()
    notes: tuple[str, ...] = ()
    name: str = "graph"
    arcs: NDArray[np.float32] | None = None
    kinds: EdgeKinds | None = None
    history: EdgeHistory | None = None

    def __post_init__(self) -> None:
        edges = (self.indptr, self.indices, self.weights, self.arcs)
        for array in (*edges, self.labels, self.classes):
            if array is not None:
                array.flags.writeable = False
        features = self.features
        if features is not None and sp.issparse(features):
            for array in (features.data, features.indices, features.indptr):
                array.flags.writeable = False
        elif features is not None:
            features.flags.writeable = False

    @property
    def n_vertices(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """Undirected edges, each counted once."""
        return len(self.indices) // 2

    @property
    def n_features(self) -> int:
        return 0 if self.features is None else self.features.shape[1]

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def degrees(self) -> NDArray[np.float64]:
        """Sum of the weights at each vertex (the number of neighbours where unweighted)."""
        if self.weights is None:
            return np.diff(self.indptr).astype(np.float64)
        rows = np.repeat(np.arange(self.n_vertices), np.diff(self.indptr))
        counts = np.bincount(rows, weights=self.weights, minlength=self.n_vertices)
        return counts.astype(np.float64)

    @property
    def adjacency(self) -> sp.csr_array:
        """The weighted adjacency matrix in float64."""
        data = np.ones(len(self.indices)) if self.weights is None else self.weights.astype(float)
        shape = (self.n_vertices, self.n_vertices)
        return sp.csr_array((data, self.indices, self.indptr), shape=shape)

    @property
    def edges(self) -> NDArray[Any]:
        """Every edge once, as (m, 2) with u < v, sorted."""
        rows, upper = self._upper()
        return np.stack([rows[upper], self.indices[upper]], axis=1)

    @property
    def edge_weights(self) -> NDArray[np.float32] | None:
        """The weights of :attr:`edges`, or None where every edge weighs 1."""
        return None if self.weights is None else self.weights[self._upper()[1]]

    @property
    def directed(self) -> bool:
        """Whether the graph remembers which way its edges go."""
        return self.arcs is not None

    def out_links(self) -> sp.csr_array:
        """Return A (n, n) in float32: in row u, the vertices that u links to.

        An edge of a graph without directions goes both ways.
        """
        values = self.weights if self.arcs is None else self.arcs
        values = np.ones(len(self.indices), dtype=np.float32) if values is None else values.copy()
        shape = (self.n_vertices, self.n_vertices)
        links = sp.csr_array((values, self.indices.copy(), self.indptr.copy()), shape=shape)
        links.eliminate_zeros()
        return links

    def in_links(self) -> sp.csr_array:
        """Return Aᵀ (n, n) in float32: in row u, the vertices that link to u."""
        return self.out_links().T.tocsr()

    def _upper(self) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        rows = np.repeat(np.arange(self.n_vertices, dtype=self.indices.dtype), np.diff(self.indptr))
        return rows, rows < self.indices


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


# Vertices to start from, and the share of the graph that counts as having come far.
N_STARTS, FAR = 9, 0.1


def is_wide(graph: GraphArrays, n_steps: int) -> bool:
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


def _stays_near(graph: GraphArrays, start: int, n_steps: int) -> bool:
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


def say_links(graph: GraphArrays) -> list[str]:
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


def graph_card(graph: GraphArrays) -> str:
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
        rows += _classes(graph, graph.labels)
    shown = " ".join(graph.notes[:_MOST])
    return card(f"Graph {graph.name!r}", rows, note=shown)


def _classes(graph: GraphArrays, labels: np.ndarray) -> list[tuple[str, str]]:
    known = labels[labels >= 0]
    counts = np.bincount(known, minlength=graph.n_classes)
    rows = [("labelled", f"{len(known):,} vertices, {graph.n_classes} classes")]
    largest = max(int(counts.max(initial=0)), 1)
    for name, n in list(zip(graph.classes.tolist(), counts.tolist(), strict=True))[:_MOST]:
        rows.append((str(name), bar(n / largest, f"{n:,}")))
    if graph.n_classes > _MOST:
        rows.append(("…", f"and {graph.n_classes - _MOST} more classes"))
    return rows


AnyGraph = TypeVar("AnyGraph", bound=GraphArrays)


def induced_subgraph(graph: AnyGraph, index: ArrayLike) -> AnyGraph:
    """Return the graph on these vertices, in this order, with the edges among them."""
    chosen = check_vertices(index, graph.n_vertices)
    if not len(chosen):
        raise GraphError("a subgraph must have at least one vertex; got none.")
    pairs, weights = _entries(graph.adjacency, chosen, weighted=graph.weights is not None)
    indptr, indices, data, _ = build_csr(pairs, weights, len(chosen))
    arcs = None
    if graph.directed:
        own = _entries(graph.out_links(), chosen, weighted=graph.weights is not None)
        arcs = align_arcs(*own, indptr, indices)
    kinds = graph.kinds
    if kinds is not None:
        wholes = (kinds.adjacency(k, graph.indptr, graph.indices) for k in range(len(kinds.names)))
        parts = [whole[chosen][:, chosen] for whole in wholes]
        kinds = EdgeKinds.from_matrices(kinds.names, parts, indptr, indices)
    names = graph.vertex_names
    new_number = np.full(graph.n_vertices, -1)
    new_number[chosen] = np.arange(len(chosen))
    return replace(
        graph,
        indptr=indptr,
        indices=indices,
        weights=data,
        arcs=arcs,
        kinds=kinds,
        history=None if graph.history is None else graph.history.renumbered(new_number),
        features=None if graph.features is None else graph.features[chosen],
        labels=None if graph.labels is None else graph.labels[chosen],
        vertex_names=None if names is None else tuple(names[i] for i in chosen),
        splits=tuple(_renumber(split, new_number) for split in graph.splits),
    )


def _entries(
    matrix: sp.csr_array, chosen: NDArray[np.int64], *, weighted: bool
) -> tuple[NDArray[np.int32], NDArray[np.float32] | None]:
    """Return the entries between these vertices, as pairs, and their values."""
    kept = matrix[chosen][:, chosen].tocoo()
    pairs = np.stack([kept.row, kept.col], axis=1)
    return pairs, kept.data.astype(np.float32) if weighted else None


def largest_component(graph: AnyGraph) -> AnyGraph:
    """Return the subgraph of the largest connected component."""
    _, component = sp.csgraph.connected_components(graph.adjacency, directed=False)
    return induced_subgraph(graph, component == np.bincount(component).argmax())


def _renumber(split: Split, new_number: NDArray[np.int64]) -> Split:
    """Carry a split over, less the vertices that are gone (those with the new number -1)."""
    parts = [new_number[part] for part in (split.train, split.val, split.test)]
    return Split(*(part[part >= 0] for part in parts), rule=split.rule)
