"""Numbers as people write them: 1.234,56 €, (1,234.56), 12 %, 3e-4.

Which of point and comma is the decimal sign is decided per column: by its own cells where one of
them can be read in one way only, else by the other columns of its file. Arrow reads columns of
plain numbers; where some cell is written otherwise, each different word is read here, by itself.

A column keeps how its numbers were written when it was fitted: decimal sign, per cent, currency. A
cell that is written otherwise is an error, or missing and counted; it is never read as a multiple.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from graphfilter.tables.cells import Cells, is_missing, is_text, is_usable, without_gaps
from graphfilter.tables.columns import EncodedColumn, Read, median, otherwise
from graphfilter.tables.source import TableSource, at_row
from graphfilter.util.arrow import is_type, pa, pc
from graphfilter.util.errors import DataFileError
from graphfilter.util.words import count

# Float32 rounds by such a share of a number; where that is more than such a share of the spread,
# an origin is subtracted.
_STEP, _LOST = 1e-7, 1e-3
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
    rf"([0-9](?:[0-9.,{_GAP}]*[0-9.,])?|[.,][0-9]+)([eE][-+]?[0-9]+)?{_BLANK}({_UNIT}|%)?{_BLANK}(\))?"
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
# A number whose points may all stand between thousands.
_GROUPED = r"^[-+]?[1-9][0-9]{0,2}(\.[0-9]{3})+$"
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
    unit : str
        The currency that stands beside the numbers, by its code, or ``'%'``; '' for none.
    other_units : tuple of str
        What stands beside cells that are words, for a number must be in ``unit``.
    unclear : str
        A word that can be read with either decimal sign, where some can with the other only.
    plain : bool
        Whether all are digits with at most a point.
    """

    values: NDArray[np.float64]
    is_word: NDArray[np.bool_]
    unit: str = ""
    other_units: tuple[str, ...] = ()
    unclear: str = ""
    plain: bool = False


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

    Plain numbers, of which there may be millions, are looked at together.
    """
    if not cells.is_text or cells.iso_dates is not None:
        return DecimalSigns()
    if _cast_plain(cells.text) is not None:
        first = cells.text[0].as_py() if len(cells) else ""
        if "." in first and not re.match(_GROUPED, first):
            return DecimalSigns(points=1)
        words = cells.text.filter(pc.match_substring(cells.text, "."))
        if len(words) and pc.all(pc.match_substring_regex(words, _GROUPED)).as_py():
            return DecimalSigns(unclear=frozenset("."))
        return DecimalSigns(points=int(len(words) > 0))
    points, commas, unclear = 0, 0, set[str]()
    for word in cells.words:
        point, comma = _signs_of(word)
        points, commas = points + (point and not comma), commas + (comma and not point)
        if point and comma:
            unclear.update(sign for sign in ",." if sign in word)
    return DecimalSigns(points, commas, frozenset(unclear))


def _signs_of(word: str) -> tuple[bool, bool]:
    """Return whether a word can be read with a decimal point, and with a comma."""
    if (parts := _take_apart(word)) is None:
        return False, False
    return bool(_STYLES["."].fullmatch(parts[4])), bool(_STYLES[","].fullmatch(parts[4]))


def guess_decimal(cells: Cells, table: TableSource) -> str:
    """Return the decimal sign of a column alone: as told, by its cells, or by the table's hint.

    A lone point is decimal everywhere; a lone comma is what the hint says: decimal where commas do
    not separate columns.
    """
    signs = find_decimal_signs(cells)
    return table.decimal or signs.choose(table.decimal_hint if "," in signs.unclear else ".")


def parse_numbers(cells: Cells, decimal: str = ".", unit: str | None = None) -> Numbers:
    """Read a column of any type as numbers with this decimal sign.

    Each cell is read by itself: one that can be read with the other decimal sign only is read so.
    A number in another ``unit`` is a word: per cent and others are different numbers, and so are
    two currencies. Without ``unit`` most cells decide; with ``'any'`` all are taken.
    """
    if not cells.is_text:
        values = np.asarray(cells.cast(lambda c: c.cast(pa.float64(), safe=False), "numbers"))
        other = ~np.isnan(values) & (values != 0) & (unit == "%")
        others = ("numbers without a per cent sign",) * bool(other.any())
        return Numbers(np.where(other, np.nan, values), other, unit or "", others)
    points = decimal != "." and pc.any(pc.match_substring(cells.text, ".")).as_py()
    plain = unit != "%" and not points
    if plain and (values := _cast_plain(cells.text)) is not None:
        return Numbers(values, np.zeros(len(cells), dtype=bool), unit or "", plain=True)
    truth = _TRUTH if cells.told else {}
    read = [_read_number(word, decimal) for word in cells.words]
    if unit is None:
        unit = _main_unit(read, cells)
    values, others = np.full(len(read), np.nan), set[str]()
    for i, (word, (value, own, _)) in enumerate(zip(cells.words, read, strict=True)):
        plain = not own and (unit != "%" or not value)
        if value == value and not (plain or unit in (own, "any")):
            others.add(own or "numbers without a per cent sign")
        else:
            values[i] = truth.get(word.lower(), value)
    is_word = np.isnan(values) & [not is_missing(word) for word in cells.words]
    unclear = ""
    if any(swapped for _, _, swapped in read):
        either = (word for word in cells.words if all(_signs_of(word)) and re.search("[.,]", word))
        unclear = next(either, "")
    others = tuple(sorted(others))
    return Numbers(values[cells.codes], is_word[cells.codes], unit, others, unclear)


def _main_unit(read: list[tuple[float, str, bool]], cells: Cells) -> str:
    """Return what stands beside most numbers: per cent, or the commonest currency if any."""
    if not any(unit for _, unit, _ in read):
        return ""
    n_cells = Counter[str]()
    for (value, unit, _), n in zip(read, np.bincount(cells.codes).tolist(), strict=True):
        n_cells[unit] += n * bool(value == value and (value or unit))
    if 2 * n_cells["%"] >= sum(n_cells.values()):
        return "%"
    currencies = n_cells.keys() - {"", "%"}
    return max(sorted(currencies), key=lambda unit: n_cells[unit], default="")


def _cast_plain(text: Any) -> NDArray[np.float64] | None:
    """Return the numbers of a column of plain numbers and gaps; None for any other."""
    first = text[0].as_py() if len(text) else ""
    if not (_DIGIT.search(first) or "inf" in first.lower() or is_missing(first)):
        return None
    with suppress(pa.ArrowInvalid):
        return np.asarray(without_gaps(text).cast(pa.float64()))
    return None


@lru_cache(maxsize=1 << 12)
def _take_apart(word: str) -> tuple[str, ...] | None:
    """Take a word apart: sign, digits, power and unit; None where it is no number."""
    found = _SHAPE.fullmatch(word) if _DIGIT.search(word) else None
    if found is None or bool(found[1]) != bool(found[8]):
        return None
    return found.groups("")


def _read_number(word: str, decimal: str) -> tuple[float, str, bool]:
    """Read a word as a number, NaN where it is none; return what stands beside it, too.

    The last says whether it can only be read with the other decimal sign, and was.
    """
    parts = _take_apart(word)
    swapped = parts is not None and not _STYLES[decimal].fullmatch(parts[4])
    if swapped:
        decimal = "." if decimal == "," else ","
    if parts is None or (swapped and not _STYLES[decimal].fullmatch(parts[4])):
        return _INFINITE.get(word.lower(), np.nan), "", False
    bracket, before, sign, inner, digits, power, after, _ = parts
    value = float(_BETWEEN[decimal].sub("", digits).replace(decimal, ".") + power)
    value = -value if bracket or (sign and sign != "+") else value
    unit = before or inner or after
    unit = _SYMBOLS.get(unit.lower(), unit.upper())
    return value / 100 if unit == "%" else value, unit, swapped


def are_codes(cells: Cells) -> bool:
    """Return whether the whole numbers of a column of text are names: 01067, 80331.

    Some begin with a zero that no number needs: more than one in twenty, or all are as long as
    those.
    """
    # Most columns are told from their first characters.
    led = cells.text.filter(pc.starts_with(cells.text, "0"))
    if not any(map(_LED.fullmatch, led.unique().to_pylist())):
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
        Of numbers in text: the decimal sign, and what stands beside them, a currency or '%'.
    held : bool
        Whether a number in another unit is refused; not so before version 0.3.
    origin : float
        What is subtracted before the numbers become float32, so that they keep their digits.
    """

    kind: ClassVar[str] = "number"
    decimal: str = "."
    unit: str = ""
    held: bool = False
    origin: float = 0.0

    @property
    def value_names(self) -> tuple[str, ...]:
        return (f"{self.name} (above {self.origin:.15g})" if self.origin else self.name,)

    @classmethod
    def fit(cls, cells: Cells, read: Numbers | None = None) -> tuple[Self | None, str]:
        name, read = cells.name, read or parse_numbers(cells, cells.decimal)
        if np.isnan(read.values).all():
            return None, f"column {name!r} left out: no cell of it is a number."
        check_signs(cells, read, cells.decimal)
        known = {"": [], "%": ["per cent (12 % is 0.12)"]}
        marks = known.get(read.unit, [f"the currency {read.unit}"])
        signs = DecimalSigns() if read.plain else find_decimal_signs(cells)
        if cells.decimal == "," and (signs.commas or signs.unclear):
            marks.append("a decimal comma")
        elif "," in signs.unclear and not signs.points:
            marks.append("commas between thousands")
        notes: list[str] = []
        if marks:
            how = f"column {name!r} read as numbers with {' and '.join(marks)}"
            notes.append(f"{how} ({otherwise(name, 'category')}).")
        if read.is_word.any():
            notes.append(cells.say_words(read.is_word, f"a number{_in_unit(read.unit)}"))
        seen = read.values[np.isfinite(read.values)]
        middle, gaps = median(seen), bool(np.isnan(read.values).any())
        origin, n_lost = _find_origin(seen, middle)
        if n_lost:
            notes.append(
                f"column {name!r}: {count(len(seen), 'number')} of more digits than float32 has; "
                f"{count(n_lost, 'different one')} became equal to others."
            )
        fitted = cls(
            name, (middle,), gaps, decimal=cells.decimal, unit=read.unit, held=True, origin=origin
        )  # fmt: skip
        return fitted, " ".join(notes)

    def read(self, cells: Cells) -> Read:
        unit = self.unit if self.held or self.unit else "any"
        read = parse_numbers(cells, self.decimal, unit)
        check_signs(cells, read, self.decimal)
        n_words = int(read.is_word.sum()) if read.other_units else 0
        if n_words and not self.is_readable(n_words, read.values[:, None]):
            problem = (
                f"must be in {self.unit or 'no unit'}, as when the model was fitted; got "
                f"{', '.join(read.other_units)}. Convert it."
            )
            row = int(read.is_word.argmax())
            raise at_row(cells.where, row, f"column {self.name!r} {problem}")
        if (np.abs(read.values) > np.finfo(np.float32).max).any():
            remedy = (
                "Fill in the cell, take infinite numbers for missing ones (`allow_missing=True`)"
            )
            remedy += f", or train without the column (`drop={(self.name,)}`)."
            check_numbers(cells, read, remedy, missing_too=True)
        return Read(read.values[:, None], read.is_word)

    @property
    def shift(self) -> float:
        return self.origin

    def check(self) -> None:
        super().check()
        if self.decimal not in (".", ",") or not np.isfinite(self.origin):
            raise ValueError(f"decimal or origin of column {self.name!r}")


