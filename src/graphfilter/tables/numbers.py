"""Numbers as people write them: 1.234,56 €, (1,234.56), 12 %, 3e-4.

Which of point and comma is the decimal sign is decided per column: by its own cells where one of
them can be read in one way only, else by the other columns of its file. Arrow reads columns of
plain numbers; where some cell is written otherwise, each different word is read here.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from graphfilter.tables.cells import Cells, is_missing, without_gaps
from graphfilter.tables.columns import EncodedColumn, Entries, otherwise
from graphfilter.tables.source import TableSource, at_row
from graphfilter.util.errors import DataFileError
from graphfilter.util.words import count

# A column of numbers may hold one other word in so many cells, which are then missing.
NUMBERS_PER_WORD = 19
_SYMBOLS = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "zł": "PLN"}
_CODES = (
    "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "INR",
    "RUB", "AUD", "CAD", "NZD", "BRL", "MXN", "TRY", "ZAR", "KRW", "SGD", "HKD",
)  # fmt: skip
_UNIT = "(?i:" + "|".join(("[€£¥₹₽]", r"\$", "zł", *_CODES)) + ")"
# Blanks and apostrophes stand between thousands in some countries.
_SPACE = "\\t\\n\\f\\r \u00a0\u202f"
_GAP = f"'’{_SPACE}"
_BLANK = f"[{_SPACE}]*"
# Bracket, unit, sign, unit, digits, power, unit.
_SHAPE = re.compile(
    rf"(\()?{_BLANK}({_UNIT})?{_BLANK}([-+−–])?{_BLANK}({_UNIT})?{_BLANK}"
    rf"([0-9](?:[0-9.,{_GAP}]*[0-9.,])?|[.,][0-9]+)([eE][-+]?[0-9]+)?{_BLANK}({_UNIT}|%)?{_BLANK}\)?"
)
_STYLES = {
    ".": re.compile(rf"([0-9]+|[1-9][0-9]{{0,2}}([,{_GAP}][0-9]{{3}})+)?(\.[0-9]*)?"),
    ",": re.compile(rf"([0-9]+|[1-9][0-9]{{0,2}}([.{_GAP}][0-9]{{3}})+)?(,[0-9]*)?"),
}
_BETWEEN = {".": re.compile(f"[,{_GAP}]"), ",": re.compile(f"[.{_GAP}]")}
_INFINITE = {
    sign + word: float(sign + word) for sign in ("", "+", "-") for word in ("inf", "infinity")
}
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
_GROUPED = re.compile(r"[-+]?[1-9][0-9]{0,2}(\.[0-9]{3})+")
_LED = re.compile(r"0[0-9]+")
_DIGIT = re.compile("[0-9]")


class Numbers(NamedTuple):
    """A column read as numbers.

    Attributes
    ----------
    values : float64 array (n,)
        NaN where there is none.
    is_word : bool array (n,)
        Where a cell is neither a number nor empty.
    units : frozenset of str
        The currencies that stand beside the numbers, by their codes, and ``'%'``.
    """

    values: NDArray[np.float64]
    is_word: NDArray[np.bool_]
    units: frozenset[str] = frozenset()


class DecimalSigns(NamedTuple):
    """How many different words of a column can be read with one decimal sign only.

    ``unclear`` are the signs of the words that can be read with either, such as 1,234.
    """

    points: int = 0
    commas: int = 0
    unclear: frozenset[str] = frozenset()

    def choose(self, fallback: str | None) -> str:
        """Return the decimal sign: by the clear words, else ``fallback``, else the point."""
        if self.points or self.commas:
            return "," if self.commas > self.points else "."
        return fallback or "."


def find_decimal_signs(cells: Cells) -> DecimalSigns:
    """Count the words of a column by the decimal signs they can be read with.

    Plain numbers are not looked at: their points say little, and there may be millions.
    """
    points, commas, unclear = 0, 0, set[str]()
    if cells.is_text and _cast_plain(cells.text) is cells.iso_dates is None:
        for word in cells.words:
            if (parts := _take_apart(word)) is None:
                continue
            digits = parts[4] or ""
            point, comma = (bool(_STYLES[sign].fullmatch(digits)) for sign in ".,")
            points, commas = points + (point and not comma), commas + (comma and not point)
            if point and comma:
                unclear.update(sign for sign in ",." if sign in digits)
    return DecimalSigns(points, commas, frozenset(unclear))


def guess_decimal(cells: Cells, table: TableSource, decimal: str | None = None) -> str:
    """Return the decimal sign of a column alone: as told, by its cells, or by the table's hint.

    A lone point is decimal everywhere; a lone comma is what the hint says: decimal where commas do
    not separate columns.
    """
    if (decimal := decimal or table.decimal) is not None:
        return decimal
    signs = find_decimal_signs(cells)
    return signs.choose(table.decimal_hint if "," in signs.unclear else ".")


def parse_numbers(cells: Cells, decimal: str = ".") -> Numbers:
    """Read a column of any type as numbers with this decimal sign."""
    import pyarrow as pa

    column, no_words = cells.column, np.zeros(len(cells), dtype=bool)
    if pa.types.is_boolean(cells.type):
        return Numbers(np.asarray(column.cast(pa.int8()).cast(pa.float64())), no_words)
    if not cells.is_text:
        return Numbers(np.asarray(column.cast(pa.float64(), safe=False)), no_words)
    # Points that all stand between thousands are not decimal where commas are.
    grouped = decimal == "," and [word for word in cells.words if "." in word]
    grouped = grouped and all(map(_GROUPED.fullmatch, grouped))
    if not grouped and (plain := _cast_plain(cells.text)) is not None:
        return Numbers(plain, no_words)
    if all(word.lower() in _TRUTH or is_missing(word) for word in cells.words):
        return Numbers(cells.of_words(lambda word: _TRUTH.get(word.lower(), np.nan)), no_words)
    units = set[str]()
    values = [_read_number(word, decimal, units) for word in cells.words]
    numbers = np.array(values)
    is_word = np.isnan(numbers) & [not is_missing(word) for word in cells.words]
    return Numbers(numbers[cells.codes], is_word[cells.codes], frozenset(units))


def _cast_plain(text: Any) -> NDArray[np.float64] | None:
    """Return the numbers of a column of plain numbers and gaps; None for any other."""
    import pyarrow as pa

    first = text[0].as_py() if len(text) else ""
    if not (_DIGIT.search(first) or "inf" in first.lower() or is_missing(first)):
        return None
    with suppress(pa.ArrowInvalid):
        return np.asarray(without_gaps(text).cast(pa.float64()))
    return None


@lru_cache(maxsize=1 << 12)
def _take_apart(word: str) -> tuple[str | None, ...] | None:
    """Take a word apart: sign, digits, power and unit; None where it is no number."""
    found = _SHAPE.fullmatch(word) if _DIGIT.search(word) else None
    return None if found is None else found.groups()


def _read_number(word: str, decimal: str, units: set[str]) -> float:
    """Read a word as a number; what stands beside it goes to ``units``."""
    parts = _take_apart(word)
    if parts is None or not _STYLES[decimal].fullmatch(parts[4] or ""):
        return _INFINITE.get(word.lower(), np.nan)
    bracket, before, sign, inner, digits, power, after = parts
    plain = _BETWEEN[decimal].sub("", digits or "").replace(decimal, ".")
    value = float(plain + (power or ""))
    value = -value if bracket or (sign and sign != "+") else value
    for unit in (before, inner, after):
        if unit:
            units.add(_SYMBOLS.get(unit.lower(), unit.upper()))
    return value / 100 if after == "%" else value


def are_codes(cells: Cells) -> bool:
    """Return whether the whole numbers of a column of text are names: 01067, 80331.

    Some begin with a zero that no number needs: more than one in twenty, or all are as long as
    those.
    """
    import pyarrow.compute as pc

    # Most columns are told from their first characters.
    led = pc.call_function("starts_with", [cells.text], pc.MatchSubstringOptions("0"))
    if not any(map(_LED.fullmatch, cells.text.filter(led).unique().to_pylist())):
        return False
    words = [word for word in cells.words if not is_missing(word)]
    if not all(re.fullmatch("[0-9]+", word) for word in words):
        return False
    is_led = cells.of_words(lambda word: bool(_LED.fullmatch(word)), bool)
    often = (NUMBERS_PER_WORD + 1) * is_led.sum() > (~cells.blank).sum()
    return bool(often or len({len(word) for word in words}) == 1)


@dataclass(frozen=True)
class NumberColumn(EncodedColumn):
    """A column of numbers.

    Attributes
    ----------
    decimal, unit : str
        Of numbers in text: the decimal sign, and the currency.
    """

    kind: ClassVar[str] = "number"
    decimal: str = "."
    unit: str = ""

    @classmethod
    def fit(cls, cells: Cells, read: Numbers | None = None) -> tuple[Self | None, str]:
        name, read = cells.name, read or parse_numbers(cells, cells.decimal)
        if np.isnan(read.values).all():
            return None, f"column {name!r} left out: no cell of it is a number."
        currencies = sorted(read.units - {"%"})
        marks = [f"the currency {unit}" for unit in currencies]
        marks += ["per cent (12 % is 0.12)"] if "%" in read.units else []
        if cells.decimal == ",":
            signs = find_decimal_signs(cells)
            marks += ["a decimal comma"] if signs.commas or signs.unclear else []
        notes: list[str] = []
        if marks:
            how = f"column {name!r} read as numbers with {' and '.join(marks)}"
            notes.append(f"{how} ({otherwise(name, 'category')}).")
        if read.is_word.any():
            notes.append(cells.say_words(read.is_word, "a number"))
        unit = currencies[0] if len(currencies) == 1 else ""
        fitted = cls(name, **cls.fill_of(read.values), decimal=cells.decimal, unit=unit)
        return fitted, " ".join(notes)

    def encode(self, cells: Cells) -> tuple[Entries, str]:
        decimal = self.decimal
        read = parse_numbers(cells, decimal)
        if decimal == "," or read.is_word.any():
            # The cells decide on their decimal sign where they can, else those of the fit.
            decimal = find_decimal_signs(cells).choose(decimal)
            read = read if decimal == self.decimal else parse_numbers(cells, decimal)
        self.check_readable(cells, read.is_word, read.values)
        if self.unit and (other := read.units - {"%", self.unit}):
            raise DataFileError(
                cells.where,
                f"column {self.name!r} must be in {self.unit}, as when the model was fitted; got "
                f"{', '.join(sorted(other))}. Convert it.",
            )
        remedy = f"Fill in the cell, or train without the column (`drop={(self.name,)}`)."
        if (np.abs(read.values) > np.finfo(np.float32).max).any():
            check_numbers(cells, read, remedy, missing_too=True)
        return self.filled(read.values[:, None], int(read.is_word.sum()))

    def check(self) -> None:
        super().check()
        if self.decimal not in (".", ","):
            raise ValueError(f"decimal of column {self.name!r}")


def check_numbers(
    cells: Cells,
    read: Numbers,
    remedy: str,
    *,
    least: float = -np.inf,
    first_row: int = 0,
    missing_too: bool = False,
) -> NDArray[np.float32]:
    """Return numbers as float32, or raise at the first row that holds none that is finite.

    With ``missing_too`` a missing one, or another word, is NaN.
    """
    with np.errstate(over="ignore"):
        values = read.values.astype(np.float32)
    bad = ~(np.isfinite(values) & (values >= least))
    bad &= ~(np.isnan(values) & missing_too)
    if not bad.any():
        return values
    row = int(bad.argmax())
    if read.is_word[row]:
        raise not_a_number(cells, row, remedy, first_row=first_row)
    got = cells.column[row].as_py()
    got = got[:80] if isinstance(got, str) else got
    if np.isnan(values[row]):
        problem = f"it is missing (got {got!r})"
    elif np.isinf(values[row]):
        problem = f"{got} is infinite, or too large for float32"
    else:
        problem = f"{got} is less than {least:g}"
    message = f"column {cells.name!r} must hold a number: {problem}. {remedy}"
    raise at_row(cells.where, first_row + row, message)


def not_a_number(cells: Cells, row: int, remedy: str, *, first_row: int = 0) -> DataFileError:
    """Make the error for a word in a column of numbers."""
    problem = f"{str(cells.column[row].as_py())[:80]!r} is not a number"
    message = f"column {cells.name!r} must hold a number: {problem}. {remedy}"
    return at_row(cells.where, first_row + row, message)


@dataclass(frozen=True)
class ListColumn(EncodedColumn):
    """A column of lists of numbers, of one length."""

    kind: ClassVar[str] = "list"

    @property
    def value_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}[{i}]" for i in range(len(self.fill)))

    @classmethod
    def fit(cls, cells: Cells) -> tuple[Self | None, str]:
        matrix, name = _read_lists(cells), cells.name
        if matrix is None or not matrix.shape[1]:
            reason = "its lists must hold numbers, the same count in each row."
            return None, f"column {name!r} left out: {reason}"
        gone = np.isnan(matrix).any(axis=1)
        if gone.all():
            return None, f"column {name!r} left out: it is empty."
        note = f"column {name!r} holds lists: {count(matrix.shape[1], 'number')} each."
        fill = tuple(np.median(matrix[~gone], axis=0).tolist())
        return cls(name, fill, bool(gone.any())), note

    def encode(self, cells: Cells) -> tuple[Entries, str]:
        matrix = _read_lists(cells)
        if matrix is None or matrix.shape[1] != len(self.fill):
            got = "others" if matrix is None else f"lists of {matrix.shape[1]}"
            problem = f"must hold lists of {len(self.fill)} numbers; got {got}."
            raise DataFileError(cells.where, f"column {self.name!r} {problem}")
        return self.filled(matrix, 0)

    @staticmethod
    def can_hold(kind: Any) -> bool:
        import pyarrow.types as is_type

        fixed = is_type.is_fixed_size_list(kind)
        return fixed or is_type.is_list(kind) or is_type.is_large_list(kind)

    def check(self) -> None:
        super().check()
        if not self.fill:
            raise ValueError(f"fill of column {self.name!r}")


def _read_lists(cells: Cells) -> NDArray[np.float64] | None:
    """Return lists of equal length as a matrix, NaN where one is missing; None for others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = cells.column
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
