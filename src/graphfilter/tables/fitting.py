"""How a column of each kind is fitted: what a run must remember of it to encode another table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.tables import dates, words
from graphfilter.tables.cells import as_mask, as_text, value_type
from graphfilter.tables.encoded import EncodedColumn
from graphfilter.tables.numbers import (
    DecimalSigns,
    Numbers,
    parse_numbers,
)
from graphfilter.wording import count, listed_names


@dataclass
class Context:
    """What is known beside the column itself.

    Attributes
    ----------
    where : path
        For messages.
    kinds : mapping
        The kinds that the user named, by column.
    decimal : str or None
        The decimal sign that the user named.
    signs : mapping
        What the cells of each column show of decimal signs.
    hint : str or None
        The decimal sign to expect where no cell shows it.
    """

    where: str | PathLike[str]
    kinds: Mapping[str, str] = field(default_factory=dict)
    decimal: str | None = None
    signs: Mapping[str, DecimalSigns] = field(default_factory=dict)
    hint: str | None = None

    def decimal_of(self, name: str = "") -> str:
        """Choose the decimal sign of a column, or that of the file."""
        if self.decimal is not None:
            return self.decimal
        signs = self.signs.get(name, DecimalSigns())
        if self._others.points or self._others.commas:
            return signs.choose(self._others.choose(None))
        # No cell of the file is clear. A lone point is decimal everywhere; a lone comma is one
        # where commas do not separate columns.
        return signs.choose(self.hint if "," in signs.unclear else ".")

    @cached_property
    def _others(self) -> DecimalSigns:
        """What the columns of the file show together."""
        return sum(self.signs.values(), DecimalSigns())


def fit_number(
    column: Any, name: str, about: Context, read: Numbers | None = None
) -> tuple[EncodedColumn | None, str]:
    signs, decimal = about.signs.get(name, DecimalSigns()), about.decimal_of(name)
    read = read or parse_numbers(column, decimal)
    if np.isnan(read.values).all():
        return None, f"column {name!r} left out: no cell of it is a number."
    marks = [
        _say_units(read),
        "a decimal comma" if decimal == "," and (signs.commas or signs.unclear) else "",
    ]
    marks = [part for part in marks if part]
    how = f"column {name!r} read as numbers with {' and '.join(marks)}"
    notes = [f"{how} ({otherwise(name, 'category')})."] if marks else []
    if read.is_word.any():
        notes.append(_say_words(column, name, read.is_word, "a number"))
    currencies = read.units - {"%"}
    unit = next(iter(currencies)) if len(currencies) == 1 else ""
    fitted = EncodedColumn(name, "number", decimal=decimal, unit=unit, **fill_of(read.values))
    return fitted, " ".join(notes)


def fit_truths(column: Any, name: str) -> tuple[EncodedColumn, str] | None:
    found = as_text(column.slice(0, 1000)).unique()
    # The first rows of a long column tell most often.
    if len(found) <= 20 and len(column) > 1000:
        found = as_text(column).unique()
    if len(found) > 20 or not words.are_truths(found := found.to_pylist()):
        return None
    values, _ = words.read_truths(column)
    seen = sorted({word.strip() for word in found if not words.is_missing(word)})
    plain = {word.lower() for word in seen} <= {"true", "false"}
    how = f"column {name!r} read as true or false ({listed_names(seen)}"
    note = "" if plain else f"{how}; {otherwise(name, 'category')})."
    return EncodedColumn(name, "boolean", **fill_of(values)), note


def fit_boolean(column: Any, name: str, about: Context) -> tuple[EncodedColumn | None, str]:
    values, other = words.read_truths(column)
    if np.isnan(values).all():
        return None, f"column {name!r} left out: no cell of it is true or false."
    note = _say_words(column, name, other, "true or false") if other.any() else ""
    return EncodedColumn(name, "boolean", **fill_of(values)), note


def fit_date(column: Any, name: str, about: Context) -> tuple[EncodedColumn | None, str]:
    spelling, unclear = "", ""
    if not dates.is_date_type(value_type(column)):
        found = dates.known_words(column)
        day_first = about.decimal_of() == ","
        spelling = dates.find_spelling(found, day_first=day_first) or ""
        if not spelling:
            return None, f"column {name!r} left out: its cells are not dates in a known format."
        if dates.is_unclear(found, spelling):
            unclear = f" (format {spelling}; day and month could be swapped)"
    seconds = dates.read_seconds(column, spelling)
    if np.isnan(seconds).all():
        return None, f"column {name!r} left out: it is empty."
    known = seconds[~np.isnan(seconds)]
    days, hours = dates.days_and_hours(known)
    if not all(map(dates.can_be_written, (days.min(), days.max()))):
        return None, f"column {name!r} left out: its dates must be of the years 1 to 9999."
    is_time = spelling == dates.TIME or _is_time(value_type(column))
    parts = ("hours",) if is_time else ("days", "hours") if np.ptp(hours) else ("days",)
    origin = 0 if is_time else int(np.floor(days.min()))
    medians = {part: _median(days) - origin if part == "days" else _median(hours) for part in parts}
    fitted = EncodedColumn(
        name, "date", spelling=spelling, parts=parts, origin=origin,
        fill=tuple(medians.values()), marks_missing=len(known) < len(seconds),
    )  # fmt: skip
    titles = {"days": "days", "hours": "hours of the day"}
    note = f"column {name!r} read as {'a time' if is_time else 'a date'}{unclear}: "
    made = " and ".join(titles[part] for part in parts)
    return fitted, f"{note}{made} ({otherwise(name, 'category')})."


def fit_words(
    column: Any, name: str, about: Context, *, forced: bool = False, codes: bool = False
) -> tuple[EncodedColumn | None, str]:
    """Fit categories, or text; ``codes`` are numbers that are names, such as postcodes."""
    found = as_text(column, trim=True).unique().to_pylist()
    categories = tuple(sorted(word for word in found if word))
    n_rows, n = len(column), len(categories)
    if not forced and n > words.MOST_SENTENCES and words.is_prose(list(categories)):
        fitted, note = fit_text(column, name, about)
        if fitted is not None:
            return fitted, note
    if not forced and (n > words.MOST_CATEGORIES or (n_rows > words.FEW_ROWS and 2 * n > n_rows)):
        seen = f"{count(n, 'different value')} in {count(n_rows, 'row')}"
        return None, (
            f"column {name!r} left out: {seen} look like text or identifiers "
            f"({otherwise(name, 'category')})."
        )
    empty = ", empty cells as zeros" if n < len(found) else ""
    what = count(n, "code", "codes, some with leading zeros") if codes else count(n, "value")
    note = f"column {name!r} has {what}: one-hot encoded{empty}"
    other = "number" if codes else "text" if words.is_prose(list(categories)) else "drop"
    return EncodedColumn(name, "category", categories), f"{note} ({otherwise(name, other)})."


fit_codes = partial(fit_words, codes=True)
fit_category = partial(fit_words, forced=True)


def fit_text(column: Any, name: str, about: Context) -> tuple[EncodedColumn | None, str]:
    chosen, weights = words.choose_words(as_text(column).to_pylist())
    if not chosen:
        return None, f"column {name!r} left out: no word occurs in two rows."
    note = f"column {name!r} read as text: TF-IDF of its {count(len(chosen), 'commonest word')}"
    fitted = EncodedColumn(name, "text", chosen, weights=weights)
    return fitted, f"{note} ({otherwise(name, 'category')})."


def fit_list(column: Any, name: str) -> tuple[EncodedColumn | None, str]:
    matrix = read_list(column)
    if matrix is None or not matrix.shape[1]:
        return None, (
            f"column {name!r} left out: its lists must hold numbers, the same count in each row."
        )
    gone = np.isnan(matrix).any(axis=1)
    if gone.all():
        return None, f"column {name!r} left out: it is empty."
    fill = tuple(np.median(matrix[~gone], axis=0).tolist())
    note = f"column {name!r} holds lists: {count(matrix.shape[1], 'number')} each."
    return EncodedColumn(name, "list", fill=fill, marks_missing=bool(gone.any())), note


def read_list(column: Any) -> NDArray[np.float64] | None:
    """Return lists of equal length as a matrix, NaN where one is missing; None for others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    inner = column.type.value_type
    if not (
        pa.types.is_integer(inner) or pa.types.is_floating(inner) or pa.types.is_decimal(inner)
    ):
        return None
    present = np.asarray(pc.call_function("is_valid", [column]), dtype=bool)
    kept = column.filter(pa.array(present))
    lengths = np.unique(np.asarray(pc.call_function("list_value_length", [kept])))
    if len(lengths) != 1:
        return None
    flat = pc.call_function("list_flatten", [kept]).cast(pa.float64(), safe=False)
    matrix = np.full((len(column), int(lengths[0])), np.nan)
    matrix[present] = np.asarray(flat).reshape(-1, int(lengths[0]))
    return matrix


