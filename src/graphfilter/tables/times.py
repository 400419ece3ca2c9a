"""A column of moments: dates, times of day or numbers, as numbers that grow with time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import ConfigError, DataFileError
from graphfilter.tables import dates
from graphfilter.tables.cells import value_type
from graphfilter.tables.numbers import guess_decimal, parse_numbers
from graphfilter.tables.source import TableSource, reading_table


@dataclass(frozen=True, eq=False)
class Times:
    """Moments as numbers.

    Attributes
    ----------
    values : float64 array (n,)
        Seconds since 1970 of dates, numbers as they are; NaN where there is none.
    are_dates : bool
    """

    values: NDArray[np.float64]
    are_dates: bool = False

    def as_array(self) -> NDArray[Any]:
        """Return dates as datetime64, other times as numbers."""
        if not self.are_dates:
            return self.values
        moments = (np.nan_to_num(self.values) * 1e6).round().astype("datetime64[us]")
        moments[np.isnan(self.values)] = np.datetime64("NaT")
        return moments


def parse_times(column: Any, table: TableSource, name: str) -> Times:
    """Read a column of dates, times or numbers."""
    with reading_table(table):
        if dates.is_date_type(value_type(column)):
            return Times(dates.read_seconds(column, ""), True)
        decimal = guess_decimal(column, table.decimal, table.decimal_hint)
        numbers = parse_numbers(column, decimal)
        if not numbers.is_word.any():
            return Times(numbers.values)
        words = dates.known_words(column)
        day_first = (table.decimal or table.decimal_hint) == ","
        spelling = dates.find_spelling(words, day_first=day_first)
        if spelling is None:
            raise DataFileError(
                table,
                f"column {name!r} must hold dates or numbers to divide by time; got "
                f"{words[0].as_py()!r}. Write its dates like 2024-12-31.",
            )
        return Times(dates.read_seconds(column, spelling), True)


def parse_moment(moment: Any, *, are_dates: bool) -> float:
    """Return one moment as the number that :func:`parse_times` would give it.

    >>> parse_moment("1970-01-02", are_dates=True), parse_moment("2024", are_dates=False)
    (86400.0, 2024.0)
    """
    import pyarrow as pa

    text = str(moment).strip()
    if are_dates:
        words = pa.array([text])
        spelling = dates.find_spelling(words, day_first=False)
        if spelling is None or spelling == dates.TIME or dates.is_unclear(words, spelling):
            raise ConfigError(f"as-of must be a date like 2024-12-31; got {text!r}.")
        return float(dates.read_seconds(words, spelling)[0])
    try:
        return float(text)
    except ValueError:
        raise ConfigError(
            f"as-of must be a number, like the times of the edges; got {text!r}."
        ) from None
