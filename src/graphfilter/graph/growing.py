"""A graph with more vertices and edges: what it was, and what came since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphfilter.errors import GraphError
from graphfilter.graph.edge_kinds import EdgeKinds
from graphfilter.graph.edges import index_type
from graphfilter.graph.graph import Graph
from graphfilter.graph.links import align_arcs
from graphfilter.tables import Features


def grow(
    graph: Graph,
    features: Features,
    edges: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    kinds: Sequence[str] | None = None,
    vertex_names: Sequence[Any] | None = None,
) -> Graph:
    """Return a graph with more vertices after its own, unlabelled, and more edges.

    Parameters
    ----------
    graph : Graph
        With features. Fixed splits, labels and the numbers of its vertices stay; the times of its
        edges do not.
    features : array or csr_array (m, d)
        Of the new vertices, whose numbers begin at ``graph.n_vertices``.
    edges : array (k, 2)
        Numbers of vertices, new or not. Of an edge that is known already, the larger weight counts.
    weights, kinds : sequences (k,), optional
        Where the edges of the graph have weights or kinds; without them, edges weigh 1.
    vertex_names : sequence (m,), optional
        Where the vertices of the graph have names.

    Examples
    --------
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([[0, 1]], features=np.eye(2))
    >>> grow(path, np.array([[1.0, 1.0]]), [[2, 1]]).edges.tolist()
    [[0, 1], [1, 2]]
    """
    n, m = graph.n_vertices, features.shape[0]
    if graph.features is None or graph.n_features != features.shape[1]:
        raise GraphError(
            f"new vertices must have the {graph.n_features} features of the others; got "
            f"{features.shape[1]}."
        )
    if (graph.vertex_names is None) != (vertex_names is None):
        raise GraphError("new vertices must have names where the others do, and only there.")
    known = () if graph.kinds is None else graph.kinds.names
    if unknown := sorted(set(kinds or ()) - set(known)):
        raise GraphError(
            f"the kind of an edge must be one of the graph's ({', '.join(known) or 'it has none'});"
            f" got {unknown[0]!r}."
        )
    if known and kinds is None:
        raise GraphError(f"edges must have one of the kinds {', '.join(known)}; got none.")
    added = Graph.from_edges(
        edges, n + m, weights=weights, directed=graph.directed, kinds=kinds if known else None
    )
    if graph.weights is None and added.weights is not None and (added.weights != 1).any():
        raise GraphError("new edges must weigh 1: the edges of this graph have no weights.")
    whole = _joined(graph.adjacency, added.adjacency)
    entries = (
        whole.indptr.astype(index_type(whole.nnz)), whole.indices.astype(index_type(n + m))
    )  # fmt: skip
    arcs = None
    if graph.directed:
        links = _joined(graph.out_links(), added.out_links()).tocoo()
        arcs = align_arcs(np.stack([links.row, links.col], axis=1), links.data, *entries)
    return replace(
        graph,
        indptr=entries[0],
        indices=entries[1],
        weights=None if graph.weights is None else whole.data.astype(np.float32),
        features=_stacked(graph.features, features),
        labels=None if graph.labels is None else np.append(graph.labels, np.full(m, -1)),
        vertex_names=None
        if graph.vertex_names is None
        else (*graph.vertex_names, *(vertex_names or ())),
        arcs=arcs,
        kinds=None if graph.kinds is None else _joined_kinds(graph, added, *entries),
        history=None,
    )


def _joined(known: sp.csr_array, added: sp.csr_array) -> sp.csr_array:
    """Return the larger of two matrices, the first of which has fewer rows and columns."""
    first = known.copy()
    first.resize(added.shape)
    both = first.maximum(added).tocsr()
    both.sort_indices()
    return both


def _joined_kinds(
    graph: Graph, added: Graph, indptr: NDArray[Any], indices: NDArray[Any]
) -> EdgeKinds:
    assert graph.kinds is not None
    names = graph.kinds.names
    own = () if added.kinds is None else added.kinds.names
    matrices = []
    for number, name in enumerate(names):
        matrix = graph.kinds.adjacency(number, graph.indptr, graph.indices)
        new = sp.csr_array((added.n_vertices, added.n_vertices))
        if added.kinds is not None and name in own:
            new = added.kinds.adjacency(own.index(name), added.indptr, added.indices)
        matrices.append(_joined(matrix, new))
    return EdgeKinds.from_matrices(names, matrices, indptr, indices)


def _stacked(known: Features, added: Features) -> Features:
    """Return rows of features below others, sparse where those are."""
    if sp.issparse(known):
        return sp.csr_array(sp.vstack([known, added], format="csr", dtype=np.float32))
    dense = added.toarray() if hasattr(added, "toarray") else added
    return np.vstack([known, np.asarray(dense, dtype=np.float32)])
