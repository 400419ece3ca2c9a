"""Columns of words: truth values, categories, text, or names that say nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.tables.cells import Cells, as_mask, as_text, index_in, is_missing
from graphfilter.tables.columns import EncodedColumn, Entries, otherwise
from graphfilter.util.words import count, listed_names

TRUE_WORDS = frozenset(
    ("true", "t", "yes", "y", "ja", "j", "wahr", "oui", "o", "vrai", "si", "sí", "sì", "on", "1",
     "1.0", "x", "✓", "☑")
)  # fmt: skip
FALSE_WORDS = frozenset(
    ("false", "f", "no", "n", "nein", "falsch", "non", "faux", "off", "0", "0.0", "✗", "☐")
)
_MOST_CATEGORIES = 1000
# More different cells of several words each than this are text; fewer are choices from a list.
_MOST_SENTENCES = 20
FEW_ROWS = 20
# A column of text has at least so many words per cell; one of names, or of codes, has fewer.
_TEXT_WORDS = 3
_MOST_TEXT_WORDS = 300
_WORD = re.compile(r"[^\W\d_]{2,}")


def read_truths(cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return 1 and 0, NaN where there is neither, and where there is another word."""
    import pyarrow as pa

    if pa.types.is_boolean(cells.column.type):
        values = np.asarray(cells.column.cast(pa.int8()).cast(pa.float64()))
        return values, np.zeros(len(cells), bool)
    truths = {**dict.fromkeys(TRUE_WORDS, 1.0), **dict.fromkeys(FALSE_WORDS, 0.0)}
    values = cells.of_words(lambda word: truths.get(word.lower(), np.nan))
    return values, np.isnan(values) & ~cells.blank


@dataclass(frozen=True)
class TruthColumn(EncodedColumn):
    """A column of truth values."""

    kind: ClassVar[str] = "boolean"

    @classmethod
    def fit(cls, cells: Cells) -> tuple[Self | None, str]:
        values, other = read_truths(cells)
        if np.isnan(values).all():
            return None, f"column {cells.name!r} left out: no cell of it is true or false."
        note = cells.say_words(other, "true or false") if other.any() else ""
        return cls(cells.name, **cls.fill_of(values)), note

    @classmethod
    def guess(cls, cells: Cells) -> tuple[Self, str] | None:
        """Fit a column of words that are truth values; None for any other."""
        # The first rows of a long column tell most often.
        if len(as_text(cells.column.slice(0, 1000)).unique()) > 20 or len(cells.words) > 20:
            return None
        seen = sorted(word for word in cells.words if not is_missing(word))
        lower = {word.lower() for word in seen}
        # Two words of one kind alone could be anything.
        if not lower <= TRUE_WORDS | FALSE_WORDS or lower <= {"0", "1", "0.0", "1.0"}:
            return None
        plain = lower <= {"true", "false"}
        if not (plain or (lower & TRUE_WORDS and lower & FALSE_WORDS)):
            return None
        how = f"column {cells.name!r} read as true or false ({listed_names(seen)}"
        note = "" if plain else f"{how}; {otherwise(cells.name, 'category')})."
        return cls(cells.name, **cls.fill_of(read_truths(cells)[0])), note

    def encode(self, cells: Cells) -> tuple[Entries, str]:
        values, other = read_truths(cells)
        self.check_readable(cells, other, values)
        return self.filled(values[:, None], int(other.sum()))


@dataclass(frozen=True)
class CategoryColumn(EncodedColumn):
    """A column of words, one 0/1 feature each."""

    kind: ClassVar[str] = "category"
    fills: ClassVar[bool] = False
    categories: tuple[str, ...] = ()

    @classmethod
    def fit(cls, cells: Cells, *, codes: bool = False) -> tuple[Self, str]:
        """Fit categories; ``codes`` are numbers that are names, such as postcodes."""
        categories = tuple(sorted(set(cells.words) - {""}))
        empty = ", empty cells as zeros" if len(categories) < len(cells.words) else ""
        many = "codes, some with leading zeros" if codes else "values"
        what = count(len(categories), "code" if codes else "value", many)
        other = "number" if codes else "text" if _is_prose(categories) else "drop"
        note = f"column {cells.name!r} has {what}: one-hot encoded{empty}"
        return cls(cells.name, categories=categories), f"{note} ({otherwise(cells.name, other)})."

    def encode(self, cells: Cells) -> tuple[Entries, str]:
        import pyarrow as pa

        codes = index_in(cells.text, pa.array(self.categories, type=pa.string()))
        rows = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0) :]
        counts = np.bincount(codes[rows], minlength=len(self.categories))
        entries = rows.astype(np.int32), np.ones(len(rows), dtype=np.float32), counts
        new: list[str] = []
        if len(rows) < len(codes):
            unseen = cells.text.filter(as_mask(codes < 0)).unique().to_pylist()
            new = sorted(set(unseen) - {""})
        if not new:
            return entries, ""
        seen = f"{count(len(new), 'value')} not seen in training ({listed_names(new)})"
        return entries, f"column {self.name!r} has {seen}: encoded as zeros."

    @property
    def value_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={category}" for category in self.categories)

    def check(self) -> None:
        super().check()
        if len(set(self.categories)) < len(self.categories):
            raise ValueError(f"categories of column {self.name!r}")


