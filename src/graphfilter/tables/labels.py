"""Labels as users give them, and as class numbers with -1 for *unlabelled*.

The same rule applies to arrays, lists and tables:

- **Unlabelled** is None, NaN, ``pandas.NA``, the number -1, and text that is blank or reads NA,
  N/A, NaN, null, None, ?, -1 or -1.0, in upper or lower case. ``unlabelled=`` replaces that list
  of spellings. Where the only labels are -1 and 1, both are classes: read as *unlabelled*, -1
  would leave one class, with which nothing can be learned.
- **A class name** is text without blanks around it. Where all names are plain decimal numbers
  (no leading zeros), '1' and '1.0' are one class, called '1', and classes are in the order of
  numbers.
- Where a single class is left beside words that read as unlabelled ('fraud' and 'none'), it is
  not for us to guess whether those words are a class: that is an error.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphfilter.splits import Split
from graphfilter.tables.cells import Cells, as_text, distinct, drop_nan, is_missing, missing_column
from graphfilter.tables.dates import parse_times
from graphfilter.tables.formats import open_table
from graphfilter.tables.numbers import guess_decimal, not_a_number, parse_numbers
from graphfilter.tables.source import TableSource, at_row, reading_table
from graphfilter.tables.words import FALSE_WORDS, TRUE_WORDS, read_truths
from graphfilter.util.arrow import pa, pc
from graphfilter.util.errors import DataFileError, GraphError
from graphfilter.util.words import count, listed_names, read_number

UNLABELLED = ("", "na", "n/a", "nan", "null", "none", "?", "-1", "-1.0")

_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?")


def encode_labels(
    labels: ArrayLike | Iterable[Any], *, unlabelled: Sequence[str] = UNLABELLED
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Number the classes of ``labels``; unlabelled vertices get -1.

    The module docstring defines what is unlabelled and how a class is named.

    Parameters
    ----------
    labels : sequence (n,)
        Strings, numbers or any hashables.
    unlabelled : sequence of str
        The spellings that mean *unlabelled* in text, compared without case or blanks around.

    Returns
    -------
    codes : int64 array (n,)
    classes : array (n_classes,)
        The names, sorted; ``classes[codes]`` gives the labels back.

    Examples
    --------
    >>> encode_labels(["b", None, "a ", "", "NA"])
    (array([ 1, -1,  0, -1, -1]), array(['a', 'b'], dtype=object))
    >>> encode_labels([3, -1, 5])
    (array([ 0, -1,  1]), array([3, 5]))
    >>> encode_labels([-1, 1, 1])
    (array([0, 1, 1]), array([-1,  1]))
    """
    values = _as_array(labels)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise GraphError(f"labels must be one value per vertex; got shape {values.shape}.")
    if values.dtype.kind in "UST":
        values = values.astype(object)
    if values.dtype.kind not in "Oiufb":
        raise GraphError(f"labels must be strings or numbers; got {values.dtype}.")
    if values.dtype.kind == "O":
        items = values.tolist()
        try:
            place = {value: i for i, value in enumerate(dict.fromkeys(items))}
        except TypeError:
            raise GraphError("labels must be hashable: strings or numbers.") from None
        codes, classes = encode_distinct(list(place), unlabelled)
        return codes[[place[value] for value in items]], classes
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise GraphError("labels must not be infinite; leave unknown ones empty, NaN or -1.")
    known = ~(np.isnan(values) | (values == -1)) if values.dtype.kind == "f" else values != -1
    if known.any() and (values[known] == 1).all():
        known |= values == -1
    codes = np.full(len(values), -1, dtype=np.int64)
    classes, codes[known] = np.unique(values[known], return_inverse=True)
    return codes, classes


