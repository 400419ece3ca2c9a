"""What a user may have missed: a column that could be the label, the vertex type, or of use."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.tables import cells as _cells, dates
from graphfilter.tables.cells import as_text, distinct, is_missing, is_usable, value_type
from graphfilter.tables.columns import READ_PER_WORD
from graphfilter.tables.encoder import MOST_KINDS, TableEncoder
from graphfilter.tables.labels import MOST_CLASSES, MOST_FRACTIONS
from graphfilter.tables.numbers import guess_decimal, parse_numbers
from graphfilter.tables.roles import EdgeRoles, is_index
from graphfilter.tables.source import TableSource
from graphfilter.util.words import count, listed_names

_SAMPLE = 1000
_MOST_ROWS = 1_000_000
_MOST_NAMED = 5
_MOST_TYPES = 20


@dataclass(frozen=True, eq=False)
class Cells:
    """The different values of a column, few, and where it is blank.

    Attributes
    ----------
    name, kind : str
        The kind is that of the column as a feature.
    n_values : int
        Different values; more than ``MOST_CLASSES`` are not counted, and are 0.
    codes : int array (n,)
        The number of each cell's value; empty where they are not counted.
    blank : bool array (n,)
    """

    name: str
    kind: str
    n_values: int
    codes: NDArray[np.int32]
    blank: NDArray[np.bool_]

    @classmethod
    def of(cls, column: Any, name: str, kind: str) -> Cells:
        words, codes = distinct(as_text(column))
        missing = np.array([is_missing(word) for word in words], dtype=bool)
        n = int((~missing).sum())
        few = n <= MOST_CLASSES
        return cls(name, kind, n if few else 0, codes if few else codes[:0], missing[codes])

    @property
    def may_be_kind(self) -> bool:
        return self.kind == "category" and 2 <= self.n_values <= MOST_KINDS and not self.blank.any()

    @property
    def may_be_label(self) -> bool:
        most = MOST_FRACTIONS if self.kind == "number" else MOST_CLASSES
        return self.kind in ("boolean", "category", "number") and 2 <= self.n_values <= most

    def owners(self, kind: Cells) -> NDArray[np.bool_]:
        """Return which values of a column of kinds have a cell that is not blank."""
        known = np.bincount(kind.codes[~self.blank], minlength=kind.codes.max() + 1)
        return known > 0

    def n_unexplained(self, kinds: Collection[Cells]) -> int:
        """Count the blanks in rows of those kinds that have the column; the fewest of any."""
        left = [int(self.blank.sum())]
        if not left[0]:
            return 0
        left += [int((self.blank & self.owners(kind)[kind.codes]).sum()) for kind in kinds]
        return min(left)


def suggest(table: Any, encoder: TableEncoder, source: TableSource, *, labelled: bool) -> list[str]:
    """Say which columns could be the label, and the vertex type, as far as none is known."""
    found: list[Cells] = []
    for column in encoder.columns:
        # Numbers without gaps are no vertex type, and nothing about them is to be explained by one.
        is_full = column.kind in ("number", "boolean") and not column.marks_missing
        if column.kind == "list" or (labelled and is_full and not column.of_kinds):
            continue
        # Dates without gaps are no label either.
        if column.kind == "date" and not column.marks_missing:
            continue
        cells = table.column(column.name).slice(0, _MOST_ROWS)
        sample = cells.slice(0, _SAMPLE)
        several = len(sample) > MOST_CLASSES and len(as_text(sample).unique()) > MOST_CLASSES
        if column.marks_missing or not several:
            found.append(Cells.of(cells, column.name, column.kind))
    sentences = [] if labelled else _suggest_labels(found, source)
    return sentences if encoder.vertex_kind else [*sentences, *_suggest_kind(found, source)]


def _suggest_labels(found: list[Cells], source: TableSource) -> list[str]:
    """Name the columns that could be the label: unexplained blanks, then few values, first."""
    kinds = _possible_kinds(found)
    blanks = {
        cells.name: cells.n_unexplained([kind for kind in kinds if kind is not cells])
        for cells in found
    }
    found = sorted(
        found,
        key=lambda c: (not blanks[c.name], c.n_values > MOST_FRACTIONS, -blanks[c.name]),
    )
    labels = [_described(cells) for cells in found if cells.may_be_label]
    numbers = [
        _described(cells)
        for cells in found
        if cells.kind == "number" and not cells.may_be_label and blanks[cells.name]
    ]
    if not labels and not numbers:
        return []
    text = f"{source.name}: no column is the label"
    for option, names in (("`label`", labels), ("`number`", numbers)):
        if names:
            more = ", ..." if len(names) > _MOST_NAMED else ""
            text += f"; {option} may name {', '.join(names[:_MOST_NAMED])}{more}"
    return [f"{text}."]


def _possible_kinds(found: list[Cells]) -> list[Cells]:
    """Return the first columns that could be the vertex type: all others are compared with each."""
    return [cells for cells in found if cells.may_be_kind][:_MOST_TYPES]


def _suggest_kind(found: list[Cells], source: TableSource) -> list[str]:
    """Name a column that says which kind of thing a vertex is: it explains blanks of others."""
    best: tuple[Cells, list[str]] | None = None
    gappy = [cells for cells in found if cells.blank.any()]
    for kind in _possible_kinds(found):
        explained = [cells.name for cells in gappy if not cells.owners(kind).all()]
        if explained and (best is None or len(explained) > len(best[1])):
            best = kind, explained
    if best is None:
        return []
    kind, explained = best
    many = f"{listed_names(explained, _MOST_NAMED)} {'is' if len(explained) == 1 else 'are'}"
    return [
        f"{source.name}: column {kind.name!r} may be the vertex type: {many} empty on all "
        f"vertices of one type. With `vertex_kind={kind.name!r}` such gaps are not missing values."
    ]


def _described(cells: Cells) -> str:
    what = count(cells.n_values, "value") if cells.may_be_label else "numbers"
    n = int(cells.blank.sum())
    empty = f", empty on {n:,} of {count(len(cells.blank), 'row')}" if n else ""
    return f"{cells.name!r} ({what}{empty})"


_MOST_OFFERED = 5


def say_unused(table: TableSource, roles: EdgeRoles, *, without: Collection[str] = ()) -> list[str]:
    """Name the columns that are not used, each with the argument that would use it.

    ``without`` are arguments that are not offered.
    """
    if not roles.header:
        return []
    names = table.usable_names
    left = [name for name in names if name not in roles.names and not is_index(name)]
    if not left:
        return []
    sample = table.peek()
    columns_left = []
    for name in left[:_MOST_OFFERED]:
        option = _option_for(sample[name], table, roles)
        offered = option and option not in without
        columns_left.append(f"{name!r} (`{option}={name!r}`)" if offered else repr(name))
    rest = left[_MOST_OFFERED:]
    more = f", {listed_names(rest)}" if rest else ""
    return [f"{table.name}: not used: {', '.join(columns_left)}{more}."]


def _option_for(column: Any, table: TableSource, roles: EdgeRoles) -> str:
    """Return the argument that would use a column, '' where none would."""
    kind = value_type(column)
    if dates.is_date_type(kind):
        return "" if roles.time else "edge_time"
    if not is_usable(kind) or not len(column):
        return ""
    cells = _cells.Cells(column)
    read = parse_numbers(cells, guess_decimal(cells, table))
    known = read.values[~np.isnan(read.values)]
    if len(known) > READ_PER_WORD * read.is_word.sum():
        return "" if roles.weight or (known < 0).any() else "weight"
    words = dates.known_words(cells)
    if dates.find_spelling(words, day_first=table.decimal_hint == ",") is not None:
        return "" if roles.time else "edge_time"
    n_words = len(as_text(column, trim=True).unique())
    return "edge_kind" if n_words <= MOST_KINDS and not roles.kind else ""
