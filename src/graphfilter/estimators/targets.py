"""y as it is given to an estimator, as what a task learns of every vertex."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from graphfilter.data.attributes import check_real, on_host
from graphfilter.tables.labels import LARGEST_TARGET, encode_labels
from graphfilter.training import CLASSIFICATION, MULTILABEL, REGRESSION, TargetScale, Task
from graphfilter.util.errors import GraphError, GraphFilterError

Index = NDArray[np.int64]


@contextmanager
def in_one_line(remedy: str) -> Generator[None]:
    """Within, raise what scikit-learn and numpy say of X or y in one line, with a remedy.

    Names of columns stay in lines of their own, as scikit-learn's contract has them.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        text = str(error)
        if isinstance(error, GraphFilterError) or "feature names" in text.lower():
            raise
        kind = TypeError if isinstance(error, TypeError) else GraphError
        raise kind(f"{' '.join(text.split())[:500].rstrip('.')}. {remedy}") from None


@dataclass(frozen=True, eq=False)
class Target:
    """What is to be learned.

    Attributes
    ----------
    task : Task
    codes : int64 array (n,)
        Class numbers; of other tasks 0. -1 where nothing is known.
    names : array
        The classes, the labels that a vertex may have, or what its numbers are called.
    values : float array (n, T), optional
        Of other tasks than classification; NaN where nothing is known.
    is_column : bool
        Whether y was one column: predictions then are one too.
    """

    task: Task
    codes: Index
    names: NDArray[Any]
    values: NDArray[np.float64] | None = None
    is_column: bool = True

    def __len__(self) -> int:
        return len(self.codes)

    def spread(self, index: Index, n: int) -> Target:
        """Return the target of n vertices, known for those in ``index`` alone."""
        codes = np.full(n, -1, dtype=np.int64)
        codes[index] = self.codes
        twice = index[codes[index] != self.codes]
        values = None
        if self.values is not None:
            values = np.full((n, self.values.shape[1]), np.nan)
            values[index] = self.values
            differs = ~np.isclose(values[index], self.values, equal_nan=True).all(axis=1)
            twice = np.append(twice, index[differs])
        if len(twice):
            raise GraphError(f"a vertex must have one label; vertex {twice[0]} is given two.")
        return replace(self, codes=codes, values=values)

    def learned(self, scales: Sequence[TargetScale] = ()) -> NDArray[np.float32] | None:
        """Return values as they are trained on: numbers on their scales, labels as they are."""
        if self.values is None or not len(scales):
            return None if self.values is None else self.values.astype(np.float32)
        columns = [scale.transform(y) for scale, y in zip(scales, self.values.T, strict=True)]
        return np.column_stack(columns).astype(np.float32)


def check_magnitude(values: NDArray[np.float64]) -> None:
    """Raise where a number is too large to be learned, or its differences are too small."""
    large = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    if large > LARGEST_TARGET:
        most = f"{LARGEST_TARGET:g}"
        raise GraphError(f"y must hold numbers up to {most}; got {large:g}. Divide them all.")
    for column in values.T:
        gap = np.ptp(column[np.isfinite(column)]) if np.isfinite(column).any() else 0.0
        if 0 < gap < 1 / LARGEST_TARGET:
            least = f"{1 / LARGEST_TARGET:g}"
            raise GraphError(f"y must differ by {least} or more; got {gap:.3g}. Multiply them all.")


@in_one_line("Give y as one class per vertex (n,), or as 0 and 1 per label (n, L).")
def class_target(y: Any) -> Target:
    """Read one class per vertex, or a table (n, L) of the labels that a vertex has."""
    if isinstance(y, Target):
        return y
    y = plain_target(y)
    # A single column is read as classes.
    if isinstance(y, list | tuple):
        several = bool(len(y)) and isinstance(y[0], list | tuple | np.ndarray) and len(y[0]) > 1
    else:
        several = len(shape := getattr(y, "shape", ())) == 2 and shape[1] > 1
    if several:
        return _label_target(y)
    values = y if isinstance(y, list | tuple) else column_or_1d(np.asarray(y), warn=True)
    codes, classes = encode_labels(values)
    if classes.dtype.kind == "f":
        check_classification_targets(classes)
    return Target(CLASSIFICATION, codes, classes)


