"""One column of a table, and how it becomes features: what a run remembers of it.

A kind of column is a subclass of :class:`EncodedColumn`, which is fitted to cells, remembers what
was decided, and encodes other cells the same way: numbers and lists in :mod:`.numbers`, dates in
:mod:`.dates`, truth values, categories and text in :mod:`.words`. :mod:`.encoder` lists them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from graphfilter.tables.cells import Cells, is_usable
from graphfilter.tables.source import at_row
from graphfilter.util.records import convert
from graphfilter.util.words import count

# A float32 array (n, d) or a scipy csr_array of the same; scipy ships no types to say so with.
Features = Any
# The rows and values of the non-zeros, feature by feature, and how many each feature has.
Entries = tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]

# Behind the name of a column, in that of the feature that says where its value is missing.
MISSING_MARK = " is missing"
# More words or weights than this are saved as one text.
_MOST_LISTED = 100
# A column may hold one cell of another kind in so many, which are then missing.
READ_PER_WORD = 19


class Read(NamedTuple):
    """Cells as numbers (n, k), NaN for none; which are words instead; what there is to say."""

    values: NDArray[np.float64]
    is_word: NDArray[np.bool_]
    said: str = ""


@dataclass(frozen=True)
class EncodedColumn(ABC):
    """A column that is used, and how.

    Attributes
    ----------
    name : str
    fill : tuple of float
        The replacement for a missing value, one number per feature.
    marks_missing : bool
        Whether one more feature says where the value is missing.
    told : bool
        Whether the user named the kind: what cannot be read as it is then missing.
    of_kinds : tuple of str
        The vertex types that have the column, where not all do: on others it is not missing.
    """

    kind: ClassVar[str]
    # Whether missing values are replaced; otherwise their features are zeros.
    fills: ClassVar[bool] = True
    name: str
    fill: tuple[float, ...] = ()
    marks_missing: bool = False
    told: bool = False
    of_kinds: tuple[str, ...] = ()

    @classmethod
    @abstractmethod
    def fit(cls, cells: Cells) -> tuple[Self | None, str]:
        """Decide how cells are encoded, None for not at all; the note says so, '' for nothing."""

    @abstractmethod
    def read(self, cells: Cells) -> Read:
        """Read cells as was decided."""

    def encode(self, cells: Cells) -> tuple[Entries, str]:
        """Encode cells as was decided; the note is '' where there is nothing to say."""
        values, is_word, said = self.read(cells)
        n_words = int(is_word.sum())
        if n_words and not self.is_readable(n_words, values):
            self.refuse(cells, is_word)
        entries, note = self.filled(values, n_words)
        return entries, f"{note} {said}".strip()

    @staticmethod
    def can_hold(kind: Any) -> bool:
        """Return whether a column of an Arrow type can be of this kind."""
        return is_usable(kind)

    @property
    def value_names(self) -> tuple[str, ...]:
        """One name per feature, but for the mark of missing values."""
        return (self.name,)

    @property
    def shift(self) -> float:
        """What is subtracted before values become float32."""
        return 0.0

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per feature, the mark of missing values last."""
        mark = (f"{self.name}{MISSING_MARK}",) if self.marks_missing else ()
        return (*self.value_names, *mark)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; those left at their defaults are left out."""
        values: dict[str, Any] = {"name": self.name, "kind": self.kind, "categories": []}
        for field in fields(self)[1:]:
            if (value := getattr(self, field.name)) != field.default:
                values[field.name] = _compact(value) if isinstance(value, tuple) else value
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Make a column from what :meth:`to_dict` gave; anything else is an error of some type."""
        defaults = {f.name: f.default for f in fields(cls)}
        names = defaults.keys()
        content = {key: value for key, value in values.items() if key in names}
        for key, value in content.items():
            if isinstance(value, str) and isinstance(defaults[key], tuple):
                is_numbers = key == "fill" or key.endswith("weights")
                content[key] = [*map(float, value.split())] if is_numbers else value.split("\n")
        # Every kind is saved with categories, empty ones where it has none.
        if (values["categories"] != [] and "categories" not in names) or (
            values.keys() - names - {"kind", "categories"}
        ):
            raise ValueError(f"fields of column {values['name']!r}")
        column = convert(cls, content)
        column.check()
        return column

    def check(self) -> None:
        """Raise an error of some type unless the fields go together."""
        n_filled = len(self.value_names) if self.fills else 0
        if len(self.fill) != n_filled or not all(map(isfinite, self.fill)):
            raise ValueError(f"fill of column {self.name!r}")

    @staticmethod
    def fill_of(values: NDArray[np.float64]) -> dict[str, Any]:
        """Return the replacement for missing values: the median, and a mark where there are any."""
        seen = values[np.isfinite(values)]
        return {"fill": (median(seen),), "marks_missing": bool(np.isnan(values).any())}

    def filled(self, values: NDArray[np.float64], n_words: int) -> tuple[Entries, str]:
        """Put the remembered values where some are missing, and mark those."""
        gone = np.isnan(values).any(axis=1)
        note = ""
        if gone.any():
            values = np.where(np.isnan(values), np.array(self.fill), values)
            if n_words or not self.marks_missing:
                other = f", {n_words:,} of them other words" if n_words else ""
                none = " There were none when the model was fitted."
                n = count(int(gone.sum()), "value is", "values are")
                note = f"column {self.name!r}: {n} missing{other}; replaced by the median."
                note += "" if self.marks_missing else none
        values = values - self.shift
        features = np.column_stack([values, gone]) if self.marks_missing else values
        return entries_of(features.astype(np.float32)), note

    def spread(self, entries: Entries, own: NDArray[np.bool_]) -> Entries:
        """Put the rows of some kinds among all: others have the value that stands for none."""
        rows, data, counts = entries
        rows, others = np.flatnonzero(own)[rows], np.flatnonzero(~own)
        feature = np.repeat(np.arange(len(counts)), counts)
        fill = (np.array(self.fill) - self.shift).astype(np.float32)
        if (filled := np.flatnonzero(fill)).size:
            rows = np.concatenate([rows, np.tile(others, len(filled))])
            feature = np.concatenate([feature, np.repeat(filled, len(others))])
            data = np.concatenate([data, np.repeat(fill[filled], len(others))])
            order = np.lexsort((rows, feature))
            rows, feature, data = rows[order], feature[order], data[order]
        return rows.astype(np.int32), data, np.bincount(feature, minlength=len(counts))

    @property
    def described(self) -> str:
        """What a cell must be, in words."""
        return "true or false" if self.kind == "boolean" else f"a {self.kind}"

    def is_readable(self, n_words: int, values: NDArray[np.float64]) -> bool:
        """Return whether so many words are few beside the values that were read."""
        n_read = int((~np.isnan(values[:, 0])).sum())
        return self.told or n_read > READ_PER_WORD * n_words

    def refuse(self, cells: Cells, is_word: NDArray[np.bool_]) -> NoReturn:
        """Raise the error for cells of another kind than those that were fitted."""
        row, text = int(is_word.argmax()), self.described
        raise at_row(
            cells.where,
            row,
            f"column {self.name!r} must hold {text}, as when the model was fitted: "
            f"{str(cells.column[row].as_py())[:80]!r} is not {text}. Fix it, or leave the cell "
            "empty.",
        )


