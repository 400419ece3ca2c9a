"""A graph with more vertices and edges: what it was, and what came since."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphfilter.errors import GraphError
from graphfilter.graph.edge_kinds import EdgeKinds
from graphfilter.graph.edges import index_type
from graphfilter.graph.graph import Graph
from graphfilter.tables import Features
from graphfilter.wording import count

Array = NDArray[Any]

# What an edge weighs that is known and comes again.
_MERGED: Mapping[str, Callable[[Array, Array], Array]] = {
    "larger": np.maximum,
    "max": np.maximum,
    "last": lambda old, new: np.where(new > 0, new, old),
    "sum": np.add,
    "mean": np.add,
}


def grow(
    graph: Graph,
    features: Features,
    edges: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    kinds: Sequence[str] | None = None,
    vertex_names: Sequence[Any] | None = None,
    merge: str = "larger",
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
        Numbers of vertices, new or not.
    weights, kinds : sequences (k,), optional
        Where the edges of the graph have weights or types; without them, edges have weight 1.
    vertex_names : sequence (m,), optional
        Where the vertices of the graph have names.
    merge : {'larger', 'sum', 'max', 'last', 'mean'}
        What rows of one edge weigh together, as in :meth:`Graph.from_edges`; an edge of the graph
        is an earlier row, of unknown direction. The mean with another row is not known.

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
            "the type of an edge must be one of the graph's "
            f"({', '.join(known) or 'it has none'}); got {unknown[0]!r}."
        )
    if known and kinds is None and np.size(edges):
        raise GraphError(f"edges must have one of the types {', '.join(known)}; got none.")
    added = Graph.from_edges(
        edges, n + m, weights=weights, directed=graph.directed, kinds=kinds if known else None,
        merge=merge,
    )  # fmt: skip
    if graph.weights is None and added.weights is not None and (added.weights != 1).any():
        raise GraphError("new edges must have weight 1: the edges of this graph have no weights.")
    return replace(
        graph,
        **_joined_links(graph, added, merge),
        features=_stacked(graph.features, features),
        labels=None if graph.labels is None else np.append(graph.labels, np.full(m, -1)),
        vertex_names=None
        if graph.vertex_names is None
        else (*graph.vertex_names, *(vertex_names or ())),
        history=None,
    )


def _joined_links(known: Graph, added: Graph, merge: str) -> dict[str, Any]:
    """Return the edges of two graphs; the vertices of the first are the first of the second."""
    n = added.n_vertices
    old, new = _entries(known, n), _entries(added, n)
    every = np.union1d(old, new)
    weighted = known.weights is not None
    if weighted and merge == "mean" and (twice := len(old) + len(new) - len(every)):
        raise GraphError(
            f"{count(twice // 2, 'new edge')} is already in the graph, with the mean weight of "
            "rows that are not stored, so it cannot be updated. Give the whole graph instead."
        )
    places = np.searchsorted(every, old), np.searchsorted(every, new)

    def together(first: Array | None, second: Array | None) -> NDArray[np.float32]:
        spread = np.zeros((2, len(every)))
        for row, place, values in zip(spread, places, (first, second), strict=True):
            row[place] = 1.0 if values is None else values
        # Without weights an edge counts once.
        return _MERGED[merge if weighted else "max"](*spread).astype(np.float32)

    kinds = None
    if known.kinds is not None:
        kinds = _joined_kinds(known.kinds, added.kinds, together, len(new))
    return {
        "indptr": np.searchsorted(every, np.arange(n + 1) * n).astype(index_type(len(every))),
        "indices": (every % n).astype(index_type(n)),
        "weights": together(known.weights, added.weights) if weighted else None,
        "arcs": None if known.arcs is None else together(known.arcs, added.arcs),
        "kinds": kinds,
    }


def _joined_kinds(
    known: EdgeKinds, added: EdgeKinds | None, together: Callable[..., Array], n_added: int
) -> EdgeKinds:
    own = {} if added is None else dict(zip(added.names, added.values, strict=True))
    nothing = np.zeros(n_added)
    rows = [
        together(values, own.get(name, nothing))
        for name, values in zip(known.names, known.values, strict=True)
    ]
    return EdgeKinds(known.names, np.stack(rows))


def _entries(graph: Graph, n: int) -> NDArray[np.int64]:
    """Return one number per stored entry, in order."""
    rows = np.repeat(np.arange(graph.n_vertices, dtype=np.int64), np.diff(graph.indptr))
    return rows * n + graph.indices


def _stacked(known: Features, added: Features) -> Features:
    """Return rows of features below others, sparse where those are."""
    if sp.issparse(known):
        return sp.csr_array(sp.vstack([known, added], format="csr", dtype=np.float32))
    dense = added.toarray() if hasattr(added, "toarray") else added
    return np.vstack([known, np.asarray(dense, dtype=np.float32)])