def fill_of(values: NDArray[np.float64]) -> dict[str, Any]:
    """Return the replacement for missing values: the median, and a mark where there are any."""
    known = values[np.isfinite(values)]
    return {"fill": (_median(known),), "marks_missing": bool(np.isnan(values).any())}


def _median(values: NDArray[np.float64]) -> float:
    """Return the median, as numpy does, of an array that may be reordered; 0 of none.

    numpy's own looks for gaps and axes first, which takes most of the time of short columns.
    """
    if not len(values):
        return 0.0
    low, high = (len(values) - 1) // 2, len(values) // 2
    values.partition((low, high))
    return float(values[high] if low == high else (values[low] + values[high]) / 2)


def otherwise(name: str, kind: str) -> str:
    """Return how a column is read as another kind than was guessed.

    >>> otherwise("first name", "text")
    "to change this: `kinds=(('first name', 'text'),)`"
    """
    return f"to change this: `kinds={((name, kind),)}`"


def _is_time(kind: Any) -> bool:
    import pyarrow.types as is_type

    return is_type.is_time(kind)


def _say_units(read: Numbers) -> str:
    units = [f"the currency {unit}" for unit in sorted(read.units - {"%"})]
    return " and ".join([*units, *(["per cent (12 % is 0.12)"] if "%" in read.units else [])])


def _say_words(column: Any, name: str, mask: NDArray[np.bool_], what: str) -> str:
    found = as_text(column.filter(as_mask(mask.tolist()))).unique().to_pylist()
    n = count(int(mask.sum()), "cell is", "cells are")
    return f"column {name!r}: {n} not {what} ({listed_names(found, 3)}): read as missing."
