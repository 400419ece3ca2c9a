"""Graphs from two tables, one of edges and one of vertices: files, or frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from graphfilter.errors import check_name
from graphfilter.graph.graph import Graph
from graphfilter.tables import (
    Columns,
    FrameTable,
    GraphParts,
    TableEncoder,
    TextOptions,
    open_pair,
    read_parts,
    telling,
)
from graphfilter.wording import count

GraphType = TypeVar("GraphType", bound=Graph)
_COLUMNS = ("weight", "split", "edge_kind", "vertex_kind", "merge", "edge_time")
_SETTINGS = ("unlabelled", "allow_missing", "directed")


def read_tables(
    edges: str | PathLike[str] | Any,
    vertices: str | PathLike[str] | Any,
    *,
    columns: Columns | None = None,
    allow_missing: bool = False,
    encoder: TableEncoder | None = None,
    unlabelled: Sequence[str] | None = None,
    directed: bool = False,
    text: TextOptions | None = None,
) -> tuple[Graph, TableEncoder]:
    """Read a graph from a table of edges and a table of vertices.

    Parameters
    ----------
    edges, vertices : path or DataFrame
        .csv, .tsv, .txt (each also .gz), .xlsx or .parquet; or a DataFrame, as
        :meth:`Graph.from_frames` takes. How text files are written is found out and said in the
        notes. Ids are strings: '007' is not '7'. An edge file without a header is known by a
        vertex id standing where the header should be.
    columns : Columns, optional
    allow_missing : bool
        Leave out edges to vertices that are not in the table instead of raising.
    encoder : TableEncoder, optional
        Encode the features as this one does (for new vertices of a trained model).
    unlabelled : sequence of str, optional
        The spellings of a label that mean *unlabelled*, whatever their case.
    directed : bool
        Keep which way the edges go: from source to target.
    text : TextOptions, optional
        Delimiter, encoding and decimal sign of text files, where they should not be found out.

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
    >>> columns = gf.data.Columns(id="name", label="team")
    >>> graph, encoder = gf.read_tables(calls, people, columns=columns)
    >>> graph.n_vertices, graph.n_edges, graph.labels.tolist()
    (3, 2, [0, 1, -1])
    """
    columns = columns or Columns()
    parts = read_parts(
        *open_pair(edges, vertices, columns, text), columns,
        allow_missing=allow_missing, encoder=encoder, unlabelled=unlabelled, directed=directed,
    )  # fmt: skip
    return build_graph(Graph, parts), parts.encoder


def build_from_frames(
    kind: type[GraphType],
    vertices: Any,
    edges: Any,
    roles: Mapping[str, str | None],
    options: Mapping[str, Any],
) -> GraphType:
    """Build a graph from two frames; see :meth:`graphfilter.graph.Graph.from_frames`."""
    rest = dict(options)
    columns: dict[str, Any] = {**roles}
    for name in _COLUMNS:
        columns[name] = rest.pop(name, None)
    for name in ("features", "categorical", "drop"):
        columns[name] = tuple(rest.pop(name, ()))
    columns["kinds"] = tuple(rest.pop("kinds", {}).items())
    settings = {key: rest.pop(key) for key in _SETTINGS if key in rest}
    if rest:
        known = (*_COLUMNS, "features", "categorical", "drop", "kinds", *_SETTINGS)
        check_name("option of from_frames", next(iter(rest)), known)
    tables = FrameTable(edges, "edges"), FrameTable(vertices, "vertices")
    return build_graph(kind, read_parts(*tables, Columns(**columns), **settings))


def build_graph(kind: type[GraphType], parts: GraphParts) -> GraphType:
    """Build a graph from what two tables say of it."""
    with telling(parts.notes):
        graph = kind.from_edges(
            parts.pairs, parts.n_vertices, weights=parts.weights, name=parts.name,
            directed=parts.directed, kinds=parts.kinds, merge=parts.merge,
            times=None if parts.times is None else parts.times.as_array(),
        )  # fmt: skip
        notes = (*parts.notes, *_say_links(graph), *graph.notes)
        graph = graph.replace(
            features=parts.features, feature_names=parts.feature_names,
            vertex_names=parts.vertex_names, splits=parts.splits, notes=notes,
        )  # fmt: skip
    if parts.labels is None:
        return graph
    return replace(graph, labels=parts.labels, classes=parts.classes)


def _say_links(graph: Graph) -> list[str]:
    """Return in sentences which way the edges go, and of what kinds they are."""
    said = []
    if graph.arcs is not None:
        said.append(say_arcs(int(np.count_nonzero(graph.arcs)), graph.n_edges))
    if graph.kinds is not None:
        sizes = np.count_nonzero(graph.kinds.values, axis=1) // 2
        pairs = zip(graph.kinds.names, sizes.tolist(), strict=True)
        said.append(f"Kinds of edges: {', '.join(f'{name} {n:,}' for name, n in pairs)}.")
    return said


def say_arcs(n_arcs: int, n_edges: int) -> str:
    """Say how many edges go both ways."""
    both = count(n_arcs - n_edges, "edge goes", "edges go")
    return f"Directions kept: {count(n_arcs, 'arc')}; {both} both ways."