@dataclass(frozen=True)
class TextColumn(EncodedColumn):
    """A column of text, one TF-IDF feature for each of its commonest words.

    Attributes
    ----------
    categories, weights : tuples
        The words, and the inverse document frequency of each.
    """

    kind: ClassVar[str] = "text"
    fills: ClassVar[bool] = False
    categories: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()

    @classmethod
    def fit(cls, cells: Cells) -> tuple[Self | None, str]:
        """Choose the most frequent words that two cells have, and not more than half of them."""
        from sklearn.feature_extraction.text import CountVectorizer

        counter: Any = CountVectorizer(
            token_pattern=_WORD.pattern, binary=True, min_df=2, max_df=0.5,
            max_features=_MOST_TEXT_WORDS,
        )  # fmt: skip
        try:
            counts = counter.fit_transform(cells.text.to_pylist())
        except ValueError:
            return None, f"column {cells.name!r} left out: no word occurs in two rows."
        frequency = np.asarray(counts.sum(axis=0)).ravel()
        weights = (np.log((1 + len(cells)) / (1 + frequency)) + 1).round(4)
        chosen = tuple(map(str, counter.get_feature_names_out()))
        note = f"column {cells.name!r} read as text: TF-IDF of its "
        note += f"{count(len(chosen), 'commonest word')} ({otherwise(cells.name, 'category')})."
        return cls(cells.name, categories=chosen, weights=tuple(weights.tolist())), note

    def encode(self, cells: Cells) -> tuple[Entries, str]:
        """Return features of length 1 per cell, zero where it holds none of the words."""
        from sklearn.feature_extraction.text import CountVectorizer

        counter: Any = CountVectorizer(token_pattern=_WORD.pattern, vocabulary=self.categories)
        counts = sp.csr_array(counter.transform(cells.text.to_pylist()), dtype=np.float32)
        weights = np.array(self.weights, dtype=np.float32)
        weighed = sp.csr_array(counts @ sp.diags_array(weights))
        lengths = np.sqrt(weighed.multiply(weighed).sum(axis=1))
        scale = 1 / np.where(lengths == 0, 1, lengths).astype(np.float32)
        matrix = sp.csc_array(sp.diags_array(scale) @ weighed)
        return (
            matrix.indices.astype(np.int32),
            matrix.data,
            np.diff(matrix.indptr).astype(int),
        ), ""

    @property
    def value_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: {word}" for word in self.categories)

    def check(self) -> None:
        super().check()
        whole = len(self.weights) == len(set(self.categories)) == len(self.categories)
        if not (whole and all(map(isfinite, self.weights))):
            raise ValueError(f"words of column {self.name!r}")


def guess_words(cells: Cells) -> tuple[EncodedColumn | None, str]:
    """Fit text, or categories; names and identifiers are left out."""
    different = sorted(set(cells.words) - {""})
    n_rows, n = len(cells), len(different)
    if n > _MOST_SENTENCES and _is_prose(different):
        fitted, note = TextColumn.fit(cells)
        if fitted is not None:
            return fitted, note
    if n > _MOST_CATEGORIES or (n_rows > FEW_ROWS and 2 * n > n_rows):
        seen = f"{count(n, 'different value')} in {count(n_rows, 'row')}"
        return None, (
            f"column {cells.name!r} left out: {seen} look like text or identifiers "
            f"({otherwise(cells.name, 'category')})."
        )
    return CategoryColumn.fit(cells)


def _is_prose(cells: tuple[str, ...] | list[str]) -> bool:
    """Return whether cells read like text: several words each, some of them in several cells."""
    found = [set(_WORD.findall(cell.lower())) for cell in cells[:1000]]
    n_words = sum(map(len, found))
    return n_words >= _TEXT_WORDS * len(found) and len(set().union(*found)) < n_words
