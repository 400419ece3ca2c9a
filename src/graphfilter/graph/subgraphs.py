"""Parts of a graph: what is left when some of its vertices are taken out."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphfilter.errors import GraphError
from graphfilter.graph.arrays import GraphArrays
from graphfilter.graph.edge_kinds import EdgeKinds
from graphfilter.graph.edges import build_csr
from graphfilter.graph.links import align_arcs
from graphfilter.splits import Split, check_vertices

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
