"""Edges between names: numbered, so that everything else counts vertices from 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import GraphError, did_you_mean
from graphfilter.graph.edges import on_host


def holds_names(edges: Any) -> bool:
    """Return whether these are pairs of names, not of numbers or anything else."""
    return _as_named_pairs(edges) is not None


def number_names(
    edges: Any, vertex_names: Sequence[Any] | None, *, others_known: bool
) -> tuple[Any, Sequence[Any] | None]:
    """Turn pairs of names into pairs of numbers; leave numbers alone.

    Parameters
    ----------
    edges : array-like
    vertex_names : sequence or None
        The vertices in order. Without them, they are the names in the edges, sorted.
    others_known : bool
        Whether features, labels or a number of vertices are given, which say nothing of names.

    Returns
    -------
    pairs, vertex_names

    Examples
    --------
    >>> number_names([("b", "a"), ("c", "a")], None, others_known=False)
    (array([[1, 0],
           [2, 0]]), ['a', 'b', 'c'])
    """
    pairs = _as_named_pairs(edges)
    if pairs is None:
        return edges, vertex_names
    if vertex_names is None:
        if others_known:
            raise GraphError(
                "edges between names must come with vertex_names, the name of each row of the "
                "features or labels; got none. An estimator takes them from the index of X, a "
                "pandas DataFrame."
            )
        vertex_names = sorted(dict.fromkeys(name for pair in pairs for name in pair), key=str)
    number = {name: i for i, name in enumerate(vertex_names)}
    missing = next((name for pair in pairs for name in pair if name not in number), None)
    if missing is not None:
        hint = did_you_mean(str(missing), map(str, vertex_names))
        raise GraphError(f"an edge names {missing!r}, which must be one of vertex_names{hint}")
    return np.array([[number[u], number[v]] for u, v in pairs], dtype=np.int64), vertex_names


def _as_named_pairs(edges: Any) -> list[tuple[Any, Any]] | None:
    """Return pairs that hold a name; None for anything else."""
    array: NDArray[Any] | None = None
    if hasattr(edges, "__array__") or hasattr(edges, "detach"):
        array = np.asarray(on_host(edges))
        if array.dtype.kind not in "UOT":
            return None
        edges = array.T if array.ndim == 2 and array.shape[1] != 2 == array.shape[0] else array
        edges = edges.tolist()
    if not isinstance(edges, Sequence) or isinstance(edges, str):
        return None
    pairs = [tuple(pair) for pair in edges if isinstance(pair, Sequence) and len(pair) == 2]
    if len(pairs) < len(edges) or not any(isinstance(end, str) for pair in pairs for end in pair):
        return None
    return pairs  # pyright: ignore[reportReturnType]
