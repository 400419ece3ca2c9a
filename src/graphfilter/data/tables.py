"""Reading a graph from two tables, one of edges and one of vertices: CSV, TSV or Parquet."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.cells import (
    as_text,
    at_row,
    distinct,
    drop_nan,
    missing_column,
    place_of_row,
)
from graphfilter.data.columns import ID_NAMES, LABEL_NAMES, SPLIT_NAMES, Columns, choose_columns
from graphfilter.data.edge_table import read_edge_table
from graphfilter.data.encoding import TableEncoder
from graphfilter.data.readers.formats import column_names, read_table, reading_table
from graphfilter.errors import DataFileError
from graphfilter.graph import Graph
from graphfilter.graph.labels import UNLABELLED, encode_distinct
from graphfilter.splits import Split

if TYPE_CHECKING:
    import pyarrow as pa

_PARTS = {"train": 0, "val": 1, "valid": 1, "validation": 1, "test": 2, "": -1}


def read_tables(
    edges: str | PathLike[str],
    vertices: str | PathLike[str],
    *,
    columns: Columns | None = None,
    allow_missing: bool = False,
    encoder: TableEncoder | None = None,
    unlabelled: Sequence[str] = UNLABELLED,
    directed: bool = False,
) -> tuple[Graph, TableEncoder]:
    """Read a graph from a table of edges and a table of vertices.

    Parameters
    ----------
    edges, vertices : path
        .csv, .csv.gz, .tsv, .tsv.gz or .parquet. Ids are strings: '007' is not '7'. An edge
        file without a header is known by a vertex id standing where the header should be.
    columns : Columns, optional
    allow_missing : bool
        Leave out edges to vertices that are not in the table instead of raising.
    encoder : TableEncoder, optional
        Encode the features as this one does (for new vertices of a trained model).
    unlabelled : sequence of str
        The spellings of a label that mean *unlabelled*, whatever their case.
    directed : bool
        Keep which way the edges go: from source to target.

    Returns
    -------
    graph : Graph
        Vertex names are the ids, in the order of the file. A label that is empty, NA, NaN, null,
        None, ? or -1 is unlabelled, and the notes count those; :mod:`graphfilter.graph.labels`
        has the whole rule. A split column gives one split.
    encoder : TableEncoder
        The one given, or the one fitted to ``vertices``.
    """
    edges, vertices, columns = Path(edges), Path(vertices), columns or Columns()
    if not (columns.source and columns.target) and edges.resolve() == vertices.resolve():
        # Guessed by position, the ends of an edge could be a vertex and its label.
        raise DataFileError(
            edges,
            "must be a table of edges; it is the table of vertices. Give another file, or name "
            "its columns with --source and --target.",
        )
    table, roles, encoder, notes = _read_vertices(vertices, columns, encoder)
    known: dict[str, Any] = {"feature_names": encoder.feature_names or None}
    with reading_table(vertices):
        ids = _check_ids(as_text(table.column(roles["id"])), vertices)
        if "label" in roles:
            known["labels"], known["classes"], note = _encode_labels(
                table[roles["label"]], roles["label"], unlabelled
            )
            notes = [*notes, *note]
        if "split" in roles:
            known["splits"] = _read_split(as_text(table[roles["split"]], trim=True), vertices)
    features = encoder.transform(table, vertices) if encoder.columns else None
    pairs, weights, edge_notes = read_edge_table(edges, vertices, ids, columns, allow_missing)
    name = vertices.name.split(".")[0]
    graph = Graph.from_edges(pairs, len(ids), weights=weights, name=name, directed=directed)
    notes = (*notes, *edge_notes, *graph.notes)
    graph = graph.replace(features=features, vertex_names=ids.to_pylist(), notes=notes)
    # The labels are encoded already, word by word instead of row by row.
    return dataclasses.replace(graph, **known), encoder


def _read_vertices(
    path: Path, columns: Columns, encoder: TableEncoder | None
) -> tuple[pa.Table, dict[str, str], TableEncoder, Sequence[str]]:
    """Read the columns that are needed, find their roles, and fit the encoder if none is given."""
    names = column_names(path)
    asked = {*columns.features, *columns.categorical}
    if encoder is not None:
        asked = {column.name for column in encoder.columns}
    for name in sorted(asked.union(columns.drop).difference(names)):
        raise missing_column(path, name, names)
    told = {"id": columns.id, "label": columns.label, "split": columns.split}
    usual = {"id": (*ID_NAMES, *names), "label": LABEL_NAMES, "split": SPLIT_NAMES}
    roles, notes = choose_columns(path, names, told, usual, not_free=asked.union(columns.drop))
    if not columns.features and encoder is None:
        # An unnamed column is the row number that pandas writes.
        asked |= set(names) - {"", *roles.values(), *columns.drop}
    table = read_table(path, [n for n in names if n in asked or n in roles.values()])
    if table.num_rows == 0:
        raise DataFileError(path, "a table of vertices must have at least one row; got none.")
    if encoder is not None:
        return table, roles, encoder, [*notes, *encoder.unseen(table)]
    features = table.select([n for n in names if n in asked])
    encoder = TableEncoder.fit(features, path, columns.categorical, columns.features)
    return table, roles, encoder, [*notes, *encoder.notes]


def _check_ids(ids: pa.ChunkedArray, path: Path) -> pa.Array:
    """Check that every vertex has an id of its own."""
    if (row := ids.index("").as_py()) >= 0:
        raise at_row(path, row, "the vertex id is empty. Give every vertex an id of its own.")
    if len(ids.unique()) < len(ids):
        words, codes = distinct(ids)
        first = np.unique(codes, return_index=True)[1].tolist()
        row = int(np.setdiff1d(np.arange(len(codes)), first)[0])
        problem = f"{words[codes[row]]!r} is also on {place_of_row(path, first[codes[row]])}"
        raise at_row(path, row, f"vertex id {problem}. Keep one, or name another column by --id.")
    return ids.combine_chunks()


def _encode_labels(
    column: Any, name: str, unlabelled: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[Any], list[str]]:
    """Number the classes (see :mod:`graphfilter.graph.labels`); note what is unlabelled."""
    words, rows = distinct(as_text(drop_nan(column)))
    codes, classes = encode_distinct(words, unlabelled)
    n_rows = np.bincount(rows, minlength=len(words))
    missing: Counter[str] = Counter()
    for word, code, n in zip(words, codes.tolist(), n_rows.tolist(), strict=True):
        if code < 0:
            missing[repr(word.strip()) if word.strip() else "empty"] += n
    said = ", ".join(f"{n:,} {word}" for word, n in missing.most_common(10))
    notes = [f"column {name!r}: {said} read as unlabelled."] if said else []
    return codes[rows], classes, notes


def _read_split(text: pa.ChunkedArray, path: Path) -> tuple[Split, ...]:
    words, codes = distinct(text)
    part = np.array([_PARTS.get(word.lower(), -2) for word in words])[codes]
    if (part == -2).any():
        row = int((part == -2).argmax())
        got = f"got {words[codes[row]]!r}"
        raise at_row(path, row, f"the split must be train, val, test or empty; {got}.")
    split = Split(part == 0, part == 1, part == 2, rule="given")
    return (split,) if (part >= 0).any() else ()
