"""One column of a table, and how it becomes features: what a run remembers of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from math import isfinite
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphfilter.tables import dates, words
from graphfilter.tables.cells import as_mask, as_text, value_type
from graphfilter.tables.numbers import DecimalSigns, Numbers, parse_numbers
from graphfilter.util.errors import check_name
from graphfilter.util.words import count, listed_names

# A float32 array (n, d) or a scipy csr_array of the same; scipy ships no types to say so with.
Features = Any

# Behind the name of a column, in that of the feature that says where its value is missing.
MISSING_MARK = " is missing"
KINDS = ("number", "boolean", "category", "date", "text", "list")
_PARTS = (("days",), ("hours",), ("days", "hours"))


@dataclass(frozen=True)
class EncodedColumn:
    """A column that is used, and how.

    Attributes
    ----------
    name : str
    kind : str
        One of ``KINDS``.
    categories : tuple of str
        The words of a category, one 0/1 feature each; or of a text, one TF-IDF feature each.
    decimal, unit : str
        Of numbers in text: the decimal sign, and the currency or ``'%'``.
    fill : tuple of float
        The replacement for a missing value, one number per feature.
    marks_missing : bool
        Whether one more feature says where the value is missing.
    spelling : str
        Of dates in text, as strptime has it.
    parts : tuple of str
        Of a date: ``'days'`` since ``origin``, ``'hours'`` of the day, or both.
    origin : int
        The day that days are counted from, in days since 1970.
    told : bool
        Whether the user named the kind: what cannot be read as it is then missing.
    weights : tuple of float
        The inverse document frequency of each word of a text.
    of_kinds : tuple of str
        The vertex types that have the column, where not all do: on others it is not missing.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    decimal: str = "."
    unit: str = ""
    fill: tuple[float, ...] = ()
    marks_missing: bool = False
    spelling: str = ""
    parts: tuple[str, ...] = ()
    origin: int = 0
    told: bool = False
    weights: tuple[float, ...] = ()
    of_kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_name("kind of column", self.kind, KINDS)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per feature, the mark of missing values last."""
        names = (self.name,)
        if self.kind == "category":
            names = tuple(f"{self.name}={category}" for category in self.categories)
        elif self.kind == "text":
            names = tuple(f"{self.name}: {word}" for word in self.categories)
        elif self.kind == "list":
            names = tuple(f"{self.name}[{i}]" for i in range(len(self.fill)))
        elif self.kind == "date":
            day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=self.origin)
            titles = {"days": f"days since {day:%Y-%m-%d}", "hours": "hour of the day"}
            names = tuple(f"{self.name} ({titles[part]})" for part in self.parts)
        return (*names, f"{self.name}{MISSING_MARK}") if self.marks_missing else names

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; those left at their defaults are left out."""
        default = type(self)(self.name, self.kind)
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        values = {k: v for k, v in own.items() if v != getattr(default, k)}
        values = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
        return {"name": self.name, "kind": self.kind, "categories": [], **values}

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Make a column from what :meth:`to_dict` gave.

        Raises
        ------
        KeyError, TypeError, ValueError, OverflowError
            The values are damaged.
        """
        given = {f.name: values[f.name] for f in fields(cls) if f.name in values}
        given["name"], given["kind"] = str(values["name"]), values["kind"]
        for name, kind in (
            ("categories", str),
            ("parts", str),
            ("fill", float),
            ("weights", float),
            ("of_kinds", str),
        ):
            given[name] = tuple(map(kind, given.get(name, ())))
        if "categories" not in values:
            raise KeyError("categories")
        for name in ("marks_missing", "told"):
            if not isinstance(given.get(name, False), bool):
                raise TypeError(f"{name} of column {given['name']!r}")
        for name, kind in (("decimal", str), ("unit", str), ("spelling", str), ("origin", int)):
            if name in given and not isinstance(given[name], kind):
                raise TypeError(f"{name} of column {given['name']!r}")
        column = cls(**given)
        column.check()
        return column

    def check(self) -> None:
        """Raise a ValueError unless the fields go together."""
        n_filled = {"date": len(self.parts), "list": len(self.fill), "category": 0, "text": 0}
        whole = len(self.fill) == n_filled.get(self.kind, 1)
        whole &= self.kind != "list" or len(self.fill) > 0
        whole &= len(self.weights) == (len(self.categories) if self.kind == "text" else 0)
        whole &= self.parts in (_PARTS if self.kind == "date" else ((),))
        # Without one, the cells were dates, not text.
        whole &= self.spelling == "" or (self.kind == "date" and dates.is_spelling(self.spelling))
        whole &= self.decimal in (".", ",") and dates.can_be_written(self.origin)
        whole &= all(map(isfinite, (*self.fill, *self.weights)))
        whole &= len(set(self.categories)) == len(self.categories)
        if not whole:
            raise ValueError(f"column {self.name!r}")


def with_gaps(features: Features, feature_names: Sequence[str] | None) -> NDArray[np.float32]:
    """Return dense features with NaN where a value was missing, as models want them that know gaps.

    A feature that says where follows those it speaks of; scaled or not, the larger of its two
    values says that one is missing.

    Examples
    --------
    >>> with_gaps(np.array([[1.0, 0], [5.0, 1]]), ["age", "age is missing"])
    array([[ 1.,  0.],
           [nan,  1.]], dtype=float32)
    """
    matrix = features.toarray() if hasattr(features, "toarray") else features
    matrix = np.array(matrix, dtype=np.float32)
    names = list(feature_names or ())
    for mark, name in enumerate(names):
        if not name.endswith(MISSING_MARK) or not len(matrix):
            continue
        column = name.removesuffix(MISSING_MARK)
        parts = (f"{column} (", f"{column}[")
        at = [i for i in range(mark) if names[i] == column or names[i].startswith(parts)]
        low, high = matrix[:, mark].min(), matrix[:, mark].max()
        missing = matrix[:, mark] > (low + high) / 2
        matrix[np.ix_(missing, at)] = np.nan
    return matrix


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
