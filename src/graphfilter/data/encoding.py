"""From the columns of a vertex table to a feature matrix, the same way every time.

Numbers stay as they are, true and false become 1 and 0, and a column of words becomes one 0/1
column a word. What was decided is kept in a :class:`TableEncoder`, saved with a model, so that a
new table is encoded as the table the model was trained on.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.errors import ConfigError, DataFileError, ModelFileError, check_name
from graphfilter.graph import Features
from graphfilter.graph.edges import count

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_CATEGORIES = 1000
_FEW_ROWS = 20
_MISSING_WORDS = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none"})
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}


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
        """One name a column of the matrix: 'age' for a number, 'colour=red' for a category."""
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

        A category that was not there in ``fit`` (see :meth:`unseen`), or an empty cell in a
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
        """Say in sentences which categories of ``table`` were not there in ``fit``."""
        notes, names = [], set(table.column_names)
        for column in self.columns:
            if column.kind == "category" and column.name in names:
                words = set(as_text(table.column(column.name), trim=True).unique().to_pylist())
                if new := sorted(words - set(column.categories) - {""}):
                    seen = f"{count(len(new), 'value')} not seen in training ({_listed(new)})"
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


def is_parquet(path: str | PathLike[str]) -> bool:
    return str(path).lower().endswith(".parquet")


def place_of_row(path: str | PathLike[str], row: int) -> str:
    """Say where a row, counted from 0, is to be found: by line in text, by row in Parquet."""
    return f"row {row + 1}" if is_parquet(path) else f"line {row + 2}"


def at_row(
    path: str | PathLike[str], row: int, problem: str, *, first_line: int = 2
) -> DataFileError:
    """Make the error for what is wrong in a row, counted from 0."""
    if is_parquet(path):
        return DataFileError(path, f"row {row + 1}: {problem}")
    return DataFileError(path, problem, line=row + first_line)


def missing_column(path: str | PathLike[str], name: str, names: Sequence[str]) -> DataFileError:
    """Make the error for a column that is not there: the nearest name, and those there are."""
    near = get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return DataFileError(path, f"there is no column {name!r}{hint} Columns: {_listed(names)}.")


def as_text(column: Any, *, trim: bool = False) -> Any:
    """Turn a column of any type into strings; null becomes ''."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = column.cast(pa.string()).fill_null("")
    return pc.call_function("utf8_trim_whitespace", [text]) if trim else text


def distinct(text: pa.ChunkedArray) -> tuple[list[str], NDArray[np.int32]]:
    """List the different strings by first appearance, and the number in it of each row's."""
    encoded = text.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


def index_in(text: pa.ChunkedArray, known: pa.Array) -> NDArray[np.int32]:
    """Return where each string stands in ``known``, -1 for nowhere."""
    import pyarrow.compute as pc

    found = pc.call_function("index_in", [text], pc.SetLookupOptions(value_set=known))
    return found.fill_null(-1).to_numpy()


def read_numbers(
    column: Any,
    path: str | PathLike[str],
    name: str,
    remedy: str,
    *,
    least: float = -np.inf,
    first_row: int = 0,
) -> NDArray[np.float32]:
    """Read a column as finite numbers, or raise at the first row that holds none."""
    exact, is_word = _parse_numbers(column)
    with np.errstate(over="ignore"):
        values = exact.astype(np.float32)
    bad = ~(np.isfinite(values) & (values >= least))
    if not bad.any():
        return values
    row = int(bad.argmax())
    got = column[row].as_py()
    if is_word[row]:
        problem = f"{got!r} is not a number"
    elif np.isnan(values[row]):
        problem = f"it is missing (got {got!r})"
    elif np.isinf(values[row]):
        problem = f"{got} is infinite, or too large for float32"
    else:
        problem = f"{got} is less than {least:g}"
    message = f"column {name!r} must hold a number: {problem}. {remedy}"
    raise at_row(path, first_row + row, message)


def _parse_numbers(column: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return numbers, NaN where there is none, and a mask of the words that are not numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    no_words = np.zeros(len(column), dtype=bool)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_boolean(kind):
        return np.asarray(column.cast(pa.int8()).cast(pa.float64())), no_words
    if not _is_text(kind):
        return np.asarray(column.cast(pa.float64(), safe=False)), no_words
    text = as_text(column, trim=True)
    try:
        return np.asarray(pc.cast(text, pa.float64())), no_words
    except pa.ArrowInvalid:
        pass
    # Some cell is no number: look at each different word once.
    words, codes = distinct(text)
    words = [word.lower() for word in words]
    missing = [word in _MISSING_WORDS for word in words]
    if all(gone or word in _TRUTH for word, gone in zip(words, missing, strict=True)):
        numbers = np.array([_TRUTH.get(word, np.nan) for word in words])
    else:
        numbers = np.array([_to_number(word) for word in words])
    is_word = np.isnan(numbers) & ~np.array(missing)
    return numbers[codes], is_word[codes]


def _to_number(word: str) -> float:
    import pyarrow as pa

    try:
        return pa.scalar(word).cast(pa.float64()).as_py()
    except pa.ArrowInvalid:
        return np.nan


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow.types as is_type

    return is_type.is_string(kind) or is_type.is_large_string(kind)


def _is_usable(kind: Any) -> bool:
    """Tell numbers, truth values and strings from dates, lists and bytes (Parquet has them)."""
    import pyarrow.types as is_type

    kind = kind.value_type if is_type.is_dictionary(kind) else kind
    is_number = is_type.is_integer(kind) or is_type.is_floating(kind) or is_type.is_decimal(kind)
    return is_number or is_type.is_boolean(kind) or is_type.is_null(kind) or _is_text(kind)


def _fit_column(
    column: Any, name: str, path: str | PathLike[str], categorical: bool
) -> tuple[EncodedColumn | None, str]:
    """Decide on one column; the note is '' where there is nothing to say."""
    if not _is_usable(column.type):
        return None, f"column {name!r} left out: {column.type} is neither a number nor a word."
    if not categorical:
        values, is_word = _parse_numbers(column)
        n_words, n_numbers = int(is_word.sum()), int((~np.isnan(values)).sum())
        if n_words + n_numbers == 0:
            return None, f"column {name!r} left out: it is empty."
        if n_words == 0:
            return EncodedColumn(name, "number"), ""
        if n_numbers > n_words:
            remedy = f"Mend it, or pass --categorical {name}, or --drop {name}."
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

    if not _is_usable(column.type):
        problem = f"column {how.name!r} must hold a {how.kind} a row; got {column.type}."
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


def _listed(names: Sequence[str], most: int = 10) -> str:
    more = f", ... ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
