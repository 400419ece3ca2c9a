"""A column of the table of vertices to divide by: times, or groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.tables.cells import as_text, distinct, missing_column
from graphfilter.tables.formats import open_table
from graphfilter.tables.numbers import MISSING_WORDS
from graphfilter.tables.source import TableSource, reading_table
from graphfilter.tables.text_format import TextOptions
from graphfilter.tables.times import parse_times


def read_times(
    path: Path | TableSource, name: str, text: TextOptions | None = None
) -> NDArray[np.float64]:
    """Read a column of dates, times or numbers as numbers that grow with time; NaN for none."""
    table, column = _read(path, name, text)
    return parse_times(column, table, name).values


def read_groups(
    path: Path | TableSource, name: str, text: TextOptions | None = None
) -> NDArray[np.int64]:
    """Read a column of any kind as numbers of its different values; -1 where there is none."""
    table, column = _read(path, name, text)
    with reading_table(table):
        words, codes = distinct(as_text(column, trim=True))
        missing = np.array([word.lower() in MISSING_WORDS for word in words], dtype=bool)
        return np.where(missing[codes], -1, codes).astype(np.int64)


def _read(path: Path | TableSource, name: str, text: TextOptions | None) -> tuple[TableSource, Any]:
    table = open_table(path, text)
    if name not in table.names:
        raise missing_column(table, name, table.names)
    with reading_table(table):
        return table, table.read([name]).column(name)