def encode_distinct(
    values: Sequence[Any], unlabelled: Sequence[str] = UNLABELLED
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Number the different values that a column of labels holds, as :func:`encode_labels` does.

    Returns
    -------
    codes : int64 array, one per value
        Different spellings of a class have the same number.
    classes : object array (n_classes,)
    """
    if isinstance(unlabelled, str):
        got = f"({unlabelled!r},); got one string."
        raise GraphError(f"unlabelled must be a tuple of spellings, {got}")
    spellings = frozenset(word.strip().lower() for word in unlabelled)
    known = [not _is_unlabelled(value, spellings) for value in values]
    if any(known) and all(_is_number(v, 1) for v, keep in zip(values, known, strict=True) if keep):
        known = [keep or _is_number(v, -1) for v, keep in zip(values, known, strict=True)]
    names = [
        value.strip() if isinstance(value, str) else value
        for value, keep in zip(values, known, strict=True)
        if keep
    ]
    if all(isinstance(name, str) and _DECIMAL.fullmatch(name) for name in names):
        names = [_plain(name) for name in names]
    classes = _sorted(set(names))
    words = [v for v, keep in zip(values, known, strict=True) if not keep and isinstance(v, str)]
    words = sorted({word.strip() for word in words} - {""})
    if len(classes) == 1 and words:
        raise GraphError(
            f"labels must have two classes or more; got {classes[0]!r} alone beside "
            f"{', '.join(map(repr, words[:3]))}, which counts as unlabelled. If it is a class, "
            "pass unlabelled=('',); if not, leave those labels empty."
        )
    number = {name: i for i, name in enumerate(classes)}
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[np.array(known, dtype=bool)] = [number[name] for name in names]
    return codes, np.fromiter(classes, dtype=object, count=len(classes))


def match_labels(
    labels: ArrayLike | Iterable[Any], classes: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Number labels by classes that are known already.

    Returns
    -------
    codes : int64 array (n,)
        -1 where the label is none of the classes.
    known : bool array (n,)
        Where there is a label at all; -1 is one where it is a class.
    """
    values = _as_array(labels)
    if values.ndim != 1:
        raise GraphError(f"labels must be one value per vertex; got shape {values.shape}.")
    number = {name: i for i, name in enumerate(classes.tolist())}
    items = values.tolist()
    codes = np.fromiter((_find(number, v) for v in items), np.int64, len(items))
    spellings = frozenset(UNLABELLED)
    missing = np.fromiter((_is_unlabelled(v, spellings) for v in items), bool, len(items))
    known = ~missing | (codes >= 0)
    if known.any() and not (codes[known] >= 0).any():
        raise GraphError(
            f"no label is one of the classes {', '.join(map(str, classes[:10]))}; got for example "
            f"{values[known][0]!r}. Give labels as the fit has them."
        )
    return codes, known


def _as_array(labels: ArrayLike | Iterable[Any]) -> NDArray[Any]:
    if isinstance(labels, np.ma.MaskedArray) and np.ma.count_masked(labels):
        values: NDArray[Any] = labels.data.astype(object)
        values[np.ma.getmaskarray(labels)] = None
        return values
    if hasattr(labels, "__array__"):
        return np.asarray(labels)
    if isinstance(labels, str | bytes | Mapping | Set) or not isinstance(labels, Iterable):
        raise GraphError(
            "labels must be a sequence, one value per vertex in the order of the vertices; "
            f"got {type(labels).__name__}."
        )
    items = list(labels)
    if any(isinstance(item, str | tuple) for item in items):
        # numpy would turn the numbers beside a string into strings, and tuples into columns.
        return np.fromiter(items, dtype=object, count=len(items))
    try:
        return np.asarray(items)
    except ValueError:
        raise GraphError(
            "labels must be one value per vertex; got lists of unequal length."
        ) from None


def _is_unlabelled(value: Any, spellings: frozenset[str]) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in spellings
    if value is None or _is_number(value, -1):
        return True
    try:
        return bool(value != value)  # NaN alone differs from itself
    except TypeError:
        return True  # pandas.NA compares to something without a truth value
    except ValueError:
        return False  # an array in a cell: unhashable, which is reported elsewhere


def _is_number(value: Any, number: int) -> bool:
    if isinstance(value, str):
        return _plain(value.strip()) == str(number)
    return isinstance(value, int | float | np.number) and bool(value == number)


def _plain(word: str) -> str:
    """Write a decimal number without zeros behind the point; leave anything else alone.

    >>> _plain("1.0"), _plain("2.50"), _plain("-0"), _plain("1.x")
    ('1', '2.5', '0', '1.x')
    """
    if not _DECIMAL.fullmatch(word):
        return word
    word = word.rstrip("0").rstrip(".") if "." in word else word
    return "0" if word == "-0" else word


def _sorted(names: set[Any]) -> list[Any]:
    """Sort as numbers where all are, in text or not; by type and text where types are mixed."""
    try:
        if all(math.isfinite(float(name)) for name in names):
            return sorted(names, key=lambda name: (float(name), str(name), isinstance(name, str)))
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        return sorted(names)
    except TypeError:
        return sorted(names, key=lambda name: (type(name).__name__, str(name)))


def _find(number: Mapping[Any, int], value: Any) -> int:
    """Return the number of the class that a label names, -1 where it names none."""
    if isinstance(value, str) and value not in number:
        word = value.strip()
        value = word if word in number else _plain(word)
    return number.get(value, -1)


_PARTS = {"train": 0, "val": 1, "valid": 1, "validation": 1, "test": 2, "": -1}
# More classes than this are looked at: numbers with a fraction, whole numbers that do not run from
# 0 or 1 without gaps, and others.
MOST_FRACTIONS = 10
MOST_WHOLE = 20
MOST_CLASSES = 50
# A class of words has so many vertices on average, one of whole numbers so many.
LEAST_WORDS = 2
LEAST_WHOLE = 5


def read_labels(
    column: Any, name: str, unlabelled: Sequence[str], *, check: bool, same: Sequence[str] = ()
) -> tuple[NDArray[np.int64], NDArray[Any], list[str]]:
    """Number the classes (see :mod:`graphfilter.tables.labels`); note what is unlabelled.

    ``same`` are spellings of one class: ``yes=Yes,ja,JA``.
    """
    words, rows = distinct(as_text(drop_nan(column)))
    meant = dict(_read_same(same))
    words = [meant.get(word.strip(), word) for word in words]
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
    if check:
        notes += [
            f"column {name!r}: {', '.join(map(repr, group))} are different classes; to make them "
            f"one: `same_label={(group[0] + '=' + ','.join(group[1:]),)}`."
            for group in _spelled_alike(classes)
        ]
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


def _read_same(same: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each spelling and the class that it means."""
    for group in same:
        name, equals, spellings = group.partition("=")
        if not equals or not name.strip() or not spellings.strip():
            raise GraphError(f"`same_label` must be like yes=Yes,ja,JA; got {group!r}.")
        yield from ((word.strip(), name.strip()) for word in spellings.split(","))


def _spelled_alike(classes: NDArray[Any]) -> list[list[str]]:
    """Return classes that differ by case or language alone, the plainest first."""
    groups: dict[Any, list[str]] = {}
    names = [str(name) for name in classes.tolist() if "," not in str(name)]
    words = {name.casefold() for name in names}
    spelled = bool(words & TRUE_WORDS) and bool(words & FALSE_WORDS)
    for name in names:
        key = name.casefold()
        if spelled and key in TRUE_WORDS | FALSE_WORDS:
            groups.setdefault(key in TRUE_WORDS, []).append(name)
        else:
            groups.setdefault(key, []).append(name)
    plain = ("yes", "no")
    alike = [
        sorted(group, key=lambda name: (name not in plain, not name.islower(), name))
        for group in groups.values()
    ]
    return [group for group in alike if len(group) > 1]


def _check_classes(classes: NDArray[Any], n_labelled: int, name: str) -> None:
    """Refuse a column that measures or names instead of classifying."""
    n = len(classes)
    numbers = [read_number(str(word).replace(",", ".")) for word in classes]
    if all(number is not None for number in numbers):
        found = np.array(numbers, dtype=float)
        # Codes of classes run from 0 or 1; what is measured does not.
        codes = n > 0 and found.min() in (0, 1) and np.ptp(found) == n - 1
        if (found % 1).any():
            bad = n > MOST_FRACTIONS
        elif codes:
            bad = n > MOST_CLASSES and n_labelled < LEAST_WHOLE * n
        else:
            bad = n > MOST_WHOLE
    else:
        bad = n > MOST_CLASSES and n_labelled < LEAST_WORDS * n
    if bad:
        what = "words" if None in numbers else "numbers"
        raise GraphError(
            f"the label {name!r} must be a few classes; got {n:,} different {what} on "
            f"{count(n_labelled, 'labelled vertex', 'labelled vertices')}, such as {classes[0]!r}. "
            "Predict quantities with `number`, divide the column into classes (low, middle, high), "
            "or name another with `label`; where they are classes, pass `label_anyway=True`."
        )


# The largest number to be learned: squares of such numbers can still be summed.
LARGEST_TARGET = 1e150


def read_number_column(
    path: Path | TableSource, name: str, *, to_learn: bool = True, unknown: Sequence[str] = ()
) -> NDArray[np.float64]:
    """Read a column of numbers, one per vertex; NaN where there is none.

    ``to_learn`` demands two different numbers; ``unknown`` are spellings of none.
    """
    table, (column,) = _read(path, [name])
    with reading_table(table):
        if unknown:
            words, codes = distinct(column := as_text(column, trim=True))
            none = {word.strip().lower() for word in unknown}
            known = np.array([word.lower() not in none for word in words], dtype=bool)[codes]
            column = pc.if_else(pa.array(known), column, None)
        cells = Cells(column, name, table, told=True)
        read = parse_numbers(cells, guess_decimal(cells, table))
        if read.is_word.any():
            row = int(read.is_word.argmax())
            n_others = int(read.is_word.sum())
            words = listed_names(list(dict.fromkeys(cells.filter(read.is_word).words)), 5)
            remedy = (
                f"{count(n_others, 'such cell')} ({words}). Leave cells empty where the number is "
                "unknown, or name what stands there with `unlabelled`; for classes use `label`."
            )
            raise not_a_number(cells, row, remedy)
        if (np.abs(read.values) > LARGEST_TARGET).any():
            row = int((np.abs(read.values) > LARGEST_TARGET).argmax())
            raise at_row(
                table, row,
                f"column {name!r} must hold finite numbers up to {LARGEST_TARGET:g}, whose squares "
                f"can be added up; got {read.values[row]:g}. Divide them, or take logarithms.",
            )  # fmt: skip
        known = read.values[~np.isnan(read.values)]
        if to_learn and len(np.unique(known)) < 2:
            raise DataFileError(
                table, f"column {name!r} must hold at least two different numbers to learn from."
            )
    return read.values


def read_label_columns(path: Path | TableSource, names: Sequence[str]) -> NDArray[np.float64]:
    """Read columns of yes and no (1 and 0, true and false, x and empty): (n, L).

    An empty cell beside others is a no; a vertex whose cells are all empty is unknown: NaN.
    """
    table, columns = _read(path, names)
    found: list[NDArray[np.float64]] = []
    for name, column in zip(names, columns, strict=True):
        with reading_table(table):
            values, other = read_truths(Cells(column))
        if other.any():
            row = int(other.argmax())
            got = str(column[row].as_py())[:80]
            raise at_row(
                table, row,
                f"column {name!r} must hold 1 and 0, or yes and no, for whether a vertex has the "
                f"label; got {got!r}. For several classes in one column use `label`.",
            )  # fmt: skip
        found.append(values)
    labels = np.stack(found, axis=1)
    unknown = np.isnan(labels).all(axis=1, keepdims=True)
    return np.where(np.isnan(labels) & ~unknown, 0.0, labels)


def read_times(path: Path | TableSource, name: str) -> NDArray[np.float64]:
    """Read a column of dates, times or numbers as numbers that grow with time; NaN for none."""
    table, (column,) = _read(path, [name])
    return parse_times(column, table, name).values


def read_groups(path: Path | TableSource, name: str) -> NDArray[np.int64]:
    """Read a column of any kind as numbers of its different values; -1 where there is none."""
    table, (column,) = _read(path, [name])
    with reading_table(table):
        cells = Cells(column)
        return np.where(cells.of_words(is_missing, bool), -1, cells.codes).astype(np.int64)


def _read(path: Path | TableSource, names: Sequence[str]) -> tuple[TableSource, list[Any]]:
    table = open_table(path)
    for name in names:
        if name not in table.names:
            raise missing_column(table, name, table.names)
    with reading_table(table):
        read = table.read(list(names))
    return table, [read.column(name) for name in names]
