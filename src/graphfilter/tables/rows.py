"""Rows that belong to vertices, edges or orders: summed up per vertex, they become features.

Of each column a vertex has the sum, mean and range of numbers, the first and last of times, the
shares of the commonest values of categories; of edges per direction. Arrow does the summing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphfilter.tables.cells import Cells, missing_column
from graphfilter.tables.columns import EncodedColumn, Entries, entries_of
from graphfilter.tables.source import TableSource
from graphfilter.tables.words import CategoryColumn
from graphfilter.util.arrow import pa
from graphfilter.util.records import convert
from graphfilter.util.words import count

# Values of a category whose shares are counted, and rows that columns are understood by.
MOST_SHARES = 10
SAMPLE_ROWS = 100_000
# By kind of column: the words of a feature's name, and what Arrow calls it.
_STATISTICS = {
    "number": {"sum": "sum", "mean": "mean", "min": "min", "max": "max",
               "distinct": "count_distinct"},
    "date": {"first": "min", "last": "max", "recency": "max", "spread": "stddev"},
}  # fmt: skip
_STATISTICS["boolean"] = {"share": "mean"}
_OF_NONE = ("sum", "distinct", "share", "count")


@dataclass(frozen=True)
class RowsEncoder:
    """How the rows of a table become features of the vertices that they name.

    Attributes
    ----------
    title : str
        The name of the table; '' for the edges.
    key : str
        The column that names a vertex, in a table that is not of edges.
    columns : tuple of EncodedColumn
        Numbers, truth values, times, and categories, as they were written.
    ways : tuple of str
        ``('sent', 'received')``, or ``('',)`` where edges have no direction.
    counted : str
        The category of which rows are counted, not shares: the type of edges.
    time : str
        The column whose rows from a moment on are left out.
    fill : tuple of float
        The value of a vertex without any row, per feature.
    """

    title: str = ""
    key: str = ""
    columns: tuple[EncodedColumn, ...] = ()
    ways: tuple[str, ...] = ("",)
    counted: str = ""
    time: str = ""
    fill: tuple[float, ...] = ()

    @property
    def statistics(self) -> list[tuple[EncodedColumn | None, str, str, str]]:
        """Return one feature's column, statistic, value and way each; the rows come first."""
        found: list[tuple[EncodedColumn | None, str, str, str]] = []
        for way in self.ways:
            found.append((None, "count", "", way))
            for column in self.columns:
                if isinstance(column, CategoryColumn):
                    what = "count" if column.name == self.counted else "share"
                    found += [(column, what, f"={value}", way) for value in column.categories]
                else:
                    found += [(column, name, "", way) for name in _STATISTICS[column.kind]]
        return found

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return names such as 'amount (mean, sent)', or 'orders: amount (mean)'."""
        start = f"{self.title}: " if self.title else ""
        return tuple(
            f"{start}{column.name if column else 'rows' if start else 'edges'}{value} "
            f"({what}{f', {way}' if way else ''})"
            for column, what, value, way in self.statistics
        )

    def sum_up(self, rows: Rows, n: int, moment: float | None = None) -> NDArray[np.float32]:
        """Return the features (n, d) of so many vertices, NaN where a vertex has no value.

        Rows from ``moment`` on are left out: seconds since 1970 for dates.
        """
        keep, newest = slice(None), dict[str, float]()
        for column in self.columns:
            if column.kind == "date" and not np.isnan(rows.values[column.name]).all():
                newest[column.name] = float(np.nanmax(rows.values[column.name]))
        if moment is not None and self.time:
            own = next(column for column in self.columns if column.name == self.time)
            limit = moment / 86_400 - getattr(own, "origin", 0) if own.kind == "date" else moment
            keep, newest[self.time] = rows.values[self.time] < limit, limit
        matrix = np.full((n, len(self.statistics)), np.nan, dtype=np.float32)
        for way, every in zip(self.ways, rows.ends * len(self.ways), strict=False):
            vertex = every[keep]
            known = vertex >= 0
            vertex = vertex[known]
            held = {name: cells[keep][known] for name, cells in rows.values.items()}
            wanted = {
                (column.name, _STATISTICS[column.kind][what])
                for column, what, _, own in self.statistics
                if own == way and column is not None and column.kind in _STATISTICS
            }
            arrays = {name: pa.array(held[name], from_pandas=True) for name, _ in wanted}
            table = pa.table({" ": vertex, **arrays})
            found = table.group_by(" ", use_threads=False).aggregate(sorted(wanted))
            places = found[" "].to_numpy()
            n_rows = np.bincount(vertex, minlength=n)
            for i, (column, what, value, own) in enumerate(self.statistics):
                if own != way:
                    continue
                if column is None:
                    matrix[:, i] = n_rows
                elif isinstance(column, CategoryColumn):
                    code = column.categories.index(value[1:])
                    n_cells = np.bincount(vertex[held[column.name] == code], minlength=n)
                    share = n_cells / np.maximum(n_rows, 1)
                    matrix[:, i] = n_cells if what == "count" else share
                else:
                    one = found[f"{column.name}_{_STATISTICS[column.kind][what]}"]
                    one = np.asarray(one.to_numpy(), dtype=np.float64)
                    one = newest.get(column.name, 0.0) - one if what == "recency" else one
                    limits = np.finfo(np.float32)
                    matrix[places, i] = np.clip(one, limits.min, limits.max)
        return matrix

    def filled_by(self, matrix: NDArray[np.float32]) -> Self:
        """Return the encoder that gives vertices without a row the medians of the others."""
        fill = [
            0.0 if what in _OF_NONE or np.isnan(own).all() else float(np.nanmedian(own))
            for own, (_, what, _, _) in zip(matrix.T, self.statistics, strict=True)
        ]
        return replace(self, fill=tuple(fill))

    def encode(self, matrix: NDArray[np.float32] | None, n: int) -> Entries:
        """Return what :meth:`sum_up` gave as entries; of None, as if no vertex had a row."""
        fill = np.array(self.fill, dtype=np.float32)
        features = (
            np.tile(fill, (n, 1)) if matrix is None else np.where(np.isnan(matrix), fill, matrix)
        )
        return entries_of(features)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        values: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**values, "columns": [column.to_dict() for column in self.columns]}

    @classmethod
    def from_dict(cls, values: dict[str, Any], columns: tuple[EncodedColumn, ...]) -> Self:
        """Make an encoder from what :meth:`to_dict` gave; anything else is an error."""
        made = replace(convert(cls, {**values, "columns": ()}), columns=columns)
        made.check()
        return made

    def check(self) -> None:
        """Raise an error of some type unless the fields go together."""
        is_whole = {column.kind for column in self.columns} <= {*_STATISTICS, "category"}
        is_whole &= {self.time, self.counted} <= {"", *(column.name for column in self.columns)}
        if not is_whole or len(self.fill) != len(self.statistics):
            raise ValueError(f"rows of {self.title!r}")
        if not all(map(isfinite, self.fill)):
            raise ValueError(f"fill of rows of {self.title!r}")


@dataclass
class Rows:
    """The rows of a table, as they are read block by block.

    Attributes
    ----------
    ends : list of int32 arrays
        The vertices of each row; -1 for one that is not there.
    values : dict of float64 arrays
        By column: numbers, days, or the places of values; NaN where there is none.
    """

    encoder: RowsEncoder
    source: TableSource
    ends: list[Any] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    n_words: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in filter(None, (self.encoder.key, *(one.name for one in self.encoder.columns))):
            if name not in self.source.names:
                raise missing_column(self.source, name, self.source.names)

    def add(self, batch: Any, ends: Iterable[NDArray[np.int32]]) -> None:
        """Read the columns of some rows."""
        for place, own in enumerate(ends):
            if place == len(self.ends):
                self.ends.append([])
            self.ends[place].append(own)
        for column in self.encoder.columns:
            cells = Cells(batch.column(column.name), column.name, self.source, told=column.told)
            values, is_word, _ = column.read(cells)
            self.values.setdefault(column.name, []).append(values[:, 0])
            n_words = self.n_words.get(column.name, 0) + int(is_word.sum())
            self.n_words[column.name] = n_words

    def join(self, n: int) -> list[str]:
        """Put the blocks together, of the first n vertices; return what there is to say."""
        none = np.empty(0, np.int32)
        self.ends = [np.concatenate([none, *own]) for own in self.ends] or [none]
        self.ends = [np.where(own < n, own, -1) for own in self.ends]
        self.values = {
            column.name: np.concatenate([np.empty(0), *self.values.get(column.name, ())])
            for column in self.encoder.columns
        }
        if len(self.ends) > len(self.encoder.ways):
            # Both ends of an edge without a direction have it.
            self.ends = [np.concatenate(self.ends)]
            self.values = {name: np.tile(own, 2) for name, own in self.values.items()}
        return [
            f"{self.source.name}: column {name!r}: {count(n, 'cell is', 'cells are')} written "
            "otherwise than when it was understood: read as missing."
            for name, n in self.n_words.items()
            if n
        ]
