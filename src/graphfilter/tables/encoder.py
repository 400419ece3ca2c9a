"""From the columns of a vertex table to a feature matrix, the same way every time.

What was decided is kept in a :class:`TableEncoder`, saved with a model, so that a new table is
encoded as the table the model was trained on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.tables import numbers, words
from graphfilter.tables.cells import Cells, commonest, index_in, missing_column
from graphfilter.tables.columns import READ_PER_WORD, EncodedColumn, Entries, Features, otherwise
from graphfilter.tables.dates import DateColumn, is_date_type
from graphfilter.tables.near import Near
from graphfilter.tables.rows import RowsEncoder
from graphfilter.util.arrow import pa, pc
from graphfilter.util.errors import DataFileError, ModelFileError, check_name
from graphfilter.util.records import convert
from graphfilter.util.words import count, listed_names

# The kinds of columns, by the names that users and saved runs call them. All but lists can be
# asked for.
KINDS: dict[str, type[EncodedColumn]] = {
    "number": numbers.NumberColumn,
    "boolean": words.TruthColumn,
    "category": words.CategoryColumn,
    "date": DateColumn,
    "text": words.TextColumn,
    "list": numbers.ListColumn,
}
ASKED_KINDS = (*(kind for kind in KINDS if kind != "list"), "drop")
# So many types of vertices, or of edges, are told apart; the rare ones of more are one.
MOST_KINDS = 16
OTHER_KIND = "other"
# Columns of one kind that are spoken of one by one.
_MOST_ALIKE = 3
_NAMES_AND_NUMBERS = re.compile(r"""'[^']*'|"[^"]*"|[0-9][0-9.,]*""")


class ColumnUse(NamedTuple):
    """What a column became: how it is read, how many features it made, and the first of them."""

    name: str
    kind: str
    n_features: int
    examples: tuple[str, ...]