def entries_of(features: NDArray[np.float32]) -> Entries:
    """Return the non-zeros of features (n, d), feature by feature."""
    columns, rows = np.nonzero(features.T)
    counts = np.bincount(columns, minlength=features.shape[1])
    return rows.astype(np.int32), features[rows, columns], counts


def _compact(values: tuple[Any, ...]) -> list[Any] | str:
    """Return many numbers, or words without line ends, as one text: JSON of half the size."""
    if len(values) <= _MOST_LISTED:
        return list(values)
    if isinstance(values[0], float):
        return " ".join(map(str, values))
    return list(values) if "\n" in "".join(values) else "\n".join(values)


def median(values: NDArray[np.float64]) -> float:
    """Return the median, as numpy does, of an array that may be reordered; 0 of none.

    numpy's own looks for gaps and axes first, which takes most of the time of short columns.
    """
    if not len(values):
        return 0.0
    low, high = (len(values) - 1) // 2, len(values) // 2
    values.partition((low, high))
    return float(values[high] if low == high else (values[low] + values[high]) / 2)


def otherwise(name: str, kind: str) -> str:
    """Return how a column is read as another kind than was guessed.

    >>> otherwise("first name", "text")
    "to change this: `kinds=(('first name', 'text'),)`"
    """
    return f"to change this: `kinds={((name, kind),)}`"


def with_gaps(features: Features, feature_names: Sequence[str] | None) -> NDArray[np.float32]:
    """Return dense features with NaN where a value was missing, as models want them that know gaps.

    A feature that says where follows those it speaks of; scaled or not, the larger of its two
    values says that one is missing.

    Examples
    --------
    >>> with_gaps(np.array([[1.0, 0], [5.0, 1]]), ["age", "age is missing"])
    array([[ 1.,  0.],
           [nan,  1.]], dtype=float32)
    """
    matrix = features.toarray() if hasattr(features, "toarray") else features
    matrix = np.array(matrix, dtype=np.float32)
    names = list(feature_names or ())
    for mark, name in enumerate(names):
        if not name.endswith(MISSING_MARK) or not len(matrix):
            continue
        column = name.removesuffix(MISSING_MARK)
        parts = (f"{column} (", f"{column}[")
        at = [i for i in range(mark) if names[i] == column or names[i].startswith(parts)]
        low, high = matrix[:, mark].min(), matrix[:, mark].max()
        missing = matrix[:, mark] > (low + high) / 2
        matrix[np.ix_(missing, at)] = np.nan
    return matrix
