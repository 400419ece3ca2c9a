"""Graphs from two tables, one of edges and one of vertices: files, or frames."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from graphfilter.graph.graph import Graph
from graphfilter.tables import Columns, Elsewhere, TableEncoder, TextOptions, open_pair, read_parts


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
    remedy: str | None = None,
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
    remedy : str, optional
        What an error about an edge to an unknown vertex advises.

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
        elsewhere=None if remedy is None else Elsewhere(remedy=remedy),
    )  # fmt: skip
    return Graph.from_parts(parts), parts.encoder