@dataclass(frozen=True, repr=False)
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
    vertex_kinds : tuple of str
        The types that are told apart, where others are rare and taken together.
    rows : tuple of RowsEncoder
        The columns of edges, and attached tables: features after those of the columns.
    links : tuple of str
        Columns whose values join the vertices that share one.
    edge_kinds : tuple of str
        The types of edges that are told apart, where others are rare and taken together.
    near : Near, optional
        The coordinates by which vertices are joined with the nearest.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["31", "40"], "colour": ["red", "blue"]})
    >>> encoder = TableEncoder.fit(table, "people.csv")
    >>> encoder
    TableEncoder(1 number, 1 category)
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
    vertex_kinds: tuple[str, ...] = ()
    rows: tuple[RowsEncoder, ...] = ()
    links: tuple[str, ...] = ()
    edge_kinds: tuple[str, ...] = ()
    near: Near | None = None

    def __repr__(self) -> str:
        kinds = Counter(column.kind for column in self.columns)
        many = [f"{n} {kind}" for kind, n in kinds.items()] + [f"{len(self.rows)} rows"]
        return f"TableEncoder({', '.join(many if self.rows else many[:-1])})"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per column of the matrix: 'age' for a number, 'colour=red' for a category."""
        parts = (*self.columns, *self.rows)
        return tuple(name for part in parts for name in part.feature_names)

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
        most: int = words.MOST_WIDE,
    ) -> Self:
        """Decide how each column of ``table`` is encoded.

        A column is what its cells are: numbers, truth values, dates, lists of numbers, or words.
        Where most cells are numbers and more than one in twenty is not, that is taken for a mistake
        in the file. Whole numbers of which some begin with a zero are words. Of words, a column of
        more than 20 different cells that hold several words each, or names that have words in
        common, is text. Of more than 1,000 different values, or where more than half are different
        (in a table of more than 20 rows), those that two rows share are categories; where hardly
        any is shared, and nothing reads like text, the column is left out. All words together
        become at most 100,000 features.

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
        most : int
            How many features a column of words may become.
        """
        told = {**dict.fromkeys(categorical, "category"), **(kinds or {})}
        for kind in told.values():
            check_name("kind of column", kind, ASKED_KINDS)
        if vertex_kind is not None:
            told.setdefault(vertex_kind, "category")
        signs = {
            name: numbers.find_decimal_signs(Cells(table.column(name)))
            for name in table.column_names
        }
        points = sum(one.points for one in signs.values())
        commas = sum(one.commas for one in signs.values())
        of_file = numbers.DecimalSigns(points, commas).choose(None) if points or commas else None

        def sign_of(shown: numbers.DecimalSigns) -> str:
            # Where no cell of the file is clear, a lone point is decimal everywhere, and a lone
            # comma where commas do not separate columns.
            unclear = hint if "," in shown.unclear else "."
            return decimal or shown.choose(of_file or unclear)

        types, common = None, ()
        if vertex_kind is not None:
            types = Cells(table.column(vertex_kind), vertex_kind, path)
            if len(types.words) > MOST_KINDS:
                common = commonest(types.words, types.codes, MOST_KINDS - 1)
                types = Cells(_as_types(types.column, common))
        columns: list[EncodedColumn] = []
        notes: list[str] = []
        said: dict[str, dict[str, str]] = {}
        owned: dict[tuple[str, ...], dict[str, None]] = {}
        day_first = sign_of(numbers.DecimalSigns()) == ","

        def decide(name: str, most: int) -> list[EncodedColumn]:
            cells = Cells(
                table.column(name), name, path,
                decimal=sign_of(signs[name]), day_first=day_first, told=name in told, most=most,
            )  # fmt: skip
            owners = () if types is None or name == vertex_kind else _owners(cells, types)
            if types is not None and owners:
                cells = cells.filter(_are_of(types.text, owners))
            found = []
            for column, note in _understand(cells, told.get(name)):
                if column is None:
                    if told.get(name) != "drop" and (name in required or name in told):
                        remedy = (
                            "Set its type with `kinds=(('NAME', 'KIND'),)`; `drop` leaves it out."
                        )
                        raise DataFileError(path, f"{note} It was requested by name. {remedy}")
                    said.setdefault("", {})[name] = note
                    continue
                found.append(replace(column, of_kinds=owners, told=name in told))
                plain = column.kind == "number" and cells.is_text and name not in told
                said.setdefault(column.kind, {})[name] = note or "plain" * plain
            if owners and found:
                owned.setdefault(owners, {})[name] = None
            return found

        for name in table.column_names:
            columns += decide(name, most)
        if (most := _narrowest(columns)) < words.MOST_WIDE:
            wide = dict.fromkeys(one.name for one in columns if len(one.feature_names) > most)
            columns = [one for one in columns if one.name not in wide]
            columns += [one for name in wide for one in decide(name, most)]
        for kind, by_name in said.items():
            notes += _say_alike(kind, {name: note for name, note in by_name.items() if note})
        notes += [
            f"Only vertices whose {vertex_kind!r} is {' or '.join(map(repr, owners))} have "
            f"{listed_names(list(names))}."
            for owners, names in owned.items()
        ]
        if gaps := [column.name for column in columns if column.marks_missing]:
            many = count(len(gaps), "column has", "columns have")
            notes.append(
                f"{many} missing values ({listed_names(gaps)}): replaced by the median, and "
                "marked in a feature of their own."
            )
        if common:
            notes.append(
                f"The types in {vertex_kind!r} but {listed_names(common)} are taken as one."
            )
        kind = vertex_kind or ""
        return cls(tuple(columns), tuple(notes), vertex_kind=kind, vertex_kinds=common)

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
        parts, notes = self.encode_columns(table, path)
        return self.assemble(parts, table.num_rows), tuple(notes)

    def encode_columns(
        self, table: pa.Table, path: str | PathLike[str]
    ) -> tuple[list[Entries], list[str]]:
        """Encode each column of a table; return also what there is to say about them."""
        parts: list[Entries] = []
        notes: list[str] = []
        names = dict.fromkeys(table.column_names)
        kind = [self.vertex_kind] if self.vertex_kind else []
        for name in (*(column.name for column in self.columns), *kind):
            if name not in names:
                raise missing_column(path, name, list(names))
        kinds = self.types_of(table)
        for column in self.columns:
            entries, note = encode_column(table.column(column.name), column, path, kinds)
            parts.append(entries)
            notes += [note] if note else []
        return parts, notes

    def types_of(self, table: Any) -> Any:
        """Return the type of each vertex, None where there are none."""
        if not self.vertex_kind:
            return None
        return _as_types(table.column(self.vertex_kind), self.vertex_kinds)

    def assemble(
        self, parts: list[Entries], n: int, sums: Sequence[NDArray[np.float32] | None] = ()
    ) -> Features:
        """Put the columns of n vertices side by side, and what the encoders of rows summed up.

        Without ``sums``, vertices have no rows.
        """
        sums = sums or [None] * len(self.rows)
        rows = (one.encode(own, n) for one, own in zip(self.rows, sums, strict=True))
        parts = [*parts, *rows]
        if not parts:
            return np.zeros((n, 0), dtype=np.float32)
        index, data, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        matrix = sp.csc_array((data, index, indptr), shape=(n, len(indptr) - 1))
        return matrix.toarray() if 4 * matrix.nnz >= n * matrix.shape[1] else matrix.tocsr()

    def describe(self) -> list[ColumnUse]:
        """Return what became of each column, those of edges and attached tables together."""
        return [
            ColumnUse(
                getattr(part, "name", "") or getattr(part, "title", "") or "edges",
                getattr(part, "kind", "rows"), len(names), names[:_MOST_ALIKE],
            )
            for part, names in ((one, one.feature_names) for one in (*self.columns, *self.rows))
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the encoder as plain JSON values."""
        columns = [column.to_dict() for column in self.columns]
        more = {"vertex_kind": self.vertex_kind, "links": list(self.links)}
        more |= {"vertex_kinds": list(self.vertex_kinds), "near": self.near and asdict(self.near)}
        more |= {"edge_kinds": list(self.edge_kinds), "rows": [one.to_dict() for one in self.rows]}
        more = {name: value for name, value in more.items() if value}
        return {"columns": columns, "notes": list(self.notes), "roles": dict(self.roles), **more}

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Make an encoder from what :meth:`to_dict` gave."""
        try:
            rows = tuple(
                RowsEncoder.from_dict(one, _columns_of(one["columns"]))
                for one in values.get("rows", ())
            )
            roles = [*values.get("roles", {}).items()]
            plain = {**values, "columns": (), "rows": (), "roles": roles}
            columns = _columns_of(values["columns"])
            made = replace(convert(cls, plain), columns=columns, rows=rows)
            if made.near is not None and not {*made.near.columns} <= {one.name for one in columns}:
                raise ValueError("columns of near")
            return made
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise ModelFileError(f"the saved table encoder is damaged ({error!r}).") from None


def _columns_of(values: Sequence[Any]) -> tuple[EncodedColumn, ...]:
    return tuple(KINDS[one["kind"]].from_dict(one) for one in values)


def encode_column(
    column: Any, how: EncodedColumn, path: str | PathLike[str], vertex_kinds: Any = None
) -> tuple[Entries, str]:
    """Encode the cells of a column; the note is '' where there is nothing to say.

    ``vertex_kinds`` are the types of the vertices, where columns belong to some of the kinds only.
    """
    cells = Cells(column, how.name, path, told=how.told)
    if not how.can_hold(cells.type):
        problem = f"column {how.name!r} must hold one {how.kind} per row; got {column.type}."
        raise DataFileError(path, problem)
    if not how.of_kinds:
        return how.encode(cells)
    own = _are_of(Cells(vertex_kinds).text, how.of_kinds)
    entries, note = how.encode(cells.filter(own))
    return how.spread(entries, own), note


def _as_types(column: Any, common: Sequence[str]) -> Any:
    """Return types as text, those that are not common as one."""
    text = Cells(column).text
    if not common:
        return text
    known = index_in(text, pa.array(common, type=pa.string())) >= 0
    return pc.if_else(pa.array(known), text, OTHER_KIND)


def _owners(cells: Cells, types: Cells) -> tuple[str, ...]:
    """Return the types of the vertices that have a column; () where all or none do."""
    has = np.bincount(types.codes[~cells.blank], minlength=len(types.words)) > 0
    if has.all() or not has.any():
        return ()
    return tuple(sorted(word for word, own in zip(types.words, has, strict=True) if own))


def _are_of(types: Any, names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return which vertices, by their types, are of one of these."""
    return index_in(types, pa.array(names, type=pa.string())) >= 0


