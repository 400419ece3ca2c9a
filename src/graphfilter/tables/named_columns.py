"""Columns of the table of vertices by name: numbers and labels to predict, times, groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import DataFileError
from graphfilter.tables.cells import as_text, distinct, missing_column
from graphfilter.tables.checked import not_a_number
from graphfilter.tables.formats import open_table
from graphfilter.tables.numbers import MISSING_WORDS, guess_decimal, parse_numbers
from graphfilter.tables.source import TableSource, at_row, reading_table
from graphfilter.tables.times import parse_times
from graphfilter.tables.words import read_truths

# The largest number to be learned: squares of such numbers can still be summed.
LARGEST_TARGET = 1e150


def read_number_column(
    path: Path | TableSource, name: str, *, to_learn: bool = True
) -> NDArray[np.float64]:
    """Read a column of numbers, one per vertex; NaN where there is none.

    ``to_learn`` demands two different numbers.
    """
    table, (column,) = _read(path, [name])
    with reading_table(table):
        decimal = guess_decimal(column, table.decimal, table.decimal_hint)
        read = parse_numbers(column, decimal)
        if read.is_word.any():
            row = int(read.is_word.argmax())
            remedy = "Leave the cell empty where the number is unknown; for classes use `label`."
            raise not_a_number(column, table, name, row, remedy)
        if np.isinf(read.values).any():
            row = int(np.isinf(read.values).argmax())
            raise at_row(table, row, f"column {name!r} must hold finite numbers; got infinity.")
        if (np.abs(read.values) > LARGEST_TARGET).any():
            row = int((np.abs(read.values) > LARGEST_TARGET).argmax())
            raise at_row(
                table, row,
                f"column {name!r} must hold numbers up to {LARGEST_TARGET:g}, whose squares can be "
                f"added up; got {read.values[row]:g}. Divide them all by a number, or take their "
                "logarithms.",
            )  # fmt: skip
        known = read.values[~np.isnan(read.values)]
        if to_learn and len(np.unique(known)) < 2:
            raise DataFileError(
                table, f"column {name!r} must hold at least two different numbers to learn from."
            )
    return read.values


def read_label_columns(path: Path | TableSource, names: Sequence[str]) -> NDArray[np.float64]:
    """Read columns of yes and no (1 and 0, true and false, x and empty): (n, L).

    An empty cell beside others is a no; a vertex whose cells are all empty is unknown: NaN.
    """
    table, columns = _read(path, names)
    found: list[NDArray[np.float64]] = []
    for name, column in zip(names, columns, strict=True):
        with reading_table(table):
            values, other = read_truths(column)
        if other.any():
            row = int(other.argmax())
            got = str(column[row].as_py())[:80]
            raise at_row(
                table, row,
                f"column {name!r} must hold 1 and 0, or yes and no, for whether a vertex has the "
                f"label; got {got!r}. For several classes in one column use `label`.",
            )  # fmt: skip
        found.append(values)
    labels = np.stack(found, axis=1)
    unknown = np.isnan(labels).all(axis=1, keepdims=True)
    return np.where(np.isnan(labels) & ~unknown, 0.0, labels)


def read_times(path: Path | TableSource, name: str) -> NDArray[np.float64]:
    """Read a column of dates, times or numbers as numbers that grow with time; NaN for none."""
    table, (column,) = _read(path, [name])
    return parse_times(column, table, name).values


def read_groups(path: Path | TableSource, name: str) -> NDArray[np.int64]:
    """Read a column of any kind as numbers of its different values; -1 where there is none."""
    table, (column,) = _read(path, [name])
    with reading_table(table):
        words, codes = distinct(as_text(column, trim=True))
        missing = np.array([word.lower() in MISSING_WORDS for word in words], dtype=bool)
        return np.where(missing[codes], -1, codes).astype(np.int64)


def _read(path: Path | TableSource, names: Sequence[str]) -> tuple[TableSource, list[Any]]:
    table = open_table(path)
    for name in names:
        if name not in table.names:
            raise missing_column(table, name, table.names)
    with reading_table(table):
        read = table.read(list(names))
    return table, [read.column(name) for name in names]
