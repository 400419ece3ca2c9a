"""Columns of words: truth values, categories, text, or names that say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.tables.cells import as_text, distinct, is_usable, value_type
from graphfilter.tables.numbers import MISSING_WORDS

TRUE_WORDS = frozenset(
    ("true", "t", "yes", "y", "ja", "j", "wahr", "oui", "o", "vrai", "si", "sí", "sì", "on", "1",
     "1.0", "x", "✓", "☑")
)  # fmt: skip
FALSE_WORDS = frozenset(
    ("false", "f", "no", "n", "nein", "falsch", "non", "faux", "off", "0", "0.0", "✗", "☐")
)
MOST_CATEGORIES = 1000
# More different cells of several words each than this are text; fewer are choices from a list.
MOST_SENTENCES = 20
FEW_ROWS = 20
# A column of text has at least so many words per cell; one of names, or of codes, has fewer.
TEXT_WORDS = 3
MOST_TEXT_WORDS = 300
_WORD = re.compile(r"[^\W\d_]{2,}")


def is_missing(word: str) -> bool:
    return word.strip().lower() in MISSING_WORDS


def find_blanks(column: Any) -> NDArray[np.bool_]:
    """Return where a column of any type has no value."""
    import pyarrow.compute as pc

    if not is_usable(value_type(column)):
        return np.asarray(pc.call_function("is_null", [column]), dtype=bool)
    words, codes = distinct(as_text(column))
    return np.array([is_missing(word) for word in words], dtype=bool)[codes]


def are_truths(words: Iterable[str]) -> bool:
    """Return whether words are truth values: two of one kind alone could be anything."""
    known = {word.strip().lower() for word in words if not is_missing(word)}
    if not known <= TRUE_WORDS | FALSE_WORDS or known <= {"0", "1", "0.0", "1.0"}:
        return False
    return known <= {"true", "false"} or bool(known & TRUE_WORDS and known & FALSE_WORDS)


def read_truths(column: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return 1 and 0, NaN where there is neither, and where there is another word."""
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        return np.asarray(column.cast(pa.int8()).cast(pa.float64())), np.zeros(len(column), bool)
    words, codes = distinct(as_text(column))
    keys = [word.strip().lower() for word in words]
    values = np.array(
        [1.0 if k in TRUE_WORDS else 0.0 if k in FALSE_WORDS else np.nan for k in keys]
    )
    other = np.isnan(values) & ~np.array([is_missing(key) for key in keys], dtype=bool)
    return values[codes], other[codes]


def is_prose(words: list[str]) -> bool:
    """Return whether cells read like text: several words each, some of them in several cells."""
    sample = words[:1000]
    found = [set(_WORD.findall(cell.lower())) for cell in sample]
    n_words = sum(map(len, found))
    if n_words < TEXT_WORDS * len(sample):
        return False
    return len(set().union(*found)) < n_words


def choose_words(cells: list[str]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Choose the words of a text to count, and weigh each by its inverse document frequency.

    The most frequent words that two cells have, and not more than half of them.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    counter: Any = CountVectorizer(
        token_pattern=_WORD.pattern, binary=True, min_df=2, max_df=0.5, max_features=MOST_TEXT_WORDS
    )
    try:
        counts = counter.fit_transform(cells)
    except ValueError:
        return (), ()  # no word is left
    frequency = np.asarray(counts.sum(axis=0)).ravel()
    weights = np.log((1 + len(cells)) / (1 + frequency)) + 1
    words = counter.get_feature_names_out()
    return tuple(map(str, words)), tuple(weights.round(4).tolist())


def weigh_words(
    cells: list[str], words: tuple[str, ...], weights: tuple[float, ...]
) -> sp.csr_array:
    """Return TF-IDF features of length 1 per cell, zero where it holds none of the words."""
    from sklearn.feature_extraction.text import CountVectorizer

    counter: Any = CountVectorizer(token_pattern=_WORD.pattern, vocabulary=list(words))
    counts = sp.csr_array(counter.transform(cells), dtype=np.float32)
    weighed = sp.csr_array(counts @ sp.diags_array(np.array(weights, dtype=np.float32)))
    lengths = np.sqrt(weighed.multiply(weighed).sum(axis=1))
    scale = 1 / np.where(lengths == 0, 1, lengths).astype(np.float32)
    return sp.csr_array(sp.diags_array(scale) @ weighed)
