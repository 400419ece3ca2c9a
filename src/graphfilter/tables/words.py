"""Columns of words: truth values, categories, text, or names that say nothing."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.tables.cells import Cells, as_mask, as_text, index_in, is_missing
from graphfilter.tables.columns import EncodedColumn, Entries, Read, otherwise
from graphfilter.util.arrow import pa, pc
from graphfilter.util.words import count, listed_names

TRUE_WORDS = frozenset(
    ("true", "t", "yes", "y", "ja", "j", "wahr", "oui", "o", "vrai", "si", "sí", "sì", "on", "1",
     "1.0", "x", "✓", "☑")
)  # fmt: skip
FALSE_WORDS = frozenset(
    ("false", "f", "no", "n", "nein", "falsch", "non", "faux", "off", "0", "0.0", "✗", "☐")
)
# A column of more different words than this, or that differ in more than half of the rows, has a
# feature for those that two rows share; so many features at most.
_MOST_CATEGORIES = 1000
MOST_WIDE = 100_000
# More different cells of several words each than this are text; fewer are choices from a list.
_MOST_SENTENCES = 20
FEW_ROWS = 20
# A column of text has at least so many words per cell; one of names, or of codes, has fewer.
_TEXT_WORDS = 3
_WORD = re.compile(r"[^\W\d_]{2,}")
# Between blanks also what begins with a letter and has digits, such as x86.
_WORD_OR_CODE = re.compile(_WORD.pattern + r"|(?<!\S)[^\W\d_][^\W_]*(?!\S)")
# Such a share of the cells holds a value, or a part of a name, that others hold, and most do not.
_SHARED = 0.05
_SHARED_PART = 0.3
_PART = re.compile(r"(?<![^\W_])[^\W\d_]{3,}(?![^\W_])")
# What stands between words, as Arrow's expressions have it; letters are as they are in lower case.
_BETWEEN = r"[^\pL\pM\pN]+"
_ROWS_AT_ONCE = 1 << 16
# Cells that are looked at to tell names from codes.
_SAMPLE = 10_000
# Names are up to so many characters long, half of them; parts of words are of these lengths, in
# words cut to the longest, and in so many cells.
_LONGEST_NAME = 40
_GRAMS = (3, 4)
_LONGEST_WORD = 24
_LEAST_GRAM_CELLS = 5
_MOST_GRAMS = 20_000


def read_truths(cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return 1 and 0, NaN where there is neither, and where there is another word."""
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

    def read(self, cells: Cells) -> Read:
        values, other = read_truths(cells)
        return Read(values[:, None], other)


@dataclass(frozen=True)
class CategoryColumn(EncodedColumn):
    """A column of words, one 0/1 feature each.

    Attributes
    ----------
    categories : tuple of str
    only_shared : bool
        Whether values of one row have no feature: a new one is then nothing to speak of.
    """

    kind: ClassVar[str] = "category"
    fills: ClassVar[bool] = False
    categories: tuple[str, ...] = ()
    only_shared: bool = False

    @classmethod
    def fit(cls, cells: Cells, *, codes: bool = False) -> tuple[Self | None, str]:
        """Fit categories; ``codes`` are numbers that are names, such as postcodes.

        Of very many, those that two rows share have a feature, the most frequent first.
        """
        categories = tuple(sorted(set(cells.words) - {""}))
        n, least = len(categories), 1 if cells.told else 2
        if are_many(cells) or n > cells.most:
            n_rows = dict(zip(cells.words, np.bincount(cells.codes).tolist(), strict=True))
            kept = [word for word in categories if n_rows[word] >= least]
            if len(kept) > cells.most:
                kept = sorted(kept, key=lambda word: -n_rows[word])[: cells.most]
            categories = tuple(kept)
        only_shared = len(categories) < n
        if not categories and n:
            return None, _left_out(cells)
        empty = ", empty cells as zeros" if "" in cells.words else ""
        many = "codes, some with leading zeros" if codes else "values"
        what = count(n, "code" if codes else "value", many)
        how = "one feature per value"
        how += f", the {len(categories):,} most frequent" if only_shared else ""
        other = "number" if codes else "text" if _is_prose(categories) else "drop"
        note = f"column {cells.name!r} has {what}: {how}{empty}"
        fitted = cls(cells.name, categories=categories, only_shared=only_shared)
        return fitted, f"{note} ({otherwise(cells.name, other)})."

    def read(self, cells: Cells) -> Read:
        """Return the places of the values among the categories, -1 for none."""
        codes = index_in(cells.text, pa.array(self.categories, type=pa.string()))
        return Read(codes.astype(float)[:, None], np.zeros(len(codes), dtype=bool))

    def encode(self, cells: Cells) -> tuple[Entries, str]:
        codes = index_in(cells.text, pa.array(self.categories, type=pa.string()))
        rows = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0) :]
        counts = np.bincount(codes[rows], minlength=len(self.categories))
        entries = rows.astype(np.int32), np.ones(len(rows), dtype=np.float32), counts
        new: list[str] = []
        if len(rows) < len(codes) and not self.only_shared:
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


