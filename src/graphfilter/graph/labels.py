"""Labels as users give them, and as class numbers with -1 for *unlabelled*."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphfilter.errors import GraphError


def encode_labels(labels: ArrayLike | Iterable[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Number the classes of ``labels``; unlabelled vertices get -1.

    Unlabelled is -1, None, NaN or an empty string. One exception keeps a common encoding of two
    classes usable: where the only labels are -1 and 1, both are classes (read as *unlabelled*,
    -1 would leave a single class, with which nothing can be learned).

    Returns
    -------
    codes : int64 array (n,)
    classes : array (n_classes,)
        The original names, sorted; ``classes[codes]`` gives the labels back.

    Examples
    --------
    >>> encode_labels(["b", None, "a", ""])
    (array([ 1, -1,  0, -1]), array(['a', 'b'], dtype=object))
    >>> encode_labels([3, -1, 5])
    (array([ 0, -1,  1]), array([3, 5]))
    >>> encode_labels([-1, 1, 1])
    (array([0, 1, 1]), array([-1,  1]))
    """
    values = _as_array(labels)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise GraphError(f"labels must be one value a vertex; got shape {values.shape}.")
    if values.dtype.kind in "UST":
        values = values.astype(object)
    if values.dtype.kind not in "Oiufb":
        raise GraphError(f"labels must be strings or numbers; got {values.dtype}.")
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise GraphError("labels must not be infinite; leave unknown ones empty, NaN or -1.")
    known = ~_is_missing(values)
    if known.any() and _is_number(values, 1)[known].all():
        known |= _is_number(values, -1)
    codes = np.full(len(values), -1, dtype=np.int64)
    if values.dtype.kind == "O":
        classes, codes[known] = _number_objects(values[known].tolist())
    else:
        classes, codes[known] = np.unique(values[known], return_inverse=True)
    return codes, classes


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
        raise GraphError(f"labels must be one value a vertex; got shape {values.shape}.")
    number = {name: i for i, name in enumerate(classes.tolist())}
    codes = np.fromiter((number.get(v, -1) for v in values.tolist()), np.int64, len(values))
    known = ~_is_missing(values) | (codes >= 0)
    if known.any() and not (codes[known] >= 0).any():
        raise GraphError(
            f"no label is one of the classes {', '.join(map(str, classes[:10]))}; "
            f"got for example {values[known][0]!r}."
        )
    return codes, known


def _as_array(labels: ArrayLike | Iterable[Any]) -> NDArray[Any]:
    if hasattr(labels, "__array__"):
        return np.asarray(labels)
    if isinstance(labels, str | bytes | Mapping | Set) or not isinstance(labels, Iterable):
        raise GraphError(
            "labels must be a sequence, one value a vertex in the order of the vertices; "
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
            "labels must be one value a vertex; got lists of unequal length."
        ) from None


def _is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind == "f":
        return np.isnan(values) | (values == -1)
    if values.dtype.kind == "O":
        missing = np.fromiter(map(_is_blank, values), dtype=bool, count=len(values))
        return missing | _is_number(values, -1)
    return _is_number(values, -1)


def _is_blank(value: Any) -> bool:
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    try:
        return bool(value != value)  # NaN alone differs from itself
    except TypeError:
        return True  # pandas.NA compares to something without a truth value
    except ValueError:
        return False  # an array in a cell: unhashable, which is reported later


def _is_number(values: NDArray[Any], number: int) -> NDArray[np.bool_]:
    if values.dtype.kind == "O":
        equal = (isinstance(v, int | float | np.number) and v == number for v in values)
        return np.fromiter(equal, dtype=bool, count=len(values))
    return np.asarray(values == number, dtype=bool)


def _number_objects(values: list[Any]) -> tuple[NDArray[Any], list[int]]:
    try:
        names = sorted(set(values))
    except TypeError:
        try:
            names = sorted(set(values), key=lambda v: (type(v).__name__, str(v)))
        except TypeError:
            raise GraphError("labels must be hashable: strings or numbers.") from None
    number = {name: i for i, name in enumerate(names)}
    return np.fromiter(names, dtype=object, count=len(names)), [number[v] for v in values]
