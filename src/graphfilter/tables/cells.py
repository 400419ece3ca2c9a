"""The cells of a table as text: whatever their type, each different word once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache, cached_property, lru_cache, partial
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.util.arrow import is_type, pa, pc
from graphfilter.util.errors import DataFileError, did_you_mean
from graphfilter.util.words import count, listed_names

# In a cell of numbers or dates these say that there is none; Excel's errors too.
MISSING_WORDS = frozenset((
    "", "na", "n/a", "#n/a", "#na", "<na>", "nan", "null", "none", "nil", "-", "--", "---", ".",
    "?", "k.a.", "k. a.", "n.a.", "n. a.", "n.v.", "unknown", "unbekannt", "missing", "nat",
    "#nv", "#wert!", "#value!", "#div/0!", "#ref!", "#bezug!", "#num!", "#zahl!", "#name?", "\\n",
))  # fmt: skip
_ISO_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
# Spaces and joiners of no width, the mark of byte order, and the hyphen that shows at line ends.
WITHOUT_WIDTH = "[\u200b-\u200d\u2060\ufeff\u00ad]"


@dataclass(eq=False)
class Cells:
    """A column on its way from a table to features: its cells, and each different word once.

    Attributes
    ----------
    column : Arrow array
    name : str
        That of the column.
    where : path
        The table, for messages.
    decimal : str
        The decimal sign that numbers in text are expected to have.
    day_first : bool
        Whether 03/04 is expected to be the third of April.
    told : bool
        Whether the user named the kind of the column.
    most : int
        How many features a column of words may become.
    """

    column: Any
    name: str = ""
    where: str | PathLike[str] = ""
    _: KW_ONLY
    decimal: str = "."
    day_first: bool = False
    told: bool = False
    most: int = 100_000

    def __post_init__(self) -> None:
        self.type = value_type(self.column)
        self.is_text = is_text(self.type)

    def __len__(self) -> int:
        return len(self.column)

    def filter(self, rows: NDArray[np.bool_]) -> Cells:
        """Return some of the cells."""
        return replace(self, column=self.column.filter(as_mask(rows)))

    @cached_property
    def text(self) -> Any:
        """The cells as text without blanks around it; '' where there is none."""
        return self.cast(partial(as_text, trim=True), "words")

    def cast(self, convert: Callable[[Any], Any], what: str) -> Any:
        """Return the column converted, or raise where its type cannot be."""
        try:
            return convert(self.column)
        except pa.ArrowNotImplementedError:
            problem = f"column {self.name!r} must hold {what}; got {self.type}"
            raise DataFileError(self.where, f"{problem}. Convert it, or drop it.") from None

    @cached_property
    def words(self) -> list[str]:
        """The different words, by first appearance."""
        words, self.codes = distinct(self.text)
        return words

    @cached_property
    def codes(self) -> NDArray[np.int32]:
        """The number of each row's word."""
        self.words, codes = distinct(self.text)
        return codes

    def of_words(self, read: Callable[[str], Any], kind: type = float) -> NDArray[Any]:
        """Return what a function gives for each row's word; it is called once for each word."""
        words = self.words
        return np.fromiter(map(read, words), dtype=kind, count=len(words))[self.codes]

    @property
    def blank(self) -> NDArray[np.bool_]:
        """Where there is no value."""
        if not is_usable(self.type):
            return np.asarray(pc.is_null(self.column), dtype=bool)
        return self.of_words(is_missing, bool)

    @cached_property
    def iso_dates(self) -> NDArray[np.float64] | None:
        """Seconds since 1970 of a column of text like 2024-12-31 12:00 and gaps; else None."""
        first = self.text[0].as_py() if self.is_text and len(self) else "no date"
        if not (_ISO_DATE.match(first) or is_missing(first)):
            return None
        with suppress(pa.ArrowInvalid):
            moments = without_gaps(self.text).cast(pa.timestamp("us")).cast(pa.int64())
            seconds = np.floor(np.asarray(moments.cast(pa.float64())) / 1e6)
            return None if np.isnan(seconds).all() else seconds
        return None

    def say_words(self, rows: NDArray[np.bool_], what: str) -> str:
        """Say that some cells are read as missing."""
        found = as_text(self.column.filter(as_mask(rows))).unique().to_pylist()
        n = count(int(rows.sum()), "cell is", "cells are")
        return f"column {self.name!r}: {n} not {what} ({listed_names(found, 3)}): read as missing."


def without_gaps(text: Any) -> Any:
    """Return a column of text with null for the usual spellings of the missing words."""
    return pc.if_else(pc.is_in(text, _gaps()), None, text)


