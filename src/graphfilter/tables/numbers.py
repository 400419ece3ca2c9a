"""Numbers as people write them: 1.234,56 €, (1,234.56), 12 %, 3e-4.

Which of point and comma is the decimal sign is decided per column: by its own cells where one of
them can be read in one way only, else by the other columns of its file.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.tables.cells import as_text, is_text, numbered_words, value_type
from graphfilter.tables.source import at_row
from graphfilter.util.errors import DataFileError

# In a cell of numbers or dates these say that there is none; Excel's errors too.
MISSING_WORDS = frozenset((
    "", "na", "n/a", "#n/a", "#na", "<na>", "nan", "null", "none", "nil", "-", "--", "---", ".",
    "?", "k.a.", "k. a.", "n.a.", "n. a.", "n.v.", "unknown", "unbekannt", "missing", "nat",
    "#nv", "#wert!", "#value!", "#div/0!", "#ref!", "#bezug!", "#num!", "#zahl!", "#name?", "\\n",
))  # fmt: skip
# A column of numbers may hold one other word in so many cells, which are then missing.
NUMBERS_PER_WORD = 19
# So many words Python is done with before Arrow has prepared a pattern.
_FEW_WORDS = 300
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
_SHAPE = (
    rf"^(?P<open>\()?{_BLANK}(?P<before>{_UNIT})?{_BLANK}(?P<sign>[-+−–])?{_BLANK}"
    rf"(?P<inner>{_UNIT})?{_BLANK}(?P<digits>[0-9](?:[0-9.,{_GAP}]*[0-9.,])?|[.,][0-9]+)"
    rf"(?P<power>[eE][-+]?[0-9]+)?{_BLANK}(?P<after>{_UNIT}|%)?{_BLANK}\)?$"
)
_STYLES = {
    ".": rf"^([0-9]+|[1-9][0-9]{{0,2}}([,{_GAP}][0-9]{{3}})+)?(\.[0-9]*)?$",
    ",": rf"^([0-9]+|[1-9][0-9]{{0,2}}([.{_GAP}][0-9]{{3}})+)?(,[0-9]*)?$",
}
_INFINITE = {
    sign + word: float(sign + word) for sign in ("", "+", "-") for word in ("inf", "infinity")
}
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
_GROUPED = r"^[-+]?[1-9][0-9]{0,2}(\.[0-9]{3})+$"


@dataclass(frozen=True, eq=False)
class Numbers:
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


@dataclass(frozen=True)
class DecimalSigns:
    """How many different cells of a column can be read with one decimal sign only.

    ``unclear`` are the signs of the cells that can be read with either, such as 1,234.
    """

    points: int = 0
    commas: int = 0
    unclear: frozenset[str] = frozenset()

    def __add__(self, other: DecimalSigns) -> DecimalSigns:
        return DecimalSigns(
            self.points + other.points, self.commas + other.commas, self.unclear | other.unclear
        )

    def choose(self, otherwise: str | None) -> str:
        """Return the decimal sign: by the clear cells, else ``otherwise``, else the point."""
        if self.points or self.commas:
            return "," if self.commas > self.points else "."
        return otherwise or "."


def guess_decimal(column: Any, told: str | None, hint: str | None) -> str:
    """Return the decimal sign of a column alone: as told, by its cells, or by the hint.

    A lone point is decimal everywhere; a lone comma is what the ``hint`` says: decimal where commas
    do not separate columns.
    """
    if told is not None:
        return told
    signs = find_decimal_signs(column)
    return signs.choose(hint if "," in signs.unclear else ".")


def find_decimal_signs(column: Any) -> DecimalSigns:
    """Count the cells of a column by the decimal signs they can be read with.

    Plain numbers are not looked at: their points say little, and there may be millions.
    """
    import pyarrow.compute as pc

    if not is_text(value_type(column)):
        return DecimalSigns()
    text = as_text(column, trim=True)
    if _are_words(text) or _cast_plain(text) is not None:
        return DecimalSigns()
    words = numbered_words(column)[0]
    if not _have_digits(words):
        return DecimalSigns()
    digits = _parts(words)["digits"]
    digits = digits.filter(pc.call_function("is_valid", [digits]))
    point, comma = (_matches(digits, _STYLES[sign]) for sign in (".", ","))
    either = np.asarray(digits)[point & comma]
    unclear = frozenset(sign for sign in ",." if any(sign in word for word in either))
    return DecimalSigns(int((point & ~comma).sum()), int((comma & ~point).sum()), unclear)


_DIGIT = re.compile("[0-9]")
# No number, however it is written, has these signs between its digits.
_DATE = re.compile(r"[0-9][/:-]|\.[0-9]{1,2}\.")
_LED = re.compile(r"^0[0-9]+$")


def are_codes(column: Any) -> bool:
    """Return whether the whole numbers of a column of text are names: 01067, 80331.

    Some begin with a zero that no number needs: more than one in twenty, or all are as long as
    those.
    """
    import pyarrow.compute as pc

    text = as_text(column, trim=True)
    if len(text) > _FEW_WORDS:
        led = pc.call_function("starts_with", [text], pc.MatchSubstringOptions("0"))
        text = text.filter(led).unique()
    # In Python, which is faster for few cells than to prepare Arrow for the pattern.
    if not any(map(_LED.match, text.to_pylist())):
        return False
    words, codes = numbered_words(column)
    text = as_text(words, trim=True)
    led = _matches(text, _LED.pattern)
    if not (led | _matches(text, r"^[0-9]+$") | _are_missing(words)).all():
        return False
    known = ~_are_missing(words)
    lengths = np.asarray(pc.call_function("utf8_length", [text]))[known]
    n_rows = np.bincount(codes, minlength=len(words))
    often = (NUMBERS_PER_WORD + 1) * n_rows[led].sum() > n_rows[known].sum()
    return bool(often or lengths.min() == lengths.max())


def parse_numbers(column: Any, decimal: str = ".") -> Numbers:
    """Read a column of any type as numbers with this decimal sign."""
    import pyarrow as pa

    no_words = np.zeros(len(column), dtype=bool)
    kind = value_type(column)
    if pa.types.is_boolean(kind):
        return Numbers(np.asarray(column.cast(pa.int8()).cast(pa.float64())), no_words)
    if not is_text(kind):
        return Numbers(np.asarray(column.cast(pa.float64(), safe=False)), no_words)
    text = as_text(column, trim=True)
    if _are_words(text):
        return Numbers(np.full(len(text), np.nan), ~no_words)
    may_be_plain = decimal == "." or not _is_grouped(text)
    if may_be_plain and (plain := _cast_plain(text)) is not None:
        return Numbers(plain, no_words)
    # Some cell is no plain number: look at each different one.
    words, codes = numbered_words(column)
    missing = _are_missing(words)
    truths = np.array([_TRUTH.get(word.strip().lower(), np.nan) for word in words.to_pylist()])
    if (missing | ~np.isnan(truths)).all():
        return Numbers(truths[codes], no_words)
    values, units = _parse_words(words, decimal)
    is_word = np.isnan(values) & ~missing
    return Numbers(values[codes], is_word[codes], units)


def _cast_plain(text: Any) -> NDArray[np.float64] | None:
    """Return the numbers of a column of plain numbers and gaps; None for any other."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(text) and _is_plain_word(text[0].as_py()):
        return None
    with suppress(pa.ArrowInvalid):
        return np.asarray(pc.cast(text, pa.float64()))
    gaps = pc.call_function("is_in", [text], pc.SetLookupOptions(value_set=_gaps()))
    with suppress(pa.ArrowInvalid):
        known = pc.call_function("if_else", [gaps, None, text])
        return np.asarray(pc.cast(known, pa.float64()))
    return None


