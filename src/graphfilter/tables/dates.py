"""Dates and times, of any type or spelling, as numbers: days since the first one, hours of the day.

Which spelling a column has is decided once, when it is fitted, on its different words, by which
reads the most of them. Where day and month cannot be told apart (03/04/2024), the caller's
preference decides. Later cells are read in that spelling, or in one that is never unclear.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from graphfilter.tables.cells import Cells, is_missing, is_usable
from graphfilter.tables.columns import EncodedColumn, Read, median, otherwise
from graphfilter.tables.numbers import guess_decimal, parse_numbers
from graphfilter.tables.source import TableSource, at_row, reading_table
from graphfilter.util.arrow import is_type, pa
from graphfilter.util.errors import ConfigError, DataFileError
from graphfilter.util.words import read_number

# How dates in text can be spelled, as strptime has it.
DAYS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y",
    "%d/%m/%y", "%d-%m-%Y", "%m-%d-%Y", "%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%b %d, %Y",
    "%B %d, %Y",
)  # fmt: skip
TIME = "time"
_ISO = "%Y-%m-%d"
# Spellings of the same shape, the day first, and the month.
DAY_FIRST = {"%d/%m/%Y": "%m/%d/%Y", "%d/%m/%y": "%m/%d/%y", "%d-%m-%Y": "%m-%d-%Y"}
_MONTH_FIRST = {month: day for day, month in DAY_FIRST.items()}
_CLEAR = tuple(one for one in DAYS if one not in DAY_FIRST | _MONTH_FIRST)
# Two-digit years end in this one, before version 0.3; a new column's end at most so far ahead.
_NEWEST = 2068
_YEARS_AHEAD = 10
# Zones in which a time reads as without one.
_NO_SHIFT = (None, "UTC", "Etc/UTC", "+00:00", "Z")
_SECONDS_PER_DAY = 86_400
# The first and the last day of years with four digits, in days since 1970.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
# The spelling is chosen on so many different words, of which it must read so many.
_SAMPLE = 1000
_MOST = 0.9
_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_MONTHS = {name[:n]: i for i, name in enumerate(_NAMES, 1) for n in (3, len(name))}
_PARTS = {
    "Y": "(?P<Y>[0-9]{4})", "y": "(?P<y>[0-9]{2})", "m": "(?P<m>[0-9]{1,2})",
    "d": "(?P<d>[0-9]{1,2})", "b": "(?P<b>[A-Za-z]{3})", "B": "(?P<b>[A-Za-z]+)",
}  # fmt: skip
_CLOCK = (
    "(?P<H>[0-9]{1,2}):(?P<M>[0-9]{1,2})(:(?P<S>[0-9]{1,2}))?([.,][0-9]+)?( ?(?P<p>[aApP])[mM])?"
)
_ZONE = "( ?(?P<zone>Z|UTC|(?P<sign>[+-])(?P<zH>[0-9]{2}):?(?P<zM>[0-9]{2})?))?"


def is_date_type(kind: Any) -> bool:
    """Return whether Arrow itself knows cells of this type as dates or times."""
    return is_type.is_temporal(kind) and not (
        is_type.is_duration(kind) or is_type.is_interval(kind)
    )


def known_words(cells: Cells) -> list[str]:
    """Return the different words of a column that do not say that there is none."""
    return [word for word in cells.words if not is_missing(word)]


def find_spelling(words: Sequence[str], *, day_first: bool) -> str | None:
    """Choose the spelling that reads the most of these words; None where none reads 90 %."""
    sample = words[:_SAMPLE]
    if not re.search("[0-9]", " ".join(sample)):
        return None
    scores = {spelling: _share_read(sample, spelling) for spelling in (*DAYS, TIME)}
    # Both orders read dates whose days are all below 13.
    liked = DAY_FIRST if day_first else _MONTH_FIRST
    best = max(scores, key=lambda spelling: (scores[spelling], spelling in liked))
    other = (DAY_FIRST | _MONTH_FIRST).get(best)
    if other and _share_read(words, other) > _share_read(words, best):
        best = other
    return best if scores[best] else None


def is_unclear(words: Sequence[str], spelling: str) -> bool:
    """Return whether day and month of every word could be the other way round."""
    other = (DAY_FIRST | _MONTH_FIRST).get(spelling)
    return other is not None and _share_read(words, other) == _share_read(words, spelling)


def _share_read(words: Sequence[str], spelling: str) -> float:
    """Return the share of words that a spelling reads; 0 where that is less than 90 %."""
    n_others, most = 0, len(words) * (1 - _MOST) + 1e-9
    for word in words:
        n_others += math.isnan(read_word(word, spelling))
        if n_others > most:
            return 0.0
    return 1 - n_others / max(1, len(words))


@lru_cache(maxsize=1 << 16)
def read_word(word: str, spelling: str, newest: int = _NEWEST, zones: str = "") -> float:
    """Return seconds since 1970, or since midnight for times; NaN where a word has none.

    The years of two digits end with ``newest``; where ``zones`` is 'all', times must have a zone,
    where it is 'none', none that shifts them.
    """
    found = _pattern(spelling).fullmatch(word)
    if found is None:
        return math.nan
    part = found.groupdict()
    hour, minute, second = (int(part[name] or 0) for name in "HMS")
    if part["p"]:
        if not 1 <= hour <= 12:
            return math.nan
        hour = hour % 12 + 12 * (part["p"] in "pP")
    # Two leap seconds, as strptime has them.
    if hour > 23 or minute > 59 or second > 61:
        return math.nan
    clock = 3600 * hour + 60 * minute + second
    if spelling == TIME:
        return float(clock % _SECONDS_PER_DAY)
    if zones == "all" and part["H"] and not part["zone"]:
        return math.nan
    if part["sign"]:
        offset = 3600 * int(part["zH"]) + 60 * int(part["zM"] or 0)
        if zones == "none" and offset:
            return math.nan
        clock -= offset if part["sign"] == "+" else -offset
    day, month = int(part["d"]), int(part.get("m") or _MONTHS.get(part["b"].lower(), 0))
    year = int(part["Y"]) if "Y" in part else newest - (newest - int(part["y"])) % 100
    if not (1 <= month <= 12 and 1 <= day <= 31 and year):
        return math.nan
    # The 30th of February is the first or second of March.
    days = date(year, month, 1).toordinal() + day - 1 + _FIRST_DAY - 1
    return float(_SECONDS_PER_DAY * days + clock)


@cache
def _pattern(spelling: str) -> re.Pattern[str]:
    """Return a pattern of the words in a spelling, with a time of day or without."""
    if spelling == TIME:
        return re.compile(_CLOCK)
    day = re.sub("%(.)", lambda part: _PARTS[part[1]], re.escape(spelling))
    between = "(T| +)" if spelling == _ISO else " +"
    return re.compile(f"{day}({between}{_CLOCK}{_ZONE})?")


def read_seconds(
    cells: Cells, spelling: str, newest: int = _NEWEST, zones: str = "", *, clear: bool = False
) -> NDArray[np.float64]:
    """Return seconds since 1970, or since midnight for times; NaN where there is none.

    With ``clear`` cells in another spelling that cannot be mistaken are read too.
    """
    if not is_date_type(cells.type):
        if spelling == _ISO and zones != "all" and cells.iso_dates is not None:
            return cells.iso_dates
        tried = [one for one in (spelling, *(_CLEAR if clear and spelling != TIME else ())) if one]

        def read(word: str) -> float:
            found = (read_word(word, one, newest, zones) for one in tried)
            return next((value for value in found if value == value), math.nan)

        return cells.of_words(read)
    if pa.types.is_time(cells.type):
        values = cells.column.cast(pa.time64("us"), safe=False).cast(pa.int64())
        return np.asarray(values.cast(pa.float64(), safe=False)) / 1e6
    if pa.types.is_timestamp(cells.type):
        per_second = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[cells.type.unit]
        column = cells.column.cast(pa.timestamp(cells.type.unit, cells.type.tz))
    else:
        column, per_second = cells.column.cast(pa.timestamp("s")), 1
    return np.asarray(column.cast(pa.int64()).cast(pa.float64(), safe=False)) / per_second


@dataclass(frozen=True)
class DateColumn(EncodedColumn):
    """A column of dates, of times of day, or of both.

    Attributes
    ----------
    spelling : str
        Of dates in text, as strptime has it; '' where the cells were dates, not text.
    parts : tuple of str
        ``'days'`` since ``origin``, ``'hours'`` of the day, or both.
    origin : int
        The day that days are counted from, in days since 1970.
    newest : int
        The last of the hundred years that are written with two digits.
    zones : str
        Whether times had a zone: 'all' or 'none'; '' before version 0.3.
    """

    kind: ClassVar[str] = "date"
    spelling: str = ""
    parts: tuple[str, ...] = ()
    origin: int = 0
    newest: int = _NEWEST
    zones: str = ""

    @classmethod
    def fit(cls, cells: Cells) -> tuple[Self | None, str]:
        name, spelling, said, newest = cells.name, "", "", _NEWEST
        zones = "all" if getattr(cells.type, "tz", None) else "none"
        if not is_date_type(cells.type):
            iso = cells.iso_dates is not None
            found = [] if iso else known_words(cells)
            spelling = _ISO if iso else find_spelling(found, day_first=cells.day_first) or ""
            if not spelling:
                return None, f"column {name!r} left out: its cells are not dates in a known format."
            if is_unclear(found, spelling):
                said = f" (format {spelling}; day and month could be swapped)"
            if "%y" in spelling:
                newest = _find_newest(found, spelling)
                said += f" (years of two digits as {newest - 99} to {newest})"
            parts = [_pattern(spelling).fullmatch(word) for word in found[:_SAMPLE]]
            clocks = [part["zone"] for part in parts if part and part["H"] and spelling != TIME]
            zones = "all" if 2 * sum(map(bool, clocks)) > len(clocks) else "none"
        seconds = read_seconds(cells, spelling, newest, zones)
        if np.isnan(seconds).all():
            return None, f"column {name!r} left out: it is empty."
        seen = seconds[~np.isnan(seconds)]
        days, hours = _days_and_hours(seen)
        if days.min() < _FIRST_DAY or days.max() > _LAST_DAY:
            return None, f"column {name!r} left out: its dates must be of the years 1 to 9999."
        is_time = spelling == TIME or pa.types.is_time(cells.type)
        parts = ("hours",) if is_time else ("days", "hours") if np.ptp(hours) else ("days",)
        origin = 0 if is_time else int(np.floor(days.min()))
        fill = {"days": median(days) - origin, "hours": median(hours)}
        fitted = cls(
            name, tuple(fill[part] for part in parts), len(seen) < len(seconds),
            spelling=spelling, parts=parts, origin=origin, newest=newest, zones=zones,
        )  # fmt: skip
        made = " and ".join({"days": "days", "hours": "hours of the day"}[part] for part in parts)
        note = f"column {name!r} read as {'a time' if is_time else 'a date'}{said}: {made}"
        return fitted, f"{note} ({otherwise(name, 'category')})."

    def read(self, cells: Cells) -> Read:
        seconds, said = read_seconds(cells, self.spelling, self.newest, self.zones, clear=True), ""
        is_word = np.zeros(len(cells), dtype=bool)
        if not is_date_type(cells.type):
            is_word, said = np.isnan(seconds) & ~cells.blank, self._check_order(cells)
        elif pa.types.is_timestamp(cells.type) and (
            (self.zones == "all" and not cells.type.tz)
            or (self.zones == "none" and cells.type.tz not in _NO_SHIFT)
        ):
            problem = f"must be {self.described}, as when the model was fitted"
            raise DataFileError(cells.where, f"column {self.name!r} {problem}.")
        days, hours = _days_and_hours(seconds)
        by_part = {"days": days - self.origin, "hours": hours}
        return Read(np.stack([by_part[part] for part in self.parts], axis=1), is_word, said)

    @property
    def described(self) -> str:
        zone = {"all": " with a time zone", "none": " without a time zone"}.get(self.zones, "")
        return f"a date{f' like {self.spelling}' if self.spelling else ''}{zone}"

    def _check_order(self, cells: Cells) -> str:
        """Refuse cells of which all have day and month the other way round; say if all may."""
        other = (DAY_FIRST | _MONTH_FIRST).get(self.spelling)
        words = known_words(cells)
        if other is None or not words:
            return ""
        swapped, plain = (
            np.isnan([read_word(word, one, self.newest, self.zones) for word in words])
            for one in (other, self.spelling)
        )
        if swapped.any():
            return ""
        if not plain.any():
            how = f"read as {self.spelling}, as when the model was fitted"
            return f"column {self.name!r}: day and month could be swapped; {how}."
        row = int((cells.codes == cells.words.index(words[int(plain.argmax())])).argmax())
        problem = f"must be {self.described}, as when the model was fitted; all are like {other}"
        raise at_row(cells.where, row, f"column {self.name!r} {problem}. Write them as before.")

    @staticmethod
    def can_hold(kind: Any) -> bool:
        return is_usable(kind) or is_date_type(kind)

    @property
    def value_names(self) -> tuple[str, ...]:
        day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=self.origin)
        titles = {"days": f"days since {day:%Y-%m-%d}", "hours": "hour of the day"}
        return tuple(f"{self.name} ({titles[part]})" for part in self.parts)

    def check(self) -> None:
        super().check()
        whole = self.parts in (("days",), ("hours",), ("days", "hours"))
        whole &= self.spelling in ("", *DAYS, TIME) and self.zones in ("", "all", "none")
        if not (whole and _FIRST_DAY <= self.origin <= _LAST_DAY):
            raise ValueError(f"dates of column {self.name!r}")


def _find_newest(words: Sequence[str], spelling: str) -> int:
    """Return the last of a hundred years: in the middle of the longest time without any date.

    Before it, the years are in the past, or a few ahead.
    """
    found = (_pattern(spelling).fullmatch(word) for word in words)
    years = sorted({int(part["y"]) for part in found if part})
    gaps = [((b - a) % 100 or 100, a) for a, b in zip(years, [*years[1:], *years[:1]], strict=True)]
    gap, last = max(gaps)
    limit = datetime.now(UTC).year + _YEARS_AHEAD
    return limit - (limit - last) % 100 + gap // 2


def _days_and_hours(seconds: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return days since 1970, with the part of the day as a fraction, and hours since midnight."""
    return seconds / _SECONDS_PER_DAY, np.mod(seconds, _SECONDS_PER_DAY) / 3600