def count_words(text: Any) -> tuple[Any, sp.csr_array]:
    """Return the different words of a column of text, and how often each cell has each."""
    words, lengths = [pa.array([], pa.string()).dictionary_encode()], [np.zeros(1, np.int64)]
    for chunk in text.chunks if isinstance(text, pa.ChunkedArray) else [text]:
        for start in range(0, len(chunk), _ROWS_AT_ONCE):
            lower = pc.utf8_lower(chunk.slice(start, _ROWS_AT_ONCE))
            parts = pc.split_pattern_regex(lower, _BETWEEN)
            words.append(pc.list_flatten(parts).dictionary_encode())
            lengths.append(np.asarray(pc.list_value_length(parts)))
    joined = pa.chunked_array(words).unify_dictionaries()
    codes = np.concatenate([np.asarray(chunk.indices) for chunk in joined.chunks])
    dictionary = joined.chunk(joined.num_chunks - 1).dictionary
    indptr = np.cumsum(np.concatenate(lengths))
    counts = sp.csr_array(
        (np.ones(len(codes), np.float32), codes, indptr), shape=(len(text), len(dictionary))
    )
    counts.sum_duplicates()
    return dictionary, counts


def _grams_of(words: Any) -> tuple[Any, NDArray[np.int64]]:
    """Return the parts of words, one of each place, a blank at either end; and whose they are."""
    cut = pc.utf8_slice_codeunits(words, 0, _LONGEST_WORD)
    padded = pc.binary_join_element_wise(" ", cut, " ", "")
    lengths = np.asarray(pc.utf8_length(padded))
    grams, rows = [pa.array([], pa.string())], [np.empty(0, np.int64)]
    for n in _GRAMS:
        for start in range(_LONGEST_WORD + 3 - n):
            own = np.flatnonzero(lengths >= start + n)
            if len(own):
                grams.append(pc.utf8_slice_codeunits(padded.take(own), start, start + n))
                rows.append(own)
    return pa.concat_arrays(grams), np.concatenate(rows)


def _to_features(words: Any, features: Any, *, grams: bool) -> sp.csr_array:
    """Return how often each word holds each feature, a word or a part of words."""
    parts, rows = _grams_of(words) if grams else (words, np.arange(len(words)))
    places = index_in(pa.chunked_array([parts], type=pa.string()), features)
    own = places >= 0
    entries = np.ones(int(own.sum()), np.float32), (rows[own], places[own])
    return sp.csr_array(sp.coo_array(entries, shape=(len(words), len(features))))


