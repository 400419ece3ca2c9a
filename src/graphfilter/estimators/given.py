"""X and y as callers hold them, as arrays that scikit-learn's checks understand."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from graphfilter.data.edges import check_real, on_host
from graphfilter.util.errors import GraphError, GraphFilterError


def given_features(X: Any) -> Any:
    """Return X without a gradient; masked cells and numbers beyond any float are refused."""
    given = _detached(X, "X")
    check_real(given, "X")
    if not isinstance(given, np.ma.MaskedArray):
        return given
    if n := int(np.ma.count_masked(given)):
        raise GraphError(
            f"X must hold a number in every cell; {n:,} are masked. Fill them in: X.filled(0)."
        )
    return given.data


def given_target(y: Any) -> Any:
    """Return y without a gradient, unknown where it is masked."""
    y = _detached(y, "y")
    if not isinstance(y, np.ma.MaskedArray):
        return y
    if y.dtype.kind == "f":
        return y.filled(np.nan)
    if not np.ma.count_masked(y):
        return y.data
    values: np.ndarray = y.data.astype(object)
    values[np.ma.getmaskarray(y)] = None
    return values.tolist() if values.ndim == 1 else values


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


def _detached(values: Any, what: str) -> Any:
    values = on_host(values)
    is_object = getattr(getattr(values, "dtype", None), "kind", "") == "O"
    if isinstance(values, list | tuple | int) or (isinstance(values, np.ndarray) and is_object):
        try:
            with suppress(TypeError, ValueError):
                np.asarray(values, dtype=np.float64)
        except OverflowError:
            raise GraphError(f"{what} must hold numbers that a float can hold.") from None
    return values