class Times(NamedTuple):
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
        cells = Cells(column, name, table)
        if is_date_type(cells.type):
            seconds = read_seconds(cells, "")
            if (np.abs(seconds) > _SECONDS_PER_DAY * _LAST_DAY).any():
                raise DataFileError(table, f"column {name!r} must hold dates up to the year 9999.")
            return Times(seconds, True)
        numbers = parse_numbers(cells, guess_decimal(cells, table))
        if not numbers.is_word.any():
            return Times(numbers.values)
        words = known_words(cells)
        day_first = (table.decimal or table.decimal_hint) == ","
        spelling = find_spelling(words, day_first=day_first)
        if spelling is None:
            raise DataFileError(
                table,
                f"column {name!r} must hold dates or numbers to divide by time; got "
                f"{words[0]!r}. Write its dates like 2024-12-31.",
            )
        newest = _find_newest(words, spelling) if "%y" in spelling else _NEWEST
        return Times(read_seconds(cells, spelling, newest), True)


def parse_moment(moment: Any, *, are_dates: bool) -> float:
    """Return one moment as the number that :func:`parse_times` would give it.

    >>> parse_moment("1970-01-02", are_dates=True), parse_moment("2024", are_dates=False)
    (86400.0, 2024.0)
    """
    text = str(moment).strip()
    if are_dates:
        spelling = find_spelling([text], day_first=False)
        if spelling in (None, TIME) or "%y" in spelling or is_unclear([text], spelling):
            raise ConfigError(f"as-of must be a date like 2024-12-31; got {text!r}.")
        return read_word(text, spelling)
    if (number := read_number(text)) is None:
        raise ConfigError(f"as-of must be a number, like the times of the edges; got {text!r}.")
    return number
