"""Dates and times, of any type or spelling, as numbers: days since the first one, hours of the day.

Which spelling a column has is decided once, on its different words, by which reads the most of
them. Where day and month cannot be told apart (03/04/2024), the caller's preference decides.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.tables.cells import as_text, numbered_words, value_type
from graphfilter.tables.numbers import MISSING_WORDS, guess_decimal, parse_numbers
from graphfilter.tables.source import TableSource, reading_table
from graphfilter.util.errors import ConfigError, DataFileError

# The spelling of the day, and a pattern that a word must hold: strptime takes 23 for the year 23.
DAYS = {
    "%Y-%m-%d": r"^[0-9]{4}-",
    "%Y/%m/%d": r"^[0-9]{4}/",
    "%Y.%m.%d": r"^[0-9]{4}\.",
    "%d.%m.%Y": r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}",
    "%d.%m.%y": r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{2}($|\D)",
    "%m/%d/%Y": r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}",
    "%d/%m/%Y": r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}",
    "%m/%d/%y": r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{2}($|\D)",
    "%d/%m/%y": r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{2}($|\D)",
    "%d-%m-%Y": r"^[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}",
    "%m-%d-%Y": r"^[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}",
    "%d %b %Y": r"^[0-9]{1,2} [A-Za-z]{3} [0-9]{4}",
    "%d-%b-%Y": r"^[0-9]{1,2}-[A-Za-z]{3}-[0-9]{4}",
    "%d %B %Y": r"^[0-9]{1,2} [A-Za-z]+ [0-9]{4}",
    "%b %d, %Y": r"^[A-Za-z]{3} [0-9]{1,2}, [0-9]{4}",
    "%B %d, %Y": r"^[A-Za-z]+ [0-9]{1,2}, [0-9]{4}",
}
_CLOCKS = ("%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p")
_ZONED = (*_CLOCKS, "%H:%M:%S%z", "%H:%M%z")
_OF_TIMES = (
    (r"(:[0-9]{2})[.,][0-9]+", r"\1"),
    (r"(:[0-9]{2}) ?(Z|UTC)$", r"\1+0000"),
    (r"(:[0-9]{2}) ?([+-][0-9]{2}):?([0-9]{2})$", r"\1\2\3"),
)
TIME = "time"
# Spellings of the same shape, the day first, and the month.
DAY_FIRST = {"%d/%m/%Y": "%m/%d/%Y", "%d/%m/%y": "%m/%d/%y", "%d-%m-%Y": "%m-%d-%Y"}
_MONTH_FIRST = {month: day for day, month in DAY_FIRST.items()}
_SECONDS_PER_DAY = 86_400
# The first and the last day of years with four digits, in days since 1970.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
# The spelling is chosen on so many different words.
_SAMPLE = 1000
_MOST = 0.9
# So many words Python is done with before Arrow has prepared a pattern.
_FEW_WORDS = 300
_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_MONTHS = {name[:n]: i for i, name in enumerate(_NAMES, 1) for n in (3, len(name))}
# Digits and a sign that no clock has after them.
_NO_CLOCK = re.compile(r"[0-9]+[^0-9:\s]")


def is_date_type(kind: Any) -> bool:
    """Return whether Arrow itself knows cells of this type as dates or times."""
    import pyarrow.types as is_type

    return is_type.is_temporal(kind) and not is_type.is_duration(kind)


def known_words(column: Any) -> Any:
    """Return the different words of a column that do not say that there is none."""
    import pyarrow as pa

    found = as_text(column, trim=True).unique()
    known = [word for word in found.to_pylist() if word.lower() not in MISSING_WORDS]
    return found if len(known) == len(found) else pa.array(known, pa.string())


def is_spelling(spelling: str) -> bool:
    """Return whether dates in text can have this spelling."""
    return spelling == TIME or spelling in DAYS


def reads_most(words: Any, spelling: str) -> bool:
    """Return whether a spelling reads 90 % of these words."""
    return not len(words) or _share_read(words.slice(0, _SAMPLE), spelling) >= _MOST


def find_spelling(words: Any, *, day_first: bool) -> str | None:
    """Choose the spelling that reads the most of these words; None where none reads 90 %."""
    sample = words.slice(0, _SAMPLE)
    if not len(sample):
        return None
    listed = sample.to_pylist()
    if not _have_shape(listed, _ANY_SHAPE):
        return None
    shaped = {shape: _have_shape(listed, pattern) for shape, pattern in _SHAPES.items()}
    possible = [spelling for spelling, shape in (*DAYS.items(), (TIME, ":")) if shaped[shape]]
    if not possible:
        return None
    scores = {spelling: _share_read(sample, spelling) for spelling in possible}
    # Both orders read dates whose days are all below 13.
    liked = DAY_FIRST if day_first else _MONTH_FIRST
    best = max(scores, key=lambda spelling: (scores[spelling], spelling in liked))
    return best if scores[best] >= _MOST else None


_SHAPES = {shape: re.compile(shape, re.ASCII) for shape in (*DAYS.values(), ":")}
_ANY_SHAPE = re.compile("|".join(_SHAPES), re.ASCII)


def _have_shape(words: list[str], pattern: re.Pattern[str]) -> bool:
    """Return whether 90 % of the words match a pattern.

    In Python, which knows a word that does not before Arrow has prepared the pattern.
    """
    n_others = 0
    for word in words:
        n_others += pattern.search(word) is None
        if (len(words) - n_others) / len(words) < _MOST:
            return False
    return True


def is_unclear(words: Any, spelling: str) -> bool:
    """Return whether day and month of every word could be the other way round."""
    other = (DAY_FIRST | _MONTH_FIRST).get(spelling)
    sample = words.slice(0, _SAMPLE)
    return other is not None and _share_read(sample, other) == _share_read(sample, spelling)


def read_seconds(column: Any, spelling: str) -> NDArray[np.float64]:
    """Return seconds since 1970, or since midnight for times; NaN where there is none."""
    import pyarrow as pa

    kind = value_type(column)
    if not is_date_type(kind):
        if len(column) <= _FEW_WORDS:
            return _read_words(column, spelling)
        words, numbers = numbered_words(column)
        return _read_words(words, spelling)[numbers]
    if pa.types.is_time(kind):
        values = column.cast(pa.time64("us"), safe=False).cast(pa.int64())
    else:
        naive = column.cast(pa.timestamp("us", tz=getattr(kind, "tz", None)), safe=False)
        values = naive.cast(pa.int64())
    return np.asarray(values.cast(pa.float64(), safe=False)) / 1e6


def can_be_written(day: float) -> bool:
    """Return whether a day since 1970 is of the years 1 to 9999, which have names."""
    return _FIRST_DAY <= day <= _LAST_DAY


def days_and_hours(seconds: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return days since 1970, with the part of the day as a fraction, and hours since midnight."""
    days = seconds / _SECONDS_PER_DAY
    return days, np.mod(seconds, _SECONDS_PER_DAY) / 3600


