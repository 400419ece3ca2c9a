"""Reading a graph from two tables, one of edges and one of vertices: files, or frames."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from graphfilter.data.readers.formats import open_table
from graphfilter.data.readers.text_format import TextOptions
from graphfilter.errors import DataFileError
from graphfilter.graph import Graph
from graphfilter.graph.tables.build import build_graph
from graphfilter.graph.tables.columns import Columns
from graphfilter.graph.tables.encoding import TableEncoder
from graphfilter.graph.tables.frames import FrameTable
from graphfilter.graph.tables.source import TableSource


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
        None, ? or -1 is unlabelled, and the notes count those; :mod:`graphfilter.graph.labels`
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
    check_not_same(edges, vertices, columns)
    return build_graph(
        Graph, _open(edges, "edges", text), _open(vertices, "vertices", text), columns,
        allow_missing=allow_missing, encoder=encoder, unlabelled=unlabelled, directed=directed,
    )  # fmt: skip


def _open(table: Any, label: str, text: TextOptions | None) -> TableSource:
    if isinstance(table, str | PathLike):
        return open_table(Path(table), text)
    return FrameTable(table, label)


def check_not_same(edges: Any, vertices: Any, columns: Columns) -> None:
    """Raise where one file is given for both tables, and not told what is an edge in it."""
    if not (columns.source and columns.target) and _same(edges, vertices):
        # Guessed by position, the ends of an edge could be a vertex and its label.
        raise DataFileError(
            edges,
            "must be a table of edges; it is the table of vertices. Give another file, or another "
            "sheet (book.xlsx#sheet), or name its columns with --source and --target.",
        )


def _same(edges: Any, vertices: Any) -> bool:
    if isinstance(edges, str | PathLike) and isinstance(vertices, str | PathLike):
        return Path(edges).resolve() == Path(vertices).resolve()
    return False
