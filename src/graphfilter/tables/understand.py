"""What kind of column is this? Decided once, when a table is fitted, and said."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.tables import dates, words
from graphfilter.tables.cells import is_text, is_usable, value_type
from graphfilter.tables.checked import not_a_number
from graphfilter.tables.encoded import EncodedColumn
from graphfilter.tables.fitting import (
    Context,
    fill_of,
    fit_boolean,
    fit_category,
    fit_codes,
    fit_date,
    fit_list,
    fit_number,
    fit_text,
    fit_truths,
    fit_words,
    otherwise,
)
from graphfilter.tables.numbers import NUMBERS_PER_WORD, are_codes, parse_numbers

_ID_NAME = re.compile(r"(?i)(^|[\s_.-])(id|ids|uuid|guid|key|nr|no|nummer|number|index)\.?$")
_CAMEL_ID = re.compile(r"[a-z](Id|ID|Nr|No)$")


def understand(column: Any, name: str, about: Context) -> tuple[EncodedColumn | None, str]:
    """Decide on one column; the note is '' where there is nothing to say."""
    import pyarrow.types as is_type

    told, kind = about.kinds.get(name), value_type(column)
    if told == "drop":
        return None, ""
    if is_type.is_list(kind) or is_type.is_large_list(kind) or is_type.is_fixed_size_list(kind):
        return fit_list(column, name)
    if told is None and dates.is_date_type(kind):
        told = "date"
    if not (is_usable(kind) or dates.is_date_type(kind)):
        return None, f"column {name!r} left out: {kind} is neither a number nor a word."
    if told is not None:
        fitted, note = _FIT[told](column, name, about)
        return None if fitted is None else replace(fitted, told=name in about.kinds), note
    if is_type.is_boolean(kind):
        return EncodedColumn(name, "boolean", **fill_of(words.read_truths(column)[0])), ""
    if is_text(kind) and (found := fit_truths(column, name)) is not None:
        return found
    if is_text(kind) and are_codes(column):
        return fit_codes(column, name, about)
    read = parse_numbers(column, about.decimal_of(name))
    n_words, n_numbers = int(read.is_word.sum()), int((~np.isnan(read.values)).sum())
    if n_words + n_numbers == 0:
        return None, f"column {name!r} left out: it is empty."
    if n_numbers > NUMBERS_PER_WORD * n_words:
        if note := _looks_like_an_id(read.values, name):
            return None, note
        return fit_number(column, name, about, read)
    if (found := fit_date(column, name, about))[0] is not None:
        return found
    if n_numbers > n_words:
        remedy = (
            f"Fix it, or pass `kinds={((name, 'number'),)}` (other words are then missing values), "
            f"`categorical={(name,)}`, or `drop={(name,)}`."
        )
        raise not_a_number(column, about.where, name, int(read.is_word.argmax()), remedy)
    return fit_words(column, name, about)


_FIT: dict[str, Any] = {
    "number": fit_number,
    "boolean": fit_boolean,
    "category": fit_category,
    "date": fit_date,
    "text": fit_text,
}


def _looks_like_an_id(values: NDArray[np.float64], name: str) -> str:
    """Say why a column of numbers is left out, '' where it is not: a number for each row."""
    named = name.startswith("Unnamed: ") or _ID_NAME.search(name) or _CAMEL_ID.search(name)
    if not named or len(values) <= words.FEW_ROWS:
        return ""
    if np.isnan(values).any() or (values != np.floor(values)).any():
        return ""
    if len(np.unique(values)) < len(values):
        return ""
    return (
        f"column {name!r} left out: a different number in each row looks like an identifier "
        f"({otherwise(name, 'number')})."
    )