def _choose(
    words: Any, counts: sp.csr_array, least: int, most: int
) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return the most frequent words that so many cells have, and the inverse frequency of each."""
    frequency = np.bincount(counts.indices, minlength=len(words))
    kept = np.flatnonzero(frequency >= least)
    names = dict(zip(words.take(kept).to_pylist(), frequency[kept].tolist(), strict=True))
    chosen = sorted(names.keys() - {""}, key=lambda word: (-names[word], word))[:most]
    n_cells = np.array([names[word] for word in chosen])
    weights = (np.log((1 + counts.shape[0]) / (1 + n_cells)) + 1).round(4)
    return tuple(chosen), tuple(weights.tolist())


@dataclass(frozen=True)
class TextColumn(EncodedColumn):
    """A column of text, one TF-IDF feature for each of its words, and for parts of names.

    Attributes
    ----------
    categories, weights : tuples
        The words, and the inverse document frequency of each.
    grams, gram_weights : tuples
        The same for parts of words, of columns of names.
    sublinear : bool
        Whether a word counts 1 + log(n), and digits belong to words; not so before version 0.3.
    """

    kind: ClassVar[str] = "text"
    fills: ClassVar[bool] = False
    categories: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    grams: tuple[str, ...] = ()
    gram_weights: tuple[float, ...] = ()
    sublinear: bool = False

    @classmethod
    def fit(cls, cells: Cells) -> tuple[Self | None, str]:
        """Choose the most frequent words that two cells have; of names, also parts of words."""
        name, (words, counts) = cells.name, count_words(cells.text)
        filled = cells.text.filter(pc.not_equal(cells.text, ""))
        lengths = np.asarray(pc.utf8_length(filled))
        grams, gram_weights = (), ()
        blanks = pc.count_substring(filled, " ")
        short = len(lengths) and np.median(lengths) <= _LONGEST_NAME
        if short and np.mean(blanks) < _TEXT_WORDS:
            every = _grams_of(words)[0].unique()
            parts = counts @ _to_features(words, every, grams=True)
            most = min(_MOST_GRAMS, cells.most // 3)
            grams, gram_weights = _choose(every, parts, _LEAST_GRAM_CELLS, most)
        chosen, weights = _choose(words, counts, 2, cells.most - len(grams))
        if not chosen:
            return None, f"column {name!r} left out: no word occurs in two rows."
        note = f"column {name!r} read as text: TF-IDF of its {count(len(chosen), 'word')}"
        note += f" and {count(len(grams), 'part')} of words" if grams else ""
        words: dict[str, Any] = {"categories": chosen, "weights": weights, "grams": grams}
        fitted = cls(name, **words, gram_weights=gram_weights, sublinear=True)
        return fitted, f"{note} ({otherwise(name, 'category')})."

    @property
    def _blocks(self) -> tuple[tuple[tuple[str, ...], tuple[float, ...]], ...]:
        return (self.categories, self.weights), (self.grams, self.gram_weights)

    def read(self, cells: Cells) -> Read:
        raise NotImplementedError  # Words are no numbers.

    def encode(self, cells: Cells) -> tuple[Entries, str]:
        """Return features of length 1 per cell and block, zero where it holds none of the words."""
        blocks: list[sp.csc_array] = []
        if self.sublinear:
            words, counts = count_words(cells.text)
            for own, weights in self._blocks:
                features = pa.array(own, type=pa.string())
                block = counts @ _to_features(words, features, grams=own is self.grams)
                block.data = 1 + np.log(block.data)
                blocks.append(_weighed(block, weights))
        else:
            from sklearn.feature_extraction.text import CountVectorizer

            counter: Any = CountVectorizer(token_pattern=_WORD.pattern, vocabulary=self.categories)
            counts = sp.csr_array(counter.transform(cells.text.to_pylist()), dtype=np.float32)
            blocks.append(_weighed(counts, self.weights))
        index, data, counts = (
            np.concatenate(parts)
            for parts in zip(*((b.indices, b.data, np.diff(b.indptr)) for b in blocks), strict=True)
        )
        return (index.astype(np.int32), data, counts.astype(int)), ""

    @property
    def value_names(self) -> tuple[str, ...]:
        words = (f"{self.name}: {word}" for word in self.categories)
        return (*words, *(f"{self.name} (letters): {gram}" for gram in self.grams))

    def check(self) -> None:
        super().check()
        for words, weights in self._blocks:
            whole = len(weights) == len(set(words)) == len(words)
            if not (whole and all(map(isfinite, weights))):
                raise ValueError(f"words of column {self.name!r}")


def _weighed(counts: sp.csr_array, weights: tuple[float, ...]) -> sp.csc_array:
    """Return counts of words times their weights, each row of length 1."""
    weighed = sp.csr_array(counts @ sp.diags_array(np.array(weights, dtype=np.float32)))
    lengths = np.sqrt(weighed.multiply(weighed).sum(axis=1))
    scale = 1 / np.where(lengths == 0, 1, lengths).astype(np.float32)
    return sp.csc_array(sp.diags_array(scale) @ weighed)


def guess_words(cells: Cells) -> list[tuple[EncodedColumn | None, str]]:
    """Fit categories, text, or both; values that no two rows share are left out."""
    is_prose = len(cells.words) > _MOST_SENTENCES and _is_prose(sorted(set(cells.words) - {""}))
    if not (many := are_many(cells)) and not is_prose:
        return [CategoryColumn.fit(cells)]
    found: list[tuple[EncodedColumn | None, str]] = []
    if is_prose or reads_like_names(cells):
        found.append(TextColumn.fit(cells))
    if many:
        n_rows = np.bincount(cells.codes, minlength=len(cells.words))[cells.codes]
        if ((n_rows > 1) & ~cells.blank).sum() >= _SHARED * len(cells):
            found.append(CategoryColumn.fit(cells))
    return [one for one in found if one[0] is not None] or [(None, _left_out(cells))]


def are_many(cells: Cells) -> bool:
    """Return whether a column has so many different values that it may be of names or text."""
    n = len(cells.words) - ("" in cells.words)
    return n > _MOST_CATEGORIES or (len(cells) > FEW_ROWS and 2 * n > len(cells))


def reads_like_names(cells: Cells) -> bool:
    """Return whether words of letters, which do not stand in most cells, repeat from cell to cell.

    So they do in names of people and things, not in codes or hashes.
    """
    words = Cells(cells.column.slice(0, _SAMPLE)).words
    parts = [set(_PART.findall(word.lower())) for word in words]
    n_cells = Counter(part for own in parts for part in own)
    repeated = {part for part, n in n_cells.items() if 1 < n <= len(parts) / 2}
    return sum(not own.isdisjoint(repeated) for own in parts) > _SHARED_PART * len(parts)


def _left_out(cells: Cells) -> str:
    n, n_rows = len(set(cells.words) - {""}), len(cells)
    seen = f"{count(n, 'different value')} in {count(n_rows, 'row')}"
    return (
        f"column {cells.name!r} left out: {seen} look like text or identifiers "
        f"({otherwise(cells.name, 'category')})."
    )


def _is_prose(cells: tuple[str, ...] | list[str]) -> bool:
    """Return whether cells read like text: several words each, some of them in several cells."""
    found = [set(_WORD_OR_CODE.findall(cell.lower())) for cell in cells[:1000]]
    n_words = sum(map(len, found))
    return n_words >= _TEXT_WORDS * len(found) and len(set().union(*found)) < n_words
