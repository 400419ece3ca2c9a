"""What a table of edges and a table of vertices say of a graph, in files or in memory.

:class:`VertexColumns` decides what the columns of the vertices are, the same way in memory and on
disk; :func:`read_parts` reads both tables by it.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.splits import Split
from graphfilter.tables.cells import distinct, index_in, is_text, missing_column
from graphfilter.tables.columns import Features
from graphfilter.tables.dates import Times
from graphfilter.tables.edges import Elsewhere, note_near_ids, read_edges
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.formats import frame_table
from graphfilter.tables.labels import UNLABELLED, encode_labels, read_labels, read_split
from graphfilter.tables.roles import (
    Columns,
    choose_edge_roles,
    choose_merge,
    guess_id,
    guess_vertex_roles,
    is_index,
    say_guesses,
)
from graphfilter.tables.source import TableSource, at_row, place_of_row, reading_table
from graphfilter.tables.suggestions import say_unused, suggest
from graphfilter.util.errors import DataFileError, GraphFilterError, check_name

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class GraphParts:
    """What two tables say of a graph, in the form that one is built from.

    Attributes
    ----------
    pairs, weights, kinds, times : arrays
        The rows of the table of edges, as vertex numbers; None where nothing is said.
    merge : str
        What the rows of one edge weigh together.
    n_vertices : int
    directed : bool
        Whether to keep which way the edges go.
    vertex_names : list
        The ids, in the order of the table.
    features, feature_names : array or None, tuple of str or None
    labels, classes : arrays or None
        Encoded word by word, not vertex by vertex.
    splits : tuple of Split
    name : str
        That of the table of vertices.
    notes : tuple of str
        What was found and guessed.
    encoder : TableEncoder
        The one given, or the one fitted to the vertices.
    others : tuple of str
        Ids of vertices that are known from elsewhere and not in the table: numbered after its own.
    """

    pairs: NDArray[np.int32]
    weights: NDArray[np.float32] | None
    kinds: NDArray[Any] | None
    times: Times | None
    merge: str
    n_vertices: int
    directed: bool
    vertex_names: list[Any]
    features: Features | None
    feature_names: tuple[str, ...] | None
    labels: NDArray[np.int64] | None
    classes: NDArray[Any] | None
    splits: tuple[Split, ...]
    name: str
    notes: tuple[str, ...]
    encoder: TableEncoder
    others: tuple[str, ...] = ()


@contextmanager
def telling(notes: Sequence[str]) -> Generator[None]:
    """Send with an error what was found and guessed until then, as its notes."""
    try:
        yield
    except GraphFilterError as error:
        for note in notes:
            error.add_note(note)
        raise


def read_parts(
    edges: TableSource,
    vertices: TableSource,
    columns: Columns,
    *,
    allow_missing: bool = False,
    encoder: TableEncoder | None = None,
    unlabelled: Sequence[str] | None = None,
    directed: bool = False,
    elsewhere: Elsewhere | None = None,
) -> GraphParts:
    """Read what two tables say of a graph; edges may name vertices that are known elsewhere."""
    import pyarrow as pa

    edges, vertices = (table.cleaning(columns.clean_ids) for table in (edges, vertices))
    unlabelled = unlabelled or columns.unlabelled or UNLABELLED
    notes = [*vertices.notes, *edges.notes]
    with telling(notes):
        own = VertexColumns(vertices, edges, columns, encoder)
        table = _read_vertices(vertices, own.needed, columns.drop if own.all_free else None)
        own.settle(table, notes)
        roles, remembered = own.roles, own.remembered
        if roles["id"] not in table.column_names:
            table = vertices.read([*table.column_names, roles["id"]])
        with reading_table(vertices):
            ids = _check_ids(vertices.as_ids(table.column(roles["id"])), vertices)
        notes += note_near_ids(ids, vertices)
        others = _others(elsewhere, ids)
        ends = pa.concat_arrays([ids, others]) if len(others) else ids
        edge_roles, text = choose_edge_roles(edges, vertices, ends, columns, remembered)
        notes += text if remembered else [*text, *say_unused(edges, edge_roles)]
        attributes = read_attributes(
            table, vertices, roles, unlabelled, notes, check=encoder is None
        )
        features, encoder = _encode(table, vertices, own, encoder, notes)
        rows = read_edges(edges, edge_roles, vertices, ends, roles["id"], allow_missing, elsewhere)
        notes += rows.notes
        if edge_roles.header:
            ends = {"source": edge_roles.source, "target": edge_roles.target}
            roles |= ends | ({"weight": edge_roles.weight} if edge_roles.weight else {})
        encoder = encoder if remembered else replace(encoder, roles=tuple(roles.items()))
        return GraphParts(
            rows.pairs,
            rows.weights,
            rows.kinds,
            rows.times,
            choose_merge(columns, edge_roles.weight),
            n_vertices=len(ids),
            directed=directed or columns.directed,
            vertex_names=_names(table, vertices, roles["id"], ids),
            features=features,
            feature_names=encoder.feature_names if encoder.columns else None,
            labels=attributes.get("labels"),
            classes=attributes.get("classes"),
            splits=attributes.get("splits", ()),
            name=vertices.name.split(".")[0],
            notes=tuple(notes),
            encoder=encoder,
            others=tuple(others.to_pylist()),
        )


def _names(table: pa.Table, source: TableSource, column: str, ids: pa.Array) -> list[Any]:
    """Return the ids as the table has them: values of their own type, or text."""
    typed = table.column(column)
    keep = source.is_typed and not (source.cleans_ids and is_text(typed.type))
    return (typed if keep else ids).to_pylist()


def _others(elsewhere: Elsewhere | None, ids: pa.Array) -> pa.Array:
    """Return the ids that are known from elsewhere and not in the table."""
    import pyarrow as pa

    known = pa.array([] if elsewhere is None else elsewhere.ids, pa.string())
    return known.filter(pa.array(index_in(pa.chunked_array([known]), ids) < 0))


def _read_vertices(
    source: TableSource, needed: Collection[str], drop: Collection[str] | None
) -> pa.Table:
    """Read the columns that are needed; all but those to drop where that is said."""
    names = source.usable_names
    wanted = needed if drop is None else {*needed, *names}.difference(drop)
    table = source.read([name for name in names if name in wanted or name in needed])
    check_rows(table.num_rows, source)
    return table


def _check_ids(ids: pa.ChunkedArray, source: TableSource) -> pa.Array:
    """Check that every vertex has an id of its own."""
    check_named(ids, source)
    if len(ids.unique()) < len(ids):
        words, codes = distinct(ids)
        first = np.unique(codes, return_index=True)[1].tolist()
        row = int(np.setdiff1d(np.arange(len(codes)), first)[0])
        raise repeated_id(source, row, first[codes[row]], words[codes[row]])
    return ids.combine_chunks()


def _encode(
    table: pa.Table,
    source: TableSource,
    own: VertexColumns,
    encoder: TableEncoder | None,
    notes: list[str],
) -> tuple[Any, TableEncoder]:
    """Encode the features as the encoder says, or as one does that is fitted to them."""
    if encoder is None:
        encoder = own.fit_encoder(table, notes)
        return encoder.transform(table, source) if encoder.columns else None, encoder
    matrix, found_notes = encoder.encode(table, source)
    notes += found_notes
    return matrix if encoder.columns else None, encoder


class VertexColumns:
    """The columns of a table of vertices: first by name, then checked against its cells.

    Attributes
    ----------
    remembered : dict of str
        The roles of the table that an encoder was fitted to; empty without one.
    needed : set of str
        The columns that are told, guessed by name or asked for as features.
    all_free : bool
        Whether every column that has no role is a feature.
    roles : dict of str
        The column of each role, once they are settled.
    """

    def __init__(
        self,
        source: TableSource,
        edges: TableSource,
        columns: Columns,
        encoder: TableEncoder | None,
    ) -> None:
        self._source, self._edges, self._columns = source, edges, columns
        self.remembered = {} if encoder is None else dict(encoder.roles)
        self._asked = _asked_features(source, columns, encoder)
        self._not_free = self._asked.union(columns.drop)
        self._told, self._guesses = guess_vertex_roles(
            source, columns, self.remembered, self._not_free
        )
        by_name = {*self._told.values(), *(guess.column for guess in self._guesses)}
        self.needed = by_name | self._asked
        self.all_free = not columns.features and encoder is None
        self.roles: dict[str, str] = {}

    def settle(self, table: Any, notes: list[str]) -> None:
        """Settle the roles by the cells of a table, which may be on disk."""
        source, guesses = self._source, self._guesses
        if "id" not in self._told:
            by_name = next((guess for guess in guesses if guess.role == "id"), None)
            guesses = [guess for guess in guesses if guess.role != "id"]
            taken = {*self._not_free, *self._told.values(), *(guess.column for guess in guesses)}
            free = [name for name in source.usable_names if name not in taken]
            if not free:
                raise DataFileError(source, "no column is left for the id. Add an id column.")
            found = guess_id(source, table, self._edges, self._columns, by_name, free)
            guesses = [found, *guesses]
        self.roles = {**self._told, **{guess.role: guess.column for guess in guesses}}
        notes += say_guesses(source.name, guesses)
        if self.all_free:
            taken = {*self.roles.values(), *self._columns.drop}
            names = table.column_names
            self._asked |= {name for name in names if name not in taken and not is_index(name)}

    def fit_encoder(self, table: Any, notes: list[str]) -> TableEncoder:
        """Fit an encoder to the features."""
        columns, source = self._columns, self._source
        encoder = TableEncoder.fit(
            table.select([name for name in table.column_names if name in self._asked]), source,
            columns.categorical, columns.features, kinds=dict(columns.kinds),
            decimal=source.decimal, hint=source.decimal_hint, vertex_kind=columns.vertex_kind,
        )  # fmt: skip
        notes += encoder.notes
        labelled = "label" in self.roles or bool(columns.predicted)
        notes += suggest(table, encoder, source, labelled=labelled)
        return encoder


def _asked_features(table: TableSource, columns: Columns, encoder: TableEncoder | None) -> set[str]:
    """Return the columns that are asked for as features; they must be there."""
    asked = {*columns.features, *columns.categorical, *(name for name, _ in columns.kinds)}
    asked |= {columns.vertex_kind} if columns.vertex_kind is not None else set()
    if encoder is not None:
        asked = {column.name for column in encoder.columns} | {encoder.vertex_kind} - {""}
    names = table.names
    for name in sorted(asked.union(columns.drop).difference(names)):
        raise missing_column(table, name, names)
    return asked


def check_rows(n_rows: int, source: TableSource) -> None:
    """Raise where a table of vertices has no row."""
    if n_rows == 0:
        raise DataFileError(source, "a table of vertices must have at least one row; got none.")


def check_named(ids: pa.ChunkedArray, source: TableSource) -> None:
    """Raise where a vertex has no id."""
    if (row := ids.index("").as_py()) >= 0:
        raise at_row(source, row, "the vertex id is empty. Give every vertex an id of its own.")


def repeated_id(source: TableSource, row: int, first: int, word: str) -> DataFileError:
    """Return the error about an id that stands in two rows."""
    place, number = place_of_row(source, first)
    problem = f"vertex id {word!r} is also on {place} {number}"
    return at_row(source, row, f"{problem}. Keep one, or name another column with `id`.")


def read_attributes(
    table: Any,
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
            codes, classes, found_notes = read_labels(
                column, roles["label"], unlabelled, check=check
            )
            if source.is_typed and not is_text(column.type):
                codes, classes = encode_labels(column.to_pylist(), unlabelled=unlabelled)
            read["labels"], read["classes"] = codes, classes
            notes += found_notes
        if "split" in roles:
            read["splits"] = read_split(table[roles["split"]], source)
    return read


_COLUMNS = ("weight", "split", "edge_kind", "vertex_kind", "merge", "edge_time")
_SETTINGS = ("unlabelled", "allow_missing", "directed")


def read_frames(
    vertices: Any, edges: Any, roles: Mapping[str, str | None], options: Mapping[str, Any]
) -> GraphParts:
    """Read what two frames say of a graph; see :meth:`graphfilter.data.graph.Graph.from_frames`."""
    rest = dict(options)
    columns: dict[str, Any] = {**roles}
    for name in _COLUMNS:
        columns[name] = rest.pop(name, None)
    for name in ("features", "categorical", "drop"):
        columns[name] = tuple(rest.pop(name, ()))
    columns["clean_ids"] = bool(rest.pop("clean_ids", False))
    columns["kinds"] = tuple(rest.pop("kinds", {}).items())
    settings = {key: rest.pop(key) for key in _SETTINGS if key in rest}
    if rest:
        known = (*_COLUMNS, "features", "categorical", "drop", "kinds", "clean_ids", *_SETTINGS)
        check_name("option of from_frames", next(iter(rest)), known)
    tables = frame_table(edges, "edges"), frame_table(vertices, "vertices")
    return read_parts(*tables, Columns(**columns), **settings)
