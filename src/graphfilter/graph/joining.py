"""New rows joined to a graph that is known: vertices added or updated, edges added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.errors import GraphError
from graphfilter.graph.edge_kinds import EdgeKinds
from graphfilter.graph.edges import index_type
from graphfilter.graph.graph import Graph
from graphfilter.tables import (
    Columns,
    Elsewhere,
    Features,
    GraphParts,
    TableEncoder,
    TextOptions,
    open_pair,
    read_parts,
)
from graphfilter.wording import count

Array = NDArray[Any]

_OF_EDGES = ("source", "target", "weight", "edge_kind", "edge_time")


@dataclass(frozen=True, eq=False)
class Joined:
    """A known graph with the rows of new tables.

    Attributes
    ----------
    graph : Graph
        The known vertices in their order, then the new ones. Labels are those of the new rows.
    rows : int array
        Which vertex each row of the new table is.
    n_updated : int
        Rows whose id was known: their features are those of the new table.
    notes : tuple of str
        What was found and guessed in the tables.
    """

    graph: Graph
    rows: NDArray[np.int64]
    n_updated: int
    notes: tuple[str, ...]

    def describe(self, known: Graph, title: str) -> str:
        """Say in one sentence what was joined to which graph."""
        added = [count(len(self.rows) - self.n_updated, "new vertex", "new vertices")]
        if self.n_updated:
            added.append(f"{self.n_updated:,} known with the features given")
        added.append(count(self.graph.n_edges - known.n_edges, "new edge"))
        size = f"{count(known.n_vertices, 'vertex', 'vertices')}, {count(known.n_edges, 'edge')}"
        return f"{title} ({size}), with {', '.join(added)}"


def join_tables(
    known: Graph,
    edges: Any,
    vertices: Any,
    *,
    title: str,
    columns: Columns | None = None,
    allow_missing: bool = False,
    encoder: TableEncoder | None = None,
    text: TextOptions | None = None,
) -> Joined:
    """Read tables of new rows, whose edges may name known vertices, and join both.

    A row with the id of a known vertex replaces its features; an edge that is known weighs what
    another row of it would have made of it: the sum, the largest or the last, as the tables are
    merged. Arguments as in :func:`~graphfilter.graph.read_tables`; ``title`` names the known graph
    in errors, and ``edges`` may be None.
    """
    columns = columns or Columns()
    ids = [str(name) for name in known.vertex_names or range(known.n_vertices)]
    nothing = {"source": np.empty(0, dtype="U1"), "target": np.empty(0, dtype="U1")}
    if edges is None:
        columns = replace(columns, **dict.fromkeys(_OF_EDGES))
    tables = open_pair(nothing if edges is None else edges, vertices, columns, text)
    parts = read_parts(
        *tables, columns, allow_missing=allow_missing, encoder=encoder, directed=known.directed,
        elsewhere=Elsewhere(ids, title),
    )  # fmt: skip
    return join_parts(known, ids, parts)


def join_parts(known: Graph, ids: list[str], parts: GraphParts) -> Joined:
    """Join what tables say to a graph whose vertices have these ids."""
    if (width := 0 if parts.features is None else parts.features.shape[1]) != known.n_features:
        raise GraphError(f"the known graph has {known.n_features} features; the rows have {width}.")
    place = {name: i for i, name in enumerate(ids)}
    own = [str(name) for name in parts.vertex_names]
    new = [name for name in own if name not in place]
    place |= {name: len(ids) + i for i, name in enumerate(new)}
    rows = np.array([place[name] for name in own], dtype=np.int64)
    n = len(ids) + len(new)
    numbers = np.array([place[name] for name in (*own, *parts.others)], dtype=np.int64)
    added = Graph.from_edges(
        numbers[parts.pairs], n, weights=parts.weights, kinds=parts.kinds, merge=parts.merge,
        directed=known.directed,
    )  # fmt: skip
    labels = None
    if parts.labels is not None:
        labels = np.full(n, -1, dtype=np.int64)
        labels[rows] = parts.labels
    links = _join_links(known, added, n, parts.merge)
    graph = replace(
        links,
        features=_join_features(known.features, parts.features, rows, n),
        feature_names=known.feature_names,
        vertex_names=(*ids, *new),
        labels=labels,
        classes=links.classes if parts.classes is None else parts.classes,
        name=known.name,
    )
    # Of all vertices, so that most have no edge among the added ones.
    cleaned = [note for note in added.notes if "isolated" not in note]
    return Joined(graph, rows, len(own) - len(new), (*parts.notes, *cleaned))


def _join_features(
    old: Features | None, new: Features | None, rows: NDArray[np.int64], n: int
) -> Features | None:
    """Return the features of all vertices (n, d); sparse where those of the known graph are."""
    if old is None or new is None:
        return None
    if not sp.issparse(old):
        dense = new.toarray() if sp.issparse(new) else new
        made = np.zeros((n, old.shape[1]), dtype=np.float32)
        made[: len(old)] = old
        made[rows] = dense
        return made
    keep = np.ones(old.shape[0])
    keep[rows[rows < len(keep)]] = 0
    placed = sp.csr_array(new).tocoo()
    shape = (n, old.shape[1])
    moved = sp.coo_array((placed.data, (rows[placed.row], placed.col)), shape=shape).tocsr()
    kept = sp.csr_array(sp.diags_array(keep) @ old)
    kept.resize(shape)
    made = sp.csr_array(kept + moved).astype(np.float32)
    made.eliminate_zeros()
    made.sort_indices()
    return made


def _join_links(known: Graph, added: Graph, n: int, merge: str) -> Graph:
    """Return the edges of two graphs; the vertices of the first are the first of the second."""
    old, new = _keys(known, n), _keys(added, n)
    every = np.union1d(old, new)
    at_old, at_new = np.searchsorted(every, old), np.searchsorted(every, new)
    weighted = known.weights is not None or added.weights is not None
    twice = len(old) + len(new) - len(every)
    if weighted and merge == "mean" and twice:
        raise GraphError(
            f"{count(twice // 2, 'edge')} of the new rows is in the known graph, whose weights are "
            "means of rows that are not kept: the mean with another row is not known. Give the "
            "whole graph instead."
        )

    def together(first: Array | None, second: Array | None, *, counted: bool) -> Array:
        return _merged(
            _spread(first, at_old, len(every)), _spread(second, at_new, len(every)),
            merge if counted else "max",
        )  # fmt: skip

    indptr = np.searchsorted(every, np.arange(n + 1) * n).astype(index_type(len(every)))
    indices = (every % n).astype(index_type(n))
    weights = together(known.weights, added.weights, counted=True) if weighted else None
    arcs = kinds = None
    if known.arcs is not None:
        arcs = together(known.arcs, added.arcs, counted=weighted)
    if known.kinds is not None and added.kinds is None and added.n_edges:
        raise GraphError(
            "the edges of the known graph have kinds, those of the new rows have none. Name their "
            "column with --edge-kind."
        )
    if known.kinds is not None:
        kinds = _join_kinds(known.kinds, added.kinds, lambda a, b: together(a, b, counted=weighted))
    return Graph(indptr, indices, weights, arcs=arcs, kinds=kinds)


def _join_kinds(
    old: EdgeKinds, new: EdgeKinds | None, together: Callable[[Array, Array], Array]
) -> EdgeKinds:
    if new is None:
        new = EdgeKinds(old.names, np.zeros((len(old.names), 0), dtype=np.float32))
    if unknown := sorted(set(new.names) - set(old.names)):
        raise GraphError(
            f"edges of the kind {unknown[0]!r} are not in the known graph: the model has no filter "
            f"for them. Known are {', '.join(old.names)}."
        )
    nothing = np.zeros(new.values.shape[1], dtype=np.float32)
    rows = [
        together(values, new.values[new.names.index(name)] if name in new.names else nothing)
        for name, values in zip(old.names, old.values, strict=True)
    ]
    return EdgeKinds(old.names, np.stack(rows))


def _keys(graph: Graph, n: int) -> NDArray[np.int64]:
    """Return one number per stored entry, in order."""
    rows = np.repeat(np.arange(graph.n_vertices, dtype=np.int64), np.diff(graph.indptr))
    return rows * n + graph.indices


def _spread(values: Array | None, places: NDArray[np.int64], size: int) -> Array:
    """Return the values of some entries among all; 0 for the others, 1 where none are given."""
    made = np.zeros(size)
    made[places] = 1.0 if values is None else values
    return made


def _merged(old: Array, new: Array, merge: str) -> NDArray[np.float32]:
    if merge == "max":
        return np.maximum(old, new).astype(np.float32)
    if merge == "last":
        return np.where(new > 0, new, old).astype(np.float32)
    return (old + new).astype(np.float32)