def _in_unit(unit: str) -> str:
    return "" if not unit else " with a per cent sign" if unit == "%" else f" in {unit}"


def check_signs(cells: Cells, read: Numbers, decimal: str, first_row: int = 0) -> None:
    """Refuse a number of either decimal sign beside some that have another than the fit's."""
    if read.unclear:
        row = cells.words.index(read.unclear)
        sign = {".": "point", ",": "comma"}[decimal]
        raise at_row(
            cells.where, first_row + int((cells.codes == row).argmax()),
            f"column {cells.name!r}: {read.unclear!r} must have a decimal {sign}, as before; other "
            "cells have not. Write all with one sign, and nothing between thousands.",
        )  # fmt: skip


def _find_origin(values: NDArray[np.float64], middle: float) -> tuple[float, int]:
    """Return what to subtract so that float32 tells values apart, and how many it still cannot."""
    rest = values - middle
    # One that is far from all others does not make these small.
    far = np.sort(np.abs(rest))
    used = far[: max(0, len(far) - 1 - len(far) // 100)]
    spread = (np.add.reduce(used) or np.add.reduce(far)) / max(1, len(used))
    if not spread or abs(middle) * _STEP < _LOST * spread:
        return 0.0, 0
    return middle, len(np.unique(rest)) - len(np.unique(rest.astype(np.float32)))


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
        raise not_a_number(cells, row, remedy, first_row=first_row, unit=read.unit)
    problem = f"{str(cells.column[row].as_py())[:80]} is "
    if np.isnan(values[row]):
        problem = "it is missing"
    elif np.isinf(values[row]):
        problem += "infinite, or too large for float32"
    else:
        problem += f"less than {least:g}"
    message = f"column {cells.name!r} must hold a number: {problem}. {remedy}"
    raise at_row(cells.where, first_row + row, message)


def not_a_number(
    cells: Cells, row: int, remedy: str, *, first_row: int = 0, unit: str = ""
) -> DataFileError:
    """Make the error for a word in a column of numbers."""
    problem = f"{str(cells.column[row].as_py())[:80]!r} is not a number{_in_unit(unit)}"
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
        if matrix is None:
            reason = "its lists must hold numbers, the same count in each row."
            return None, f"column {name!r} left out: {reason}"
        gone = np.isnan(matrix).any(axis=1)
        if gone.all():
            return None, f"column {name!r} left out: it is empty."
        note = f"column {name!r} holds lists: {count(matrix.shape[1], 'number')} each."
        fill = tuple(np.median(matrix[~gone], axis=0).tolist())
        return cls(name, fill, bool(gone.any())), note

    def read(self, cells: Cells) -> Read:
        matrix = _read_lists(cells)
        if matrix is None or matrix.shape[1] != len(self.fill):
            got = "others" if matrix is None else f"lists of {matrix.shape[1]}"
            problem = f"must hold lists of {len(self.fill)} numbers; got {got}."
            raise DataFileError(cells.where, f"column {self.name!r} {problem}")
        return Read(matrix, np.zeros(len(cells), dtype=bool))

    @staticmethod
    def can_hold(kind: Any) -> bool:
        fixed = is_type.is_fixed_size_list(kind)
        return fixed or is_type.is_list(kind) or is_type.is_large_list(kind)

    def check(self) -> None:
        super().check()
        if not self.fill:
            raise ValueError(f"fill of column {self.name!r}")


def _read_lists(cells: Cells) -> NDArray[np.float64] | None:
    """Return lists of equal length as a matrix, NaN where one is missing; None for others."""
    column = cells.column
    column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    inner = column.type.value_type
    if is_type.is_boolean(inner) or is_text(inner) or not is_usable(inner):
        return None
    present = np.asarray(pc.is_valid(column), dtype=bool)
    kept = column.filter(pa.array(present))
    lengths = np.unique(np.asarray(pc.list_value_length(kept)))
    if len(lengths) != 1 or not lengths[0]:
        return None
    flat = pc.list_flatten(kept).cast(pa.float64(), safe=False)
    matrix = np.full((len(column), int(lengths[0])), np.nan)
    matrix[present] = np.asarray(flat).reshape(-1, int(lengths[0]))
    return matrix
