"""The cells of a table, read as text or as numbers, and errors that say in which row they are."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import DataFileError

if TYPE_CHECKING:
    import pyarrow as pa

_MISSING_WORDS = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none"})
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}


def is_parquet(path: str | PathLike[str]) -> bool:
    return str(path).lower().endswith(".parquet")


def place_of_row(path: str | PathLike[str], row: int) -> str:
    """Return where a row, counted from 0, is found: by line in text, by row in Parquet."""
    return f"row {row + 1}" if is_parquet(path) else f"line {row + 2}"


def at_row(
    path: str | PathLike[str], row: int, problem: str, *, first_line: int = 2
) -> DataFileError:
    """Make the error for what is wrong in a row, counted from 0."""
    if is_parquet(path):
        return DataFileError(path, f"row {row + 1}: {problem}")
    return DataFileError(path, problem, line=row + first_line)


def missing_column(path: str | PathLike[str], name: str, names: Sequence[str]) -> DataFileError:
    """Make the error for a missing column: the nearest name, and the existing ones."""
    near = get_close_matches(name, [n for n in names if len(n) < 80], n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    problem = f"there is no column {name!r}{hint} Columns: {listed_names(names)}."
    if len(names) == 1:
        problem += " Put commas between columns in .csv, tabs in .tsv."
    return DataFileError(path, problem)


def as_text(column: Any, *, trim: bool = False) -> Any:
    """Turn a column of any type into strings; null becomes ''."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = column.cast(pa.string()).fill_null("")
    return pc.call_function("utf8_trim_whitespace", [text]) if trim else text


def drop_nan(column: Any) -> Any:
    """Turn the NaN of a column of floating-point numbers into null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(column.type):
        return column
    return pc.call_function("if_else", [pc.call_function("is_nan", [column]), None, column])


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
    exact, is_word = parse_numbers(column)
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


def parse_numbers(column: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
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


def is_usable(kind: Any) -> bool:
    """Return whether a type is text, a number or a truth value, not a date, list or bytes."""
    import pyarrow.types as is_type

    kind = kind.value_type if is_type.is_dictionary(kind) else kind
    is_number = is_type.is_integer(kind) or is_type.is_floating(kind) or is_type.is_decimal(kind)
    return is_number or is_type.is_boolean(kind) or is_type.is_null(kind) or _is_text(kind)


def listed_names(names: Sequence[str], most: int = 10) -> str:
    """Quote names for an error: ten of them, the beginning of long ones."""
    more = f", ... ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(repr(name[:80]) for name in names[:most]) + more
