"""What the columns of a table of vertices are: decided the same way in memory and on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphfilter.errors import DataFileError
from graphfilter.tables.cells import is_text, missing_column
from graphfilter.tables.columns import Columns, is_index, say_guesses
from graphfilter.tables.encoding import TableEncoder
from graphfilter.tables.label_columns import read_labels, read_split
from graphfilter.tables.labels import encode_labels
from graphfilter.tables.roles import guess_id, guess_vertex_roles
from graphfilter.tables.source import TableSource, at_row, place_of_row, reading_table
from graphfilter.tables.suggestions import suggest

if TYPE_CHECKING:
    import pyarrow as pa


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
