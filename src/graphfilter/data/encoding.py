"""From the columns of a vertex table to a feature matrix, the same way every time.

Numbers stay as they are, true and false become 1 and 0, and a column of words becomes one 0/1
column per word. What was decided is kept in a :class:`TableEncoder`, saved with a model, so that a
new table is encoded as the table the model was trained on.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.cells import (
    as_text,
    index_in,
    is_usable,
    listed_names,
    missing_column,
    parse_numbers,
    read_numbers,
)
from graphfilter.errors import ConfigError, DataFileError, ModelFileError, check_name
from graphfilter.graph import Features
from graphfilter.graph.edges import count

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_CATEGORIES = 1000
_FEW_ROWS = 20


@dataclass(frozen=True)
class EncodedColumn:
    """A column that is used, and how: as a number, or one-hot over ``categories``."""

    name: str
    kind: Literal["number", "category"]
    categories: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_name("kind of column", self.kind, ("number", "category"))

    @property
    def feature_names(self) -> tuple[str, ...]:
        if self.kind == "number":
            return (self.name,)
        return tuple(f"{self.name}={category}" for category in self.categories)


@dataclass(frozen=True)
class TableEncoder:
    """How a table of vertices becomes a feature matrix.

    Attributes
    ----------
    columns : tuple of EncodedColumn
        In the order of the table the encoder was fitted to.
    notes : tuple of str
        Which columns were one-hot encoded or left out, in sentences.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["31", "40"], "colour": ["red", "blue"]})
    >>> encoder = TableEncoder.fit(table, "people.csv")
    >>> encoder.feature_names
    ('age', 'colour=blue', 'colour=red')
    >>> encoder.transform(pa.table({"colour": ["red", "green"], "age": [5, 6]}), "new.csv")
    array([[5., 0., 1.],
           [6., 0., 0.]], dtype=float32)
    """

    columns: tuple[EncodedColumn, ...]
    notes: tuple[str, ...] = ()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per column of the matrix: 'age' for a number, 'colour=red' for a category."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @classmethod
    def fit(
        cls,
        table: pa.Table,
        path: str | PathLike[str],
        categorical: Collection[str] = (),
        required: Collection[str] = (),
    ) -> Self:
        """Decide how each column of ``table`` is encoded.

        A column is a number where every value is one. Where most values are numbers and some are
        not, that is taken for a mistake in the file. All other columns are categories, except
        that a column of more than 1,000 different words, or of words of which more than half are
        different (in a table of more than 20 rows), is left out.

        Parameters
        ----------
        table : pyarrow.Table
            The columns that may be features. Text is read as in a CSV: '1' is a number.
        path : path
            The file the table came from, for messages.
        categorical, required : names
            Columns to one-hot encode whatever they hold; columns that must not be left out.
        """
        columns, notes = [], []
        for name in table.column_names:
            column, note = _fit_column(table.column(name), name, path, name in categorical)
            if column is not None:
                columns.append(column)
            elif name in required or name in categorical:
                remedy = "Name words in --categorical, turn dates into numbers, or --drop it."
                raise DataFileError(path, f"{note} It was asked for. {remedy}")
            if note:
                notes.append(note)
        return cls(tuple(columns), tuple(notes))

    def transform(self, table: pa.Table, path: str | PathLike[str]) -> Features:
        """Encode a table: float32 (n, d), in CSR form where under a quarter is non-zero.

        A category that ``fit`` did not see (see :meth:`unseen`), or an empty cell in a
        column of categories, is all zeros.
        """
        parts, names = [], dict.fromkeys(table.column_names)
        for column in self.columns:
            if column.name not in names:
                raise missing_column(path, column.name, list(names))
            parts.append(_encode_column(table.column(column.name), column, path))
        if not parts:
            return np.zeros((table.num_rows, 0), dtype=np.float32)
        index, data, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        shape = (table.num_rows, len(indptr) - 1)
        matrix = sp.csc_array((data, index, indptr), shape=shape)
        return matrix.tocsr() if 4 * matrix.nnz < shape[0] * shape[1] else matrix.toarray()

    def unseen(self, table: pa.Table) -> tuple[str, ...]:
        """Return sentences that name the categories of ``table`` that ``fit`` did not see."""
        notes, names = [], set(table.column_names)
        for column in self.columns:
            if column.kind == "category" and column.name in names:
                words = set(as_text(table.column(column.name), trim=True).unique().to_pylist())
                if new := sorted(words - set(column.categories) - {""}):
                    seen = f"{count(len(new), 'value')} not seen in training ({listed_names(new)})"
                    notes.append(f"column {column.name!r} has {seen}: encoded as zeros.")
        return tuple(notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the encoder as plain JSON values."""
        columns = [
            {"name": c.name, "kind": c.kind, "categories": list(c.categories)} for c in self.columns
        ]
        return {"columns": columns, "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Make an encoder from what :meth:`to_dict` gave."""
        try:
            columns = tuple(
                EncodedColumn(str(c["name"]), c["kind"], tuple(map(str, c["categories"])))
                for c in values["columns"]
            )
            return cls(columns, tuple(map(str, values["notes"])))
        except (KeyError, TypeError, ConfigError) as error:
            raise ModelFileError(f"the saved table encoder is damaged ({error!r}).") from None


def _fit_column(
    column: Any, name: str, path: str | PathLike[str], categorical: bool
) -> tuple[EncodedColumn | None, str]:
    """Decide on one column; the note is '' where there is nothing to say."""
    if not is_usable(column.type):
        return None, f"column {name!r} left out: {column.type} is neither a number nor a word."
    if not categorical:
        values, is_word = parse_numbers(column)
        n_words, n_numbers = int(is_word.sum()), int((~np.isnan(values)).sum())
        if n_words + n_numbers == 0:
            return None, f"column {name!r} left out: it is empty."
        if n_words == 0:
            return EncodedColumn(name, "number"), ""
        if n_numbers > n_words:
            remedy = f"Fix it, or pass --categorical {name}, or --drop {name}."
            read_numbers(column, path, name, remedy)
    words = as_text(column, trim=True).unique().to_pylist()
    categories = tuple(sorted(word for word in words if word))
    n_rows, n = len(column), len(categories)
    many = n > _MOST_CATEGORIES or (n_rows > _FEW_ROWS and 2 * n > n_rows)
    if many and not categorical:
        seen = f"{count(n, 'different value')} in {count(n_rows, 'row')}"
        return None, f"column {name!r} left out: {seen} look like text or identifiers."
    empty = ", empty cells as zeros" if n < len(words) else ""
    note = f"column {name!r} has {count(n, 'value')}: one-hot encoded{empty}."
    return EncodedColumn(name, "category", categories), note


def _encode_column(
    column: Any, how: EncodedColumn, path: str | PathLike[str]
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]:
    """Return rows and values of the non-zeros, feature by feature, and how many each has."""
    import pyarrow as pa

    if not is_usable(column.type):
        problem = f"column {how.name!r} must hold one {how.kind} per row; got {column.type}."
        raise DataFileError(path, problem)
    if how.kind == "number":
        remedy = f"Fill it in, or train without the column (--drop {how.name})."
        values = read_numbers(column, path, how.name, remedy)
        rows = np.flatnonzero(values)
        return rows.astype(np.int32), values[rows], np.array([len(rows)])
    categories = pa.array(how.categories, type=pa.string())
    codes = index_in(as_text(column, trim=True), categories)
    rows = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0) :]
    counts = np.bincount(codes[rows], minlength=len(how.categories))
    return rows.astype(np.int32), np.ones(len(rows), dtype=np.float32), counts
