"""Graphs from two tables, and new rows of tables joined to a graph that is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphfilter.data.attributes import narrowed
from graphfilter.data.edges import EdgeKinds, entry_keys, index_type
from graphfilter.data.graph import Graph
from graphfilter.tables.build import Elsewhere, named_columns, read_parts
from graphfilter.tables.columns import Features
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.near import NEAR, TOLD, Near
from graphfilter.tables.opening import open_pair, open_rows
from graphfilter.tables.roles import Columns
from graphfilter.tables.text_files import TextOptions
from graphfilter.util.errors import GraphError
from graphfilter.util.words import count

__all__ = ["Columns", "TableEncoder", "TextOptions", "read_tables"]


def read_tables(
    edges: str | PathLike[str] | Any | None,
    vertices: str | PathLike[str] | Any,
    *,
    columns: Columns | None = None,
    allow_missing: bool = False,
    encoder: TableEncoder | None = None,
    text: TextOptions | None = None,
    remedy: str | None = None,
    rows: Any = (),
    **names: Any,
) -> tuple[Graph, TableEncoder]:
    """Read a graph from a table of edges, which may be None, and a table of vertices.

    Parameters
    ----------
    edges, vertices : path or DataFrame
        .csv, .tsv, .txt (each also .gz), .xlsx or .parquet; or a DataFrame, as
        :meth:`Graph.from_frames` takes. Of vertices also a list of files, one per kind, or a dict
        of frames by kind. How text files are written is found out and said in the
        notes. Ids are strings: '007' is not '7'. An edge file without a header is known by a
        vertex id standing where the header should be. Without edges (None), vertices that share
        a value of a column that few share are joined.
    columns : Columns, optional
        Which column holds what; or give its fields by name: ``label="team", link=["device"]``.
    allow_missing : bool
        Leave out edges to vertices that are not in the table, and take infinite numbers for
        missing ones, instead of raising.
    encoder : TableEncoder, optional
        Encode the features as this one does (for new vertices of a trained model).
    text : TextOptions, optional
        Delimiter, encoding and decimal sign of text files, where they should not be found out.
    remedy : str, optional
        What an error about an edge to an unknown vertex advises.
    rows : tables, or dict of tables
        Tables that name a vertex in each row, such as orders: their sums, means, times and shares
        become features. A frame is given with its title: ``rows={"orders": frame}``.
    **names
        Fields of :class:`Columns`, also ``unlabelled``, the spellings of a label that mean
        *unlabelled*, and ``directed``, to keep which way the edges go.

    Returns
    -------
    graph : Graph
        Vertex names are the ids, in the order of the file. A label that is empty, NA, NaN, null,
        None, ? or -1 is unlabelled, and the notes count those; :mod:`graphfilter.tables.labels`
        has the whole rule. A split column gives one split.
    encoder : TableEncoder
        The one given, or the one fitted to ``vertices``.

    Raises
    ------
    GraphFilterError
        Its ``__notes__`` say what was found and guessed before.

    Examples
    --------
    >>> import graphfilter as gf
    >>> people = {"name": ["Ann", "Bob", "Eve"], "age": [31, 45, 28], "team": ["a", "b", ""]}
    >>> calls = {"from": ["Ann", "Bob"], "to": ["Bob", "Eve"]}
    >>> graph, encoder = gf.read_tables(calls, people, id="name", label="team")
    >>> graph.n_vertices, graph.n_edges, graph.labels.tolist()
    (3, 2, [0, 1, -1])
    """
    columns = replace(columns or Columns(), **named_columns(names))
    parts = read_parts(
        *open_pair(edges, vertices, columns, text, allow_missing=allow_missing), columns,
        allow_missing=allow_missing, encoder=encoder, rows=open_rows(rows, text),
        elsewhere=None if remedy is None else Elsewhere(remedy=remedy),
    )  # fmt: skip
    return Graph.from_parts(parts), parts.encoder


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

    def describe(self, base: Graph, title: str) -> str:
        """Say in one sentence what was joined to which graph."""
        added = [count(len(self.rows) - self.n_updated, "new vertex", "new vertices")]
        if self.n_updated:
            added.append(f"{self.n_updated:,} known with the features given")
        added.append(count(self.graph.n_edges - base.n_edges, "new edge"))
        size = f"{count(base.n_vertices, 'vertex', 'vertices')}, {count(base.n_edges, 'edge')}"
        return f"{title} ({size}), with {', '.join(added)}"


def join_tables(
    graph: Graph,
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

    A row with the id of a known vertex replaces its features; an edge that is known is an earlier
    row of it: the two weigh their sum, the larger or the last, as the tables are merged.
    Arguments as in :func:`~graphfilter.data.read_tables`; ``title`` names the known graph in
    errors, and ``edges`` may be None.
    """
    columns = replace(columns or Columns(), directed=graph.directed)
    ids = [str(name) for name in graph.vertex_names or range(graph.n_vertices)]
    tables = open_pair(edges, vertices, columns, text, allow_missing=allow_missing)
    parts = read_parts(
        *tables, columns, allow_missing=allow_missing, encoder=encoder,
        elsewhere=Elsewhere(ids, title),
    )  # fmt: skip
    notes, content = parts.notes, parts.content
    if parts.encoder.rows and edges is not None:
        notes += ("features of known vertices that sum up edges do not count the new ones.",)
    place = {name: i for i, name in enumerate(ids)}
    row_names = [str(name) for name in content["vertex_names"]]
    new = [name for name in row_names if name not in place]
    place |= {name: len(ids) + i for i, name in enumerate(new)}
    numbers = np.array([place[name] for name in (*row_names, *parts.others)], dtype=np.int64)
    rows = numbers[: len(row_names)]
    is_new = rows >= len(ids)
    features, kinds = content["features"], content["kinds"]
    features = np.zeros((len(row_names), 0)) if features is None else features
    base = replace(graph, vertex_names=tuple(ids), labels=None)
    if graph.features is not None and features.shape[1] == graph.n_features:
        # What is known of a vertex that comes again gives way to its new row.
        source = np.arange(len(ids))
        source[rows[~is_new]] = len(ids) + np.flatnonzero(~is_new)
        given: Any = _stacked(graph.features, features)[source]
        if n_sums := sum(len(one.feature_names) for one in parts.encoder.rows):
            # The new table says nothing of the edges that the graph has.
            halves = given[:, :-n_sums], graph.features[:, -n_sums:]
            given = sp.hstack(halves, "csr") if sp.issparse(given) else np.hstack(halves)
        base = replace(base, features=given)
    grown = grow(
        base, features[np.flatnonzero(is_new)], numbers[content["edges"]], vertex_names=new,
        weights=content["weights"], kinds=None if kinds is None else kinds.tolist(),
        merge=content["merge"], near=parts.encoder.near,
    )  # fmt: skip
    if parts.labels is not None:
        labels = np.full(grown.n_vertices, -1, dtype=np.int64)
        labels[rows] = parts.labels
        grown = replace(grown, labels=labels, classes=parts.classes)
    return Joined(grown, rows, int((~is_new).sum()), notes)


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
    near: Near | None = None,
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
    near : Near, optional
        Joins the new vertices with the nearest, too.

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
    names = () if graph.kinds is None else graph.kinds.names
    if near is not None:
        pairs, strengths = near.join_new(graph.features, features, graph.feature_names or ())
        own = np.reshape(edges, (-1, 2))
        edges = np.concatenate([own, pairs]).astype(np.int64)
        weights = np.append(np.ones(len(own)) if weights is None else weights, strengths)
        kinds = [*(kinds or [TOLD] * len(own)), *[NEAR] * len(pairs)] if names else kinds
    if unknown := sorted(set(kinds or ()) - set(names)):
        raise GraphError(
            "the type of an edge must be one of the graph's "
            f"({', '.join(names) or 'it has none'}); got {unknown[0]!r}."
        )
    if names and kinds is None and np.size(edges):
        raise GraphError(f"edges must have one of the types {', '.join(names)}; got none.")
    added = Graph.from_edges(
        edges, n + m, weights=weights, directed=graph.directed, kinds=kinds if names else None,
        merge=merge,
    )  # fmt: skip
    if graph.weights is None and added.weights is not None and (added.weights != 1).any():
        raise GraphError("new edges must have weight 1: the edges of this graph have no weights.")
    old, new = (entry_keys(each.indptr, each.indices, n + m) for each in (graph, added))
    every = np.union1d(old, new)
    weighted = graph.weights is not None
    if weighted and merge == "mean" and (twice := len(old) + len(new) - len(every)):
        raise GraphError(
            f"{count(twice // 2, 'new edge')} is already in the graph, with the mean weight of "
            "rows that are not stored, so it cannot be updated. Give the whole graph instead."
        )
    places = np.searchsorted(every, old), np.searchsorted(every, new)

    def combine(first: Array | None, second: Array | None) -> NDArray[np.float32]:
        spread = np.zeros((2, len(every)))
        for row, place, values in zip(spread, places, (first, second), strict=True):
            row[place] = 1.0 if values is None else values
        # Without weights an edge counts once.
        return _MERGED[merge if weighted else "max"](*spread).astype(np.float32)

    joined = None
    if graph.kinds is not None:
        of_kind = dict.fromkeys(names, np.zeros(len(new)))
        if added.kinds is not None:
            of_kind |= zip(added.kinds.names, added.kinds.values, strict=True)
        values = map(combine, graph.kinds.values, of_kind.values())
        joined = EdgeKinds(names, np.stack([*values]))
    return replace(
        graph,
        indptr=np.searchsorted(every, np.arange(n + m + 1) * (n + m)).astype(
            index_type(len(every))
        ),
        indices=(every % (n + m)).astype(index_type(n + m)),
        weights=combine(graph.weights, added.weights) if weighted else None,
        arcs=None if graph.arcs is None else combine(graph.arcs, added.arcs),
        kinds=joined,
        features=_stacked(graph.features, features),
        labels=None if graph.labels is None else np.append(graph.labels, np.full(m, -1)),
        vertex_names=None if vertex_names is None else (*(graph.vertex_names or ()), *vertex_names),
        history=None,
    )


def _stacked(features: Any, added: Any) -> Any:
    """Return rows of features below others, sparse where those are."""
    if sp.issparse(features):
        return sp.csr_array(sp.vstack([features, added], format="csr", dtype=np.float32))
    dense = added.toarray() if hasattr(added, "toarray") else added
    return np.vstack([features, narrowed(dense)])
