"""The label and split columns of a table of vertices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import GraphError
from graphfilter.splits import Split
from graphfilter.tables.cells import as_text, distinct, drop_nan
from graphfilter.tables.labels import encode_distinct
from graphfilter.tables.source import at_row
from graphfilter.wording import count

_PARTS = {"train": 0, "val": 1, "valid": 1, "validation": 1, "test": 2, "": -1}
# More classes than this are looked at: numbers with a fraction, whole numbers and words.
MOST_FRACTIONS = 10
MOST_CLASSES = 50
# A class of words has so many vertices on average, one of whole numbers so many.
LEAST_WORDS = 2
LEAST_WHOLE = 5


def read_labels(
    column: Any, name: str, unlabelled: Sequence[str], *, check: bool
) -> tuple[NDArray[np.int64], NDArray[Any], list[str]]:
    """Number the classes (see :mod:`graphfilter.tables.labels`); note what is unlabelled."""
    words, rows = distinct(as_text(drop_nan(column)))
    codes, classes = encode_distinct(words, unlabelled)
    n_rows = np.bincount(rows, minlength=len(words))
    if check:
        _check_classes(classes, int(n_rows[codes >= 0].sum()), name)
    missing: Counter[str] = Counter()
    for word, code, n in zip(words, codes.tolist(), n_rows.tolist(), strict=True):
        if code < 0:
            missing[repr(word.strip()) if word.strip() else "empty"] += n
    counts = ", ".join(f"{n:,} {word}" for word, n in missing.most_common(10))
    notes = [f"column {name!r}: {counts} read as unlabelled."] if counts else []
    return codes[rows], classes, notes


def read_split(column: Any, where: str | PathLike[str]) -> tuple[Split, ...]:
    """Read train, val, test or nothing per vertex."""
    words, codes = distinct(as_text(column, trim=True))
    part = np.array([_PARTS.get(word.lower(), -2) for word in words])[codes]
    if (part == -2).any():
        row = int((part == -2).argmax())
        got = f"got {words[codes[row]]!r}"
        raise at_row(where, row, f"the split must be train, val, test or empty; {got}.")
    split = Split(part == 0, part == 1, part == 2, rule="given")
    return (split,) if (part >= 0).any() else ()


def _check_classes(classes: NDArray[Any], n_labelled: int, name: str) -> None:
    """Refuse a column that measures or names instead of classifying."""
    n = len(classes)
    numbers = [_number(word) for word in classes]
    if all(number is not None for number in numbers):
        fractions = any(number % 1 for number in numbers if number is not None)
        bad = n > MOST_FRACTIONS if fractions else n > MOST_CLASSES and n_labelled < LEAST_WHOLE * n
    else:
        bad = n > MOST_CLASSES and n_labelled < LEAST_WORDS * n
    if bad:
        what = "numbers" if None not in numbers else "words"
        itself = "Predict the number itself (`number`), divide"
        if what == "words":
            amounts = all(any(map(str.isdigit, str(word))) for word in classes)
            itself = (
                "Predict them with `number` if they are quantities, divide" if amounts else "Divide"
            )
        raise GraphError(
            f"the label {name!r} must be a few classes; got {n:,} different {what} on "
            f"{count(n_labelled, 'labelled vertex', 'labelled vertices')}, such as {classes[0]!r}. "
            f"{itself} it into classes (low, middle, high), or name another column with `label`."
        )


def _number(word: Any) -> float | None:
    try:
        number = float(str(word).replace(",", "."))
    except ValueError:
        return None
    return number if np.isfinite(number) else None
