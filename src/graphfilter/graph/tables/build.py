"""A graph from a table of edges and a table of vertices, in files or in memory."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from graphfilter.errors import DataFileError, GraphFilterError
from graphfilter.graph.edges import count
from graphfilter.graph.labels import UNLABELLED, encode_labels
from graphfilter.graph.tables.cells import as_ids, distinct, is_text, missing_column
from graphfilter.graph.tables.columns import Columns, is_index
from graphfilter.graph.tables.edges import read_edges
from graphfilter.graph.tables.encoding import TableEncoder
from graphfilter.graph.tables.labels import read_labels, read_split
from graphfilter.graph.tables.roles import (
    choose_edge_roles,
    guess_vertex_roles,
    settle_vertex_roles,
)
from graphfilter.graph.tables.source import TableSource, at_row, place_of_row, reading_table
from graphfilter.graph.tables.suggestions import suggest

if TYPE_CHECKING:
    import pyarrow as pa

    from graphfilter.graph.graph import Graph

    GraphType = TypeVar("GraphType", bound=Graph)


def build_graph(
    kind: type[GraphType],
    edges: TableSource,
    vertices: TableSource,
    columns: Columns,
    *,
    allow_missing: bool = False,
    encoder: TableEncoder | None = None,
    unlabelled: Sequence[str] | None = None,
    directed: bool = False,
) -> tuple[GraphType, TableEncoder]:
    """Build a graph; what was found and guessed until then goes with an error as its notes."""
    notes = [*vertices.found, *edges.found]
    try:
        return _build(
            kind, edges, vertices, columns, notes, allow_missing=allow_missing, encoder=encoder,
            unlabelled=unlabelled or columns.unlabelled or UNLABELLED, directed=directed,
        )  # fmt: skip
    except GraphFilterError as error:
        for note in notes:
            error.add_note(note)
        raise


def _build(
    kind: type[GraphType],
    edges: TableSource,
    vertices: TableSource,
    columns: Columns,
    notes: list[str],
    *,
    allow_missing: bool,
    encoder: TableEncoder | None,
    unlabelled: Sequence[str],
    directed: bool,
) -> tuple[GraphType, TableEncoder]:
    remembered = {} if encoder is None else dict(encoder.roles)
    asked = asked_features(vertices, columns, encoder)
    not_free = asked.union(columns.drop)
    told, guesses = guess_vertex_roles(vertices, columns, remembered, not_free)
    by_name = {*told.values(), *(guess.column for guess in guesses)}
    all_free = not columns.features and encoder is None
    table = _read_vertices(vertices, by_name | asked, columns.drop if all_free else None)
    roles, said = settle_vertex_roles(
        vertices, table, edges, columns, told, guesses, not_free
    )  # fmt: skip
    notes += said
    if roles["id"] not in table.column_names:
        table = vertices.read([*table.column_names, roles["id"]])
    if all_free:
        taken = {*roles.values(), *columns.drop}
        asked |= {name for name in table.column_names if name not in taken and not is_index(name)}
    with reading_table(vertices):
        ids = _check_ids(as_ids(table.column(roles["id"])), vertices)
    edge_roles, said = choose_edge_roles(edges, vertices, ids, columns, remembered)
    notes += said
    attributes = read_attributes(table, vertices, roles, unlabelled, notes, check=encoder is None)
    features, encoder = _encode(table, vertices, columns, roles, asked, encoder, notes)
    if encoder.columns:
        attributes["feature_names"] = encoder.feature_names
    rows = read_edges(edges, edge_roles, vertices, ids, roles["id"], allow_missing)
    notes += rows.notes
    graph = kind.from_edges(
        rows.pairs, len(ids), weights=rows.weights, name=vertices.name.split(".")[0],
        directed=directed or columns.directed, kinds=rows.kinds,
    )  # fmt: skip
    notes += _say_links(graph)
    names = (table.column(roles["id"]) if vertices.is_typed else ids).to_pylist()
    graph = graph.replace(
        features=features, vertex_names=names, notes=(*notes, *graph.notes)
    )  # fmt: skip
    if edge_roles.header:
        ends = {"source": edge_roles.source, "target": edge_roles.target}
        roles |= ends | ({"weight": edge_roles.weight} if edge_roles.weight else {})
    # The labels are encoded already, word by word instead of row by row.
    encoder = encoder if remembered else dataclasses.replace(encoder, roles=tuple(roles.items()))
    return dataclasses.replace(graph, **attributes), encoder


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


def asked_features(table: TableSource, columns: Columns, encoder: TableEncoder | None) -> set[str]:
    """Return the columns that are asked for as features; they must be there."""
    asked = {*columns.features, *columns.categorical, *(name for name, _ in columns.kinds)}
    asked |= {columns.vertex_kind} if columns.vertex_kind is not None else set()
    if encoder is not None:
        asked = {column.name for column in encoder.columns} | {encoder.vertex_kind} - {""}
    names = table.names
    for name in sorted(asked.union(columns.drop).difference(names)):
        raise missing_column(table, name, names)
    return asked


def _read_vertices(
    source: TableSource, needed: Collection[str], drop: Collection[str] | None
) -> pa.Table:
    """Read the columns that are needed; all but those to drop where that is said.

    Columns that share a name cannot be told apart, and are not read; those are without one.
    """
    names = [name for name, n in Counter(source.names).items() if n == 1]
    wanted = needed if drop is None else {*needed, *names}.difference(drop)
    table = source.read([name for name in names if name in wanted or name in needed])
    if table.num_rows == 0:
        raise DataFileError(source, "a table of vertices must have at least one row; got none.")
    return table


def _check_ids(ids: pa.ChunkedArray, source: TableSource) -> pa.Array:
    """Check that every vertex has an id of its own."""
    if (row := ids.index("").as_py()) >= 0:
        raise at_row(source, row, "the vertex id is empty. Give every vertex an id of its own.")
    if len(ids.unique()) < len(ids):
        words, codes = distinct(ids)
        first = np.unique(codes, return_index=True)[1].tolist()
        row = int(np.setdiff1d(np.arange(len(codes)), first)[0])
        word, number = place_of_row(source, first[codes[row]])
        problem = f"{words[codes[row]]!r} is also on {word} {number}"
        raise at_row(source, row, f"vertex id {problem}. Keep one, or name another column by --id.")
    return ids.combine_chunks()


def read_attributes(
    table: pa.Table,
    source: TableSource,
    roles: Mapping[str, str],
    unlabelled: Sequence[str],
    notes: list[str],
    *,
    check: bool,
) -> dict[str, Any]:
    """Read labels and split."""
    read: dict[str, Any] = {}
    with reading_table(source):
        if "label" in roles:
            column = table[roles["label"]]
            codes, classes, said = read_labels(column, roles["label"], unlabelled, check=check)
            if source.is_typed and not is_text(column.type):
                codes, classes = encode_labels(column.to_pylist(), unlabelled=unlabelled)
            read["labels"], read["classes"] = codes, classes
            notes += said
        if "split" in roles:
            read["splits"] = read_split(table[roles["split"]], source)
    return read


def _encode(
    table: pa.Table,
    source: TableSource,
    columns: Columns,
    roles: Mapping[str, str],
    asked: set[str],
    encoder: TableEncoder | None,
    notes: list[str],
) -> tuple[Any, TableEncoder]:
    """Encode the features as the encoder says, or as one does that is fitted to them."""
    if encoder is None:
        features = table.select([n for n in table.column_names if n in asked])
        encoder = TableEncoder.fit(
            features, source, columns.categorical, columns.features, kinds=dict(columns.kinds),
            decimal=source.decimal, hint=source.decimal_hint, vertex_kind=columns.vertex_kind,
        )  # fmt: skip
        notes += encoder.notes
        notes += suggest(table, encoder, source, labelled="label" in roles)
        return encoder.transform(table, source) if encoder.columns else None, encoder
    matrix, said = encoder.encode(table, source)
    notes += said
    return matrix if encoder.columns else None, encoder