def _narrowest(columns: Sequence[EncodedColumn]) -> int:
    """Return how many features a column may have, so that all have at most ``MOST_WIDE``."""
    widths = sorted(len(one.feature_names) for one in columns if not one.fills)
    left = words.MOST_WIDE
    for i, width in enumerate(widths):
        if width * (len(widths) - i) > left:
            return max(1, left // (len(widths) - i))
        left -= width
    return words.MOST_WIDE


def _say_alike(kind: str, notes: Mapping[str, str]) -> list[str]:
    """Return the notes about columns of one kind; of many alike, one, and the names of the rest.

    Alike are those that differ in names and numbers only: nothing else is said of one alone.
    """
    alike: dict[str, list[str]] = {}
    for name, note in notes.items():
        alike.setdefault(_NAMES_AND_NUMBERS.sub("", note), []).append(name)
    said: list[str] = []
    if plain := alike.pop("plain", []):
        many = f"{count(len(plain), 'column')} read as numbers ({listed_names(plain)})"
        said.append(f"{many}; to change this: `kinds=(('NAME', 'category'),)`.")
    for names in alike.values():
        own = [notes[name] for name in names]
        if len(names) > _MOST_ALIKE:
            rest = f"more columns {f'of this kind, {kind}' if kind else 'left out'}"
            own[1:] = [f"{len(names) - 1:,} {rest}: {listed_names(names[1:])}."]
        said += own
    return said


def _understand(cells: Cells, told: str | None) -> list[tuple[EncodedColumn | None, str]]:
    """Decide on one column, or two of words; a note is '' where there is nothing to say."""
    name = cells.name
    if told == "drop":
        return [(None, "")]
    if numbers.ListColumn.can_hold(cells.type):
        return [numbers.ListColumn.fit(cells)]
    if told is None and is_date_type(cells.type):
        told = "date"
    if not DateColumn.can_hold(cells.type):
        return [(None, f"column {name!r} left out: {cells.type} is neither a number nor a word.")]
    if told is not None:
        return [KINDS[told].fit(cells)]
    if pa.types.is_boolean(cells.type):
        return [words.TruthColumn.fit(cells)]
    if cells.iso_dates is not None:
        return [DateColumn.fit(cells)]
    if cells.is_text:
        if (truths := words.TruthColumn.guess(cells)) is not None:
            return [truths]
        if numbers.are_codes(cells):
            return [words.CategoryColumn.fit(cells, codes=True)]
    read = numbers.parse_numbers(cells, cells.decimal)
    n_words, n_numbers = int(read.is_word.sum()), int((~np.isnan(read.values)).sum())
    if n_words + n_numbers == 0:
        return [(None, f"column {name!r} left out: it is empty.")]
    if n_numbers > READ_PER_WORD * n_words:
        if _looks_like_an_id(read.values, name):
            looks = "a different number in each row looks like an identifier"
            return [(None, f"column {name!r} left out: {looks} ({otherwise(name, 'number')}).")]
        return [numbers.NumberColumn.fit(cells, read)]
    column, note = DateColumn.fit(cells)
    if column is not None:
        return [(column, note)]
    if n_numbers > n_words:
        remedy = (
            f"Fix it, or pass `kinds={((name, 'number'),)}` (other words are then missing values), "
            f"`categorical={(name,)}`, or `drop={(name,)}`."
        )
        raise numbers.not_a_number(cells, int(read.is_word.argmax()), remedy, unit=read.unit)
    return words.guess_words(cells)


_ID_NAME = re.compile(r"(?i)(^|[\s_.-])(id|ids|uuid|guid|key|nr|no|nummer|number|index)\.?$")
_CAMEL_ID = re.compile(r"[a-z](Id|ID|Nr|No)$")


def _looks_like_an_id(values: NDArray[np.float64], name: str) -> bool:
    """Return whether numbers are a different one for each row, in a column that is named so."""
    named = name.startswith("Unnamed: ") or _ID_NAME.search(name) or _CAMEL_ID.search(name)
    if not named or len(values) <= words.FEW_ROWS:
        return False
    if np.isnan(values).any() or (values != np.floor(values)).any():
        return False
    return len(np.unique(values)) == len(values)