@in_one_line("Give y as numbers, one per vertex (n,) or several (n, T).")
def number_target(y: Any) -> Target:
    """Read one number per vertex, or several (n, T); NaN or None where unknown."""
    if isinstance(y, Target):
        return y
    array = _array(plain_target(y))
    values = array if array.ndim == 2 else array[:, None]
    check_magnitude(values)
    return Target(REGRESSION, _known(values), _names(y, values), values, array.ndim == 1)


def named_target(task: Task, values: NDArray[np.float64], names: Sequence[str]) -> Target:
    """Return numbers or labels (n, T) under the names of their columns, to be passed as y."""
    named = np.array([str(name) for name in names], dtype=object)
    check_magnitude(values)
    return Target(
        task, _known(values), named, values, is_column=task is REGRESSION and len(named) == 1
    )


def _label_target(y: Any) -> Target:
    values = _array(y)
    known = _known(values)
    # In floats -1 says unlabelled, as it does for classes.
    known[(values == -1).any(axis=1)] = -1
    values = np.where(known[:, None] < 0, np.nan, values)
    if odd := sorted(set(np.unique(values[known >= 0]).tolist()) - {0.0, 1.0}):
        raise GraphError(
            "y with several columns must say which labels a vertex has, by 0 and 1; got "
            f"{odd[0]:g}. One class per vertex is one column; numbers are for SGFRegressor."
        )
    return Target(MULTILABEL, known, _names(y, values), values, is_column=False)


def _array(y: Any) -> NDArray[np.float64]:
    """Return numbers in float64 with NaN where unknown; of one or two dimensions."""
    dense = y.toarray() if hasattr(y, "toarray") else y
    check_real(dense, "y")
    values = np.asarray(dense)
    texts = (value for value in values.ravel().tolist() if isinstance(value, str))
    if values.dtype.kind in "OUS" and (text := next(texts, None)) is not None:
        raise GraphError(f"y must hold numbers; got the text {text!r}. Classify texts.")
    if values.dtype.kind == "f" and np.isinf(values).any():
        row = np.argwhere(np.isinf(values))[0][0]
        raise GraphError(f"y must hold finite numbers (Input contains infinity), in row {row} too.")
    array = check_array(
        dense, dtype=np.float64, ensure_2d=False, ensure_all_finite="allow-nan", input_name="y"
    )
    if array.ndim > 2 or array.ndim == 0:
        raise GraphError(f"y must be (n,) or (n, T); got shape {array.shape}.")
    return array


def _known(values: NDArray[np.float64]) -> Index:
    return np.where(np.isnan(values).any(axis=1), -1, 0).astype(np.int64)


def _names(y: Any, values: NDArray[np.float64]) -> NDArray[Any]:
    columns = getattr(y, "columns", None)
    if columns is None or callable(columns):
        return np.arange(values.shape[1])
    return np.array([str(name) for name in columns], dtype=object)


def plain_target(y: Any) -> Any:
    """Return y without a gradient, unknown where it is masked."""
    y = detached(y, "y")
    if not isinstance(y, np.ma.MaskedArray):
        return y
    if y.dtype.kind == "f":
        return y.filled(np.nan)
    if not np.ma.count_masked(y):
        return y.data
    values: np.ndarray = y.data.astype(object)
    values[np.ma.getmaskarray(y)] = None
    return values.tolist() if values.ndim == 1 else values


def detached(values: Any, what: str) -> Any:
    values = on_host(values)
    is_object = getattr(getattr(values, "dtype", None), "kind", "") == "O"
    if isinstance(values, list | tuple | int) or (isinstance(values, np.ndarray) and is_object):
        try:
            with suppress(TypeError, ValueError):
                np.asarray(values, dtype=np.float64)
        except OverflowError:
            raise GraphError(f"{what} must hold numbers that a float can hold.") from None
    return values
