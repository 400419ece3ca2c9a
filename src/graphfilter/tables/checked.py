"""Numbers that must be there: the first row that holds none is an error."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import DataFileError
from graphfilter.tables.numbers import parse_numbers
from graphfilter.tables.source import at_row


def read_numbers(
    column: Any,
    where: str | PathLike[str],
    name: str,
    remedy: str,
    *,
    least: float = -np.inf,
    first_row: int = 0,
    decimal: str = ".",
    missing_too: bool = False,
) -> NDArray[np.float32]:
    """Read a column as finite numbers, or raise at the first row that holds none.

    With ``missing_too`` a missing one, or another word, is NaN.
    """
    read = parse_numbers(column, decimal)
    with np.errstate(over="ignore"):
        values = read.values.astype(np.float32)
    bad = ~(np.isfinite(values) & (values >= least))
    bad &= ~(np.isnan(values) & missing_too)
    if not bad.any():
        return values
    row = int(bad.argmax())
    if read.is_word[row]:
        raise not_a_number(column, where, name, row, remedy, first_row=first_row)
    got = column[row].as_py()
    got = got[:80] if isinstance(got, str) else got
    if np.isnan(values[row]):
        problem = f"it is missing (got {got!r})"
    elif np.isinf(values[row]):
        problem = f"{got} is infinite, or too large for float32"
    else:
        problem = f"{got} is less than {least:g}"
    message = f"column {name!r} must hold a number: {problem}. {remedy}"
    raise at_row(where, first_row + row, message)


def not_a_number(
    column: Any,
    where: str | PathLike[str],
    name: str,
    row: int,
    remedy: str,
    *,
    first_row: int = 0,
) -> DataFileError:
    """Make the error for a word in a column of numbers."""
    problem = f"{str(column[row].as_py())[:80]!r} is not a number"
    message = f"column {name!r} must hold a number: {problem}. {remedy}"
    return at_row(where, first_row + row, message)