@cache
def _gaps() -> Any:
    spelt = {spell(word) for word in MISSING_WORDS for spell in (str, str.upper, str.title)}
    return pa.array(sorted({*spelt, "NaN", "NaT"}), pa.string())


@lru_cache(maxsize=1 << 12)
def is_missing(word: str) -> bool:
    """Return whether a word says that there is no value."""
    return word.strip().lower() in MISSING_WORDS


def missing_column(path: str | PathLike[str], name: str, names: Sequence[str]) -> DataFileError:
    """Make the error for a missing column: the nearest name, and the existing ones."""
    hint = did_you_mean(name, [n for n in names if len(n) < 80])
    problem = f"there is no column {name!r}{hint} Columns: {listed_names(names)}."
    if len(names) == 1:
        problem += " If there are more, set what separates them with `delimiter`."
    return DataFileError(path, problem)


def as_text(column: Any, *, trim: bool = False) -> Any:
    """Turn a column of any type into strings; null becomes ''."""
    # Text without gaps needs nothing; tables of very many columns call this often.
    text = column if column.type == pa.string() else column.cast(pa.string())
    text = text.fill_null("") if text.null_count else text
    return pc.utf8_trim_whitespace(text) if trim else text


def as_ids(column: Any) -> Any:
    """Turn a column of ids into strings; whole numbers that are stored as floats have no point."""
    if pa.types.is_floating(column.type):
        column = drop_nan(column)
        with suppress(pa.ArrowInvalid):  # not all are whole
            column = column.cast(pa.int64())
    return as_text(column)


def clean_ids(text: Any) -> Any:
    """Return ids without what cannot be seen of them.

    Blanks around them and characters without width go, and letters are of one Unicode form (NFC).
    """
    if not pc.all(pc.string_is_ascii(text)).as_py():
        text = pc.replace_substring_regex(text, WITHOUT_WIDTH, "")
        text = pc.utf8_normalize(text, "NFC")
    return pc.utf8_trim_whitespace(text)


def drop_nan(column: Any) -> Any:
    """Turn the NaN of a column of floating-point numbers into null."""
    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.is_nan(column), None, column)


def distinct(text: pa.ChunkedArray) -> tuple[list[str], NDArray[np.int32]]:
    """List the different strings by first appearance, and the number in it of each row's."""
    text = text.combine_chunks() if hasattr(text, "combine_chunks") else text
    encoded = text.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


def commonest(words: Sequence[str], codes: NDArray[np.int32], most: int) -> tuple[str, ...]:
    """Return the most frequent of different words, given the number of each row's."""
    n_rows = dict(zip(words, np.bincount(codes, minlength=len(words)).tolist(), strict=True))
    return tuple(sorted(words, key=lambda word: (-n_rows[word], word))[:most])


def index_in(text: pa.ChunkedArray, known: pa.Array) -> NDArray[np.int32]:
    """Return where each string stands in ``known``, -1 for nowhere."""
    return pc.index_in(text, known).fill_null(-1).to_numpy()


def only_in(text: pa.Array | pa.ChunkedArray, some: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the strings that are among some, few, others: no hash table of all is made."""
    found = text.filter(pc.is_in(text, some))
    return found.combine_chunks() if hasattr(found, "combine_chunks") else found


def value_type(column: Any) -> Any:
    """Return the type of a column's cells, also where repeated ones are stored once."""
    return column.type.value_type if is_type.is_dictionary(column.type) else column.type


def without_views(column: Any) -> Any:
    """Return words that are held as views as strings, which more of Arrow can handle."""
    if not pa.types.is_string_view(value_type(column)):
        return column
    plain = pa.string()
    return column.cast(plain if is_text(column.type) else pa.dictionary(pa.int32(), plain))


@cache
def is_text(kind: Any) -> bool:
    return is_type.is_string(kind) or is_type.is_large_string(kind) or is_type.is_string_view(kind)


@cache
def is_usable(kind: Any) -> bool:
    """Return whether a type is text, a number or a truth value, not a date, list or bytes."""
    kind = kind.value_type if is_type.is_dictionary(kind) else kind
    is_number = is_type.is_integer(kind) or is_type.is_floating(kind) or is_type.is_decimal(kind)
    return is_number or is_type.is_boolean(kind) or is_type.is_null(kind) or is_text(kind)


def as_mask(values: NDArray[np.bool_]) -> Any:
    """Return truth values as Arrow filters by them."""
    return pa.array(values, type=pa.bool_())