def _share_read(words: Any, spelling: str) -> float:
    return np.count_nonzero(~np.isnan(_read_words(words, spelling))) / len(words)


def _read_words(words: Any, spelling: str) -> NDArray[np.float64]:
    """Read different words in one spelling, with a time of day or without."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not is_spelling(spelling):
        return np.full(len(words), np.nan)
    text = as_text(words, trim=True)
    if len(words) <= _FEW_WORDS:
        read = [_read_word(word, spelling) for word in text.to_pylist()]
        if None not in read:
            return np.array(read, dtype=np.float64)
    timed = pc.call_function("match_substring", [text], pc.MatchSubstringOptions(":"))
    has_times = pc.call_function("any", [timed]).as_py()
    # ISO's T, fractions of a second and blanks before the zone: strptime knows none of them.
    for pattern, put in (
        (r"^([0-9]{4}-[0-9]{2}-[0-9]{2})T", r"\1 "),
        *(_OF_TIMES if has_times else ()),
    ):
        options = pc.ReplaceSubstringOptions(pattern=pattern, replacement=put)
        text = pc.call_function("replace_substring_regex", [text], options)
    if spelling == TIME:
        read = [_strptime(text, clock) for clock in _CLOCKS]
        values = np.asarray(pc.call_function("coalesce", read).cast(pa.float64()))
        return np.mod(values, _SECONDS_PER_DAY)
    fits = pc.call_function(
        "match_substring_regex", [text], pc.MatchSubstringOptions(DAYS[spelling])
    )
    text = pc.call_function("if_else", [fits, text, None])
    clocks = ("", *(f" {clock}" for clock in _ZONED if has_times))
    read = [_strptime(text, spelling + clock) for clock in clocks]
    return np.asarray(pc.call_function("coalesce", read).cast(pa.float64()))


@lru_cache(maxsize=1 << 16)
def _read_word(word: str, spelling: str) -> float | None:
    """Read a word as Arrow would, in the usual form alone; None where only Arrow can tell."""
    if spelling == TIME:
        other = ":" not in word or _NO_CLOCK.match(word)
    else:
        other = not re.search(DAYS[spelling], word, re.ASCII)
    if other:
        return math.nan
    found = _usual(spelling).fullmatch(word)
    if found is None:
        return None
    part = found.groupdict()
    hour, minute, second = (int(part[name] or 0) for name in "HMS")
    if hour > 23 or minute > 59 or second > 59:
        return None
    clock = 3600 * hour + 60 * minute + second
    if spelling == TIME:
        return float(clock)
    day, month = int(part["d"]), int(part.get("m") or _MONTHS.get(part["b"].lower(), 0))
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return math.nan
    year = int(part["Y"]) if "Y" in part else int(part["y"]) + (1900 if part["y"] >= "69" else 2000)
    try:
        days = date(year, month, day).toordinal() + _FIRST_DAY - 1
    except ValueError:
        return None
    return float(_SECONDS_PER_DAY * days + clock)


@cache
def _usual(spelling: str) -> re.Pattern[str]:
    """Return a pattern of the words in a spelling that are read in one way only."""
    clock = "(?P<H>[0-9]{1,2}):(?P<M>[0-9]{2})(:(?P<S>[0-9]{2}))?"
    if spelling == TIME:
        return re.compile(clock)
    digits = {"Y": "[0-9]{4}", "y": "[0-9]{2}", "b": "[A-Za-z]+"}
    day = re.sub(
        "%(.)",
        lambda one: f"(?P<{one[1]}>{digits.get(one[1], '[0-9]{1,2}')})",
        re.escape(spelling.replace("%B", "%b")),
    )
    return re.compile(f"{day}( {clock})?")


def _strptime(text: Any, spelling: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    options = pc.StrptimeOptions(format=spelling, unit="s", error_is_null=True)
    return pc.call_function("strptime", [text], options).cast(pa.int64())


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
        if is_date_type(value_type(column)):
            return Times(read_seconds(column, ""), True)
        decimal = guess_decimal(column, table.decimal, table.decimal_hint)
        numbers = parse_numbers(column, decimal)
        if not numbers.is_word.any():
            return Times(numbers.values)
        words = known_words(column)
        day_first = (table.decimal or table.decimal_hint) == ","
        spelling = find_spelling(words, day_first=day_first)
        if spelling is None:
            raise DataFileError(
                table,
                f"column {name!r} must hold dates or numbers to divide by time; got "
                f"{words[0].as_py()!r}. Write its dates like 2024-12-31.",
            )
        return Times(read_seconds(column, spelling), True)


def parse_moment(moment: Any, *, are_dates: bool) -> float:
    """Return one moment as the number that :func:`parse_times` would give it.

    >>> parse_moment("1970-01-02", are_dates=True), parse_moment("2024", are_dates=False)
    (86400.0, 2024.0)
    """
    import pyarrow as pa

    text = str(moment).strip()
    if are_dates:
        words = pa.array([text])
        spelling = find_spelling(words, day_first=False)
        if spelling is None or spelling == TIME or is_unclear(words, spelling):
            raise ConfigError(f"as-of must be a date like 2024-12-31; got {text!r}.")
        return float(read_seconds(words, spelling)[0])
    try:
        return float(text)
    except ValueError:
        raise ConfigError(
            f"as-of must be a number, like the times of the edges; got {text!r}."
        ) from None
