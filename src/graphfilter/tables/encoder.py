"""From the columns of a vertex table to a feature matrix, the same way every time.

What was decided (:mod:`.understand`) is kept in a :class:`TableEncoder`, saved with a model, so
that a new table is encoded as the table the model was trained on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.tables import dates, words
from graphfilter.tables.cells import (
    as_text,
    distinct,
    is_text,
    is_usable,
    missing_column,
    value_type,
)
from graphfilter.tables.columns import (
    KINDS,
    Context,
    EncodedColumn,
    Features,
    fill_of,
    fit_boolean,
    fit_category,
    fit_codes,
    fit_date,
    fit_list,
    fit_number,
    fit_text,
    fit_truths,
    fit_words,
    otherwise,
)
from graphfilter.tables.entries import Entries, encode_column
from graphfilter.tables.numbers import (
    NUMBERS_PER_WORD,
    are_codes,
    find_decimal_signs,
    not_a_number,
    parse_numbers,
)
from graphfilter.tables.source import reading_table
from graphfilter.tables.words import find_blanks
from graphfilter.util.errors import (
    ConfigError,
    DataFileError,
    GraphError,
    ModelFileError,
    check_name,
)
from graphfilter.util.words import count, listed_names

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class TableEncoder:
    """How a table of vertices becomes a feature matrix.

    Attributes
    ----------
    columns : tuple of EncodedColumn
        In the order of the table the encoder was fitted to.
    notes : tuple of str
        How columns were understood, and which were left out, in sentences.
    roles : tuple of (role, column)
        Which column of the tables was the id, the label, an end of an edge, and so on.
    vertex_kind : str
        The column of vertex types, where there is one.

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
    roles: tuple[tuple[str, str], ...] = ()
    vertex_kind: str = ""

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
        *,
        kinds: Mapping[str, str] | None = None,
        decimal: str | None = None,
        hint: str | None = None,
        vertex_kind: str | None = None,
    ) -> Self:
        """Decide how each column of ``table`` is encoded.

        A column is what its cells are: numbers, truth values, dates, lists of numbers, or words.
        Where most cells are numbers and more than one in twenty is not, that is taken for a mistake
        in the file. Whole numbers of which some begin with a zero are words. Of words, a column of
        more than 20 different cells that hold several words each is text; one of more than 1,000
        different ones, or of which more than half are different (in a table of more than 20 rows),
        is left out.

        Parameters
        ----------
        table : pyarrow.Table
            The columns that may be features. Text is read as in a CSV: '1' is a number.
        path : path
            The file the table came from, for messages.
        categorical, required : names
            Columns to one-hot encode whatever they hold; columns that must not be left out.
        kinds : mapping from names to one of number, boolean, category, date, text, drop
            What columns are, where it should not be guessed.
        decimal, hint : str, optional
            The decimal sign of numbers in text; the one to expect where no cell shows it.
        vertex_kind : str, optional
            The column of vertex types. A column that all vertices of a type
            lack is understood on the others, and on those it is not missing.
        """
        told = {**dict.fromkeys(categorical, "category"), **(kinds or {})}
        for kind in told.values():
            check_name("kind of column", kind, (*KINDS[:-1], "drop"))
        signs = {name: find_decimal_signs(table.column(name)) for name in table.column_names}
        if vertex_kind is not None:
            told.setdefault(vertex_kind, "category")
        with reading_table(path):
            kinds_of = None if vertex_kind is None else VertexKinds.of(table.column(vertex_kind))
        about = Context(path, told, decimal, signs, hint)
        columns, notes, plain = [], [], []
        owned: dict[tuple[str, ...], list[str]] = {}
        for name in table.column_names:
            cells, owners = table.column(name), ()
            if kinds_of is not None and name != vertex_kind:
                cells, owners = kinds_of.own(cells)
            column, note = understand(cells, name, about)
            if column is not None and owners:
                column = replace(column, of_kinds=owners)
                owned.setdefault(owners, []).append(name)
            if column is not None and column.kind == "number" and not (note or name in told):
                plain += [name] if is_text(value_type(cells)) else []
            if column is not None:
                columns.append(column)
            elif told.get(name) != "drop" and (name in required or name in told):
                remedy = "Set its type with `kinds=(('NAME', 'KIND'),)`, or `drop` it."
                raise DataFileError(path, f"{note} It was requested by name. {remedy}")
            if note:
                notes.append(note)
        notes += [
            f"Only vertices whose {vertex_kind!r} is {' or '.join(map(repr, owners))} have "
            f"{listed_names(names)}."
            for owners, names in owned.items()
        ]
        if plain:
            many = f"{count(len(plain), 'column')} read as numbers ({listed_names(plain)})"
            notes.append(f"{many}; to change this: `kinds=(('NAME', 'category'),)`.")
        if gaps := [column.name for column in columns if column.marks_missing]:
            many = count(len(gaps), "column has", "columns have")
            notes.append(
                f"{many} missing values ({listed_names(gaps)}): replaced by the median, and "
                "marked in a feature of their own."
            )
        return cls(tuple(columns), tuple(notes), vertex_kind=vertex_kind or "")

    def transform(self, table: pa.Table, path: str | PathLike[str]) -> Features:
        """Encode a table: float32 (n, d), in CSR form where under a quarter is non-zero.

        The columns are found by name, in any order; others are ignored. A word that is new, in a
        column of categories, is all zeros. A missing number is the median of the table that was
        fitted.
        """
        return self.encode(table, path)[0]

    def encode(
        self, table: pa.Table, path: str | PathLike[str]
    ) -> tuple[Features, tuple[str, ...]]:
        """Encode a table as :meth:`transform` does; return also what there is to say about it."""
        parts: list[Entries] = []
        notes: list[str] = []
        names = dict.fromkeys(table.column_names)
        kind = [self.vertex_kind] if self.vertex_kind else []
        for name in (*(column.name for column in self.columns), *kind):
            if name not in names:
                raise missing_column(path, name, list(names))
        kinds = table.column(self.vertex_kind) if self.vertex_kind else None
        for column in self.columns:
            entries, note = encode_column(table.column(column.name), column, path, kinds)
            parts.append(entries)
            notes += [note] if note else []
        if not parts:
            return np.zeros((table.num_rows, 0), dtype=np.float32), ()
        index, data, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        shape = (table.num_rows, len(indptr) - 1)
        matrix = sp.csc_array((data, index, indptr), shape=shape)
        dense = 4 * matrix.nnz >= shape[0] * shape[1]
        return matrix.toarray() if dense else matrix.tocsr(), tuple(notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the encoder as plain JSON values."""
        columns = [column.to_dict() for column in self.columns]
        kind = {"vertex_kind": self.vertex_kind} if self.vertex_kind else {}
        return {"columns": columns, "notes": list(self.notes), "roles": dict(self.roles), **kind}

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Make an encoder from what :meth:`to_dict` gave."""
        try:
            columns = tuple(map(EncodedColumn.from_dict, values["columns"]))
            roles = tuple((str(k), str(v)) for k, v in values.get("roles", {}).items())
            kind = str(values.get("vertex_kind", ""))
            return cls(columns, tuple(map(str, values["notes"])), roles, kind)
        except (
            AttributeError, KeyError, TypeError, ValueError, OverflowError, ConfigError
        ) as error:  # fmt: skip
            raise ModelFileError(f"the saved table encoder is damaged ({error!r}).") from None


_ID_NAME = re.compile(r"(?i)(^|[\s_.-])(id|ids|uuid|guid|key|nr|no|nummer|number|index)\.?$")
_CAMEL_ID = re.compile(r"[a-z](Id|ID|Nr|No)$")


def understand(column: Any, name: str, about: Context) -> tuple[EncodedColumn | None, str]:
    """Decide on one column; the note is '' where there is nothing to say."""
    import pyarrow.types as is_type

    told, kind = about.kinds.get(name), value_type(column)
    if told == "drop":
        return None, ""
    if is_type.is_list(kind) or is_type.is_large_list(kind) or is_type.is_fixed_size_list(kind):
        return fit_list(column, name)
    if told is None and dates.is_date_type(kind):
        told = "date"
    if not (is_usable(kind) or dates.is_date_type(kind)):
        return None, f"column {name!r} left out: {kind} is neither a number nor a word."
    if told is not None:
        fitted, note = _FIT[told](column, name, about)
        return None if fitted is None else replace(fitted, told=name in about.kinds), note
    if is_type.is_boolean(kind):
        return EncodedColumn(name, "boolean", **fill_of(words.read_truths(column)[0])), ""
    if is_text(kind) and (found := fit_truths(column, name)) is not None:
        return found
    if is_text(kind) and are_codes(column):
        return fit_codes(column, name, about)
    read = parse_numbers(column, about.decimal_of(name))
    n_words, n_numbers = int(read.is_word.sum()), int((~np.isnan(read.values)).sum())
    if n_words + n_numbers == 0:
        return None, f"column {name!r} left out: it is empty."
    if n_numbers > NUMBERS_PER_WORD * n_words:
        if note := _looks_like_an_id(read.values, name):
            return None, note
        return fit_number(column, name, about, read)
    if (found := fit_date(column, name, about))[0] is not None:
        return found
    if n_numbers > n_words:
        remedy = (
            f"Fix it, or pass `kinds={((name, 'number'),)}` (other words are then missing values), "
            f"`categorical={(name,)}`, or `drop={(name,)}`."
        )
        raise not_a_number(column, about.where, name, int(read.is_word.argmax()), remedy)
    return fit_words(column, name, about)


_FIT: dict[str, Any] = {
    "number": fit_number,
    "boolean": fit_boolean,
    "category": fit_category,
    "date": fit_date,
    "text": fit_text,
}


def _looks_like_an_id(values: NDArray[np.float64], name: str) -> str:
    """Say why a column of numbers is left out, '' where it is not: a number for each row."""
    named = name.startswith("Unnamed: ") or _ID_NAME.search(name) or _CAMEL_ID.search(name)
    if not named or len(values) <= words.FEW_ROWS:
        return ""
    if np.isnan(values).any() or (values != np.floor(values)).any():
        return ""
    if len(np.unique(values)) < len(values):
        return ""
    return (
        f"column {name!r} left out: a different number in each row looks like an identifier "
        f"({otherwise(name, 'number')})."
    )


# More than this is a column of other content.
MOST_KINDS = 16


@dataclass(frozen=True, eq=False)
class VertexKinds:
    """The type of each vertex of a table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> kinds = VertexKinds.of(pa.chunked_array([["account", "device", "account"]]))
    >>> cells, owners = kinds.own(pa.chunked_array([["17.50", "", "3.00"]]))
    >>> cells.to_pylist(), owners
    (['17.50', '3.00'], ('account',))
    """

    names: list[str]
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, column: Any) -> VertexKinds:
        names, codes = distinct(as_text(column, trim=True))
        if len(names) > MOST_KINDS:
            raise GraphError(
                f"vertices must have at most {MOST_KINDS} types; got {count(len(names), 'type')}, "
                f"such as {names[0]!r}. Name another column with `vertex_kind`."
            )
        return cls(names, codes)

    def own(self, column: Any) -> tuple[Any, tuple[str, ...]]:
        """Return the cells of the kinds that have a column, and these; () where all or none do."""
        import pyarrow as pa

        known = self.codes[~find_blanks(column)]
        has = np.bincount(known, minlength=len(self.names)) > 0
        if has.all() or not has.any():
            return column, ()
        owners = tuple(name for name, own in zip(self.names, has.tolist(), strict=True) if own)
        return column.filter(pa.array(has[self.codes])), tuple(sorted(owners))