def _is_plain_word(word: str) -> bool:
    """Return whether a word cannot stand in a column of plain numbers."""
    number = _DIGIT.search(word) or word.lower().strip("+-") in ("inf", "infinity")
    return not number and word.lower() not in MISSING_WORDS


@cache
def _gaps() -> Any:
    """Return the usual spellings of the words that say that there is no number."""
    import pyarrow as pa

    spelt = {spell(word) for word in MISSING_WORDS for spell in (str, str.upper, str.title)}
    return pa.array(sorted({*spelt, "NaN", "NaT"}), pa.string())


def _parse_words(words: Any, decimal: str) -> tuple[NDArray[np.float64], frozenset[str]]:
    """Read different words as numbers; return also the units that stand beside them."""
    values, units = np.full(len(words), np.nan), frozenset[str]()
    if _have_digits(words):
        values, units = _parse_digits(words, decimal)
    for i, word in enumerate(words.to_pylist()):
        if (size := word.strip().lower()).endswith(("inf", "infinity")):
            values[i] = _INFINITE.get(size, values[i])
    return values, units


def _have_digits(words: Any) -> bool:
    """Return whether some word may be a number, which Arrow takes long to find out of a few."""
    return any(_DIGIT.search(word) and not _DATE.search(word) for word in words.to_pylist())


