"""Columns of the table of vertices that are to be predicted: numbers, or labels of yes and no."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import DataFileError
from graphfilter.tables.cells import missing_column
from graphfilter.tables.checked import not_a_number
from graphfilter.tables.formats import open_table
from graphfilter.tables.numbers import guess_decimal, parse_numbers
from graphfilter.tables.source import TableSource, at_row, reading_table
from graphfilter.tables.text_format import TextOptions
from graphfilter.tables.words import read_truths

# The largest number to be learned: squares of such numbers can still be summed.
LARGEST_TARGET = 1e150


def has_columns(
    path: Path | TableSource, names: Sequence[str], text: TextOptions | None = None
) -> bool:
    """Return whether a table has all of these columns."""
    return set(names) <= set(open_table(path, text).names)


def read_number_column(
    path: Path | TableSource, name: str, text: TextOptions | None = None, *, to_learn: bool = True
) -> NDArray[np.float64]:
    """Read a column of numbers, one per vertex; NaN where there is none.

    ``to_learn`` demands two different numbers.
    """
    table = open_table(path, text)
    (column,) = _read(table, [name])
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


def read_label_columns(
    path: Path | TableSource, names: Sequence[str], text: TextOptions | None = None
) -> NDArray[np.float64]:
    """Read columns of yes and no (1 and 0, true and false, x and empty): (n, L).

    An empty cell beside others is a no; a vertex whose cells are all empty is unknown: NaN.
    """
    table = open_table(path, text)
    found: list[NDArray[np.float64]] = []
    for name, column in zip(names, _read(table, names), strict=True):
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


def _read(table: TableSource, names: Sequence[str]) -> list[Any]:
    for name in names:
        if name not in table.names:
            raise missing_column(table, name, table.names)
    with reading_table(table):
        read = table.read(list(names))
    return [read.column(name) for name in names]
