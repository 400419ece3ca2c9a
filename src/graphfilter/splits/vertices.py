"""The one check of vertex numbers, wherever a user chooses some of a graph's vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphfilter.errors import GraphError


def check_vertices(
    index: ArrayLike, n: int | None, what: str = "vertices", *, repeats: bool = False
) -> NDArray[np.int64]:
    """Return vertex numbers in the order given, or raise.

    Parameters
    ----------
    index : array
        Whole numbers from 0 to n - 1, or a boolean mask with one entry per vertex.
    n : int or None
        The number of vertices; None where it is not known yet, and then only the form is checked.
    what : str
        Their name in errors.
    repeats : bool
        Whether a vertex may be listed more than once.

    Examples
    --------
    >>> check_vertices([True, False, True], 3)
    array([0, 2])
    >>> check_vertices([0, 7], 3, "the test vertices")
    Traceback (most recent call last):
    graphfilter.errors.GraphError: the test vertices must lie in 0..2; got 0..7.
    """
    try:
        given: NDArray[Any] = np.asarray(index)
    except ValueError:
        raise GraphError(f"{what} must be one list; got rows of unequal length.") from None
    if n_masked := int(np.ma.count_masked(index)) if isinstance(index, np.ma.MaskedArray) else 0:
        raise GraphError(f"{what} must not be masked; {n_masked:,} are. Pass x.compressed().")
    if given.dtype == bool and given.ndim == 1:
        if n is not None and len(given) != n:
            raise GraphError(f"a mask of {what} must have {n} entries; got {len(given)}.")
        return np.flatnonzero(given)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise GraphError(
            f"{what} must be a list of vertex numbers, or a boolean mask with one entry per "
            f"vertex; got shape {given.shape} of {given.dtype}."
        )
    if given.size and (given.min() < 0 or (n is not None and given.max() >= n)):
        least = "not be negative" if n is None else f"lie in 0..{n - 1}"
        raise GraphError(f"{what} must {least}; got {given.min()}..{given.max()}.")
    if not repeats and len(np.unique(given)) != len(given):
        raise GraphError(f"{what} must be listed once each; got one twice. Pass np.unique of them.")
    return given.astype(np.int64)