def _are_words(text: Any) -> bool:
    """Return whether the cells of a short column are surely neither numbers nor empty."""
    return 0 < len(text) <= _FEW_WORDS and all(
        _DATE.search(word) or (_is_plain_word(word) and word.lower() not in _TRUTH)
        for word in text.to_pylist()
    )


def _parse_digits(words: Any, decimal: str) -> tuple[NDArray[np.float64], frozenset[str]]:
    """Read different words as numbers, by their digits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = _parts(words)
    digits = parts["digits"]
    fits = _matches(digits, _STYLES[decimal])
    if not fits.any():
        return np.full(len(words), np.nan), frozenset()
    groups = f"[{'.' if decimal == ',' else ','}{_GAP}]"
    plain = pc.call_function(
        "replace_substring_regex",
        [digits],
        pc.ReplaceSubstringOptions(pattern=groups, replacement=""),
    )
    plain = pc.call_function(
        "replace_substring", [plain], pc.ReplaceSubstringOptions(pattern=decimal, replacement=".")
    )
    text = pc.call_function("binary_join_element_wise", [plain, parts["power"].fill_null(""), ""])
    text = pc.call_function("if_else", [pa.array(fits), text, None])
    values = np.asarray(text.cast(pa.float64())).astype(np.float64)
    signs = (np.asarray(parts[name].fill_null(""), dtype=object) for name in ("open", "sign"))
    negative = np.logical_or(*(np.isin(sign, ["(", "-", "−", "–"]) for sign in signs))
    values = np.where(negative, -values, values)
    units: set[str] = set()
    for name in ("before", "inner", "after"):
        unit = np.asarray(parts[name].fill_null(""), dtype=object)
        values = np.where(unit == "%", values / 100, values)
        beside = set(unit[~np.isnan(values)].tolist()) - {""}
        units |= {_SYMBOLS.get(word.lower()) or word.upper() for word in beside}
    return values, frozenset(units)


def _parts(words: Any) -> dict[str, Any]:
    """Take words apart: sign, digits, power and unit; null where one is no number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = ("open", "before", "sign", "inner", "digits", "power", "after")
    text = as_text(words, trim=True)
    if len(text) <= _FEW_WORDS:
        fits = [re.match(_SHAPE, word) for word in text.to_pylist()]
        if not any(fits):
            return dict.fromkeys(names, pa.nulls(len(text), pa.string()))
        cells = {name: [fit and (fit[name] or "") for fit in fits] for name in names}
        return {name: pa.array(column, pa.string()) for name, column in cells.items()}
    found = pc.call_function("extract_regex", [text], pc.ExtractRegexOptions(_SHAPE))
    return {
        name: pc.call_function("struct_field", [found], pc.StructFieldOptions(i))
        for i, name in enumerate(names)
    }


def _matches(text: Any, pattern: str) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    if len(text) <= _FEW_WORDS:
        fits = (word is not None and re.search(pattern, word) for word in text.to_pylist())
        return np.fromiter(fits, dtype=bool, count=len(text))
    options = pc.MatchSubstringOptions(pattern)
    found = pc.call_function("match_substring_regex", [text], options)
    return np.asarray(found.fill_null(False), dtype=bool)


def _is_grouped(text: Any) -> bool:
    """Return whether every point in a column of words stands between thousands."""
    import pyarrow.compute as pc

    point = np.asarray(pc.call_function("match_substring", [text], pc.MatchSubstringOptions(".")))
    return bool(point.any()) and bool(_matches(text, _GROUPED)[point].all())


def _are_missing(words: Any) -> NDArray[np.bool_]:
    lower = (word.strip().lower() for word in words.to_pylist())
    return np.array([word in MISSING_WORDS for word in lower], dtype=bool)


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
