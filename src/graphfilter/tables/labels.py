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
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphfilter.errors import GraphError

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
        raise GraphError(
            f"unlabelled must be a tuple of spellings, ({unlabelled!r},); got one string."
        )
    spellings = frozenset(word.strip().lower() for word in unlabelled)
    known = [not _is_unlabelled(value, spellings) for value in values]
    if any(known) and all(_is_number(v, 1) for v, keep in zip(values, known, strict=True) if keep):
        known = [keep or _is_number(v, -1) for v, keep in zip(values, known, strict=True)]
    kept = [value for value, keep in zip(values, known, strict=True) if keep]
    names = _class_names(kept)
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


def _class_names(values: list[Any]) -> list[Any]:
    """Return the name of the class that each value stands for."""
    names = [value.strip() if isinstance(value, str) else value for value in values]
    if all(isinstance(name, str) and _DECIMAL.fullmatch(name) for name in names):
        return [_plain(name) for name in names]
    return names


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
