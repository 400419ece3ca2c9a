"""Repeated edges as one: what becomes of their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.errors import GraphError, check_name

# What the rows of one edge weigh together, whichever way they go. Of "larger", those of one
# direction add up, and the larger of the two directions holds.
MERGES = ("larger", "sum", "mean", "max", "last")
SAID = {
    "larger": "those of one direction were added up",
    "sum": "their weights were added up (to change this: `merge`)",
    "mean": "the mean of their weights was taken (to change this: `merge`)",
    "max": "the largest of their weights was kept (to change this: `merge`)",
    "last": "the weight of the last was kept (to change this: `merge`)",
}


def check_merge(merge: str, *, weighted: bool) -> str:
    """Raise unless repeats can be merged like this."""
    check_name("merge", merge, MERGES)
    if not weighted and merge not in ("larger", "sum"):
        raise GraphError(
            f"merge={merge!r} is about weights of edges; there are none. Name their column with "
            "`weight`, or count repeats with `merge='sum'`."
        )
    return merge


def merge_edges(
    u: NDArray[Any], v: NDArray[Any], weights: NDArray[Any], n: int, merge: str
) -> tuple[sp.csr_array, int, int]:
    """Return the symmetric adjacency in float64, and two counts.

    A table that lists every edge in both directions, with equal sums, lists it twice by
    convention: those are not added up.

    Returns
    -------
    adjacency : csr_array (n, n)
    n_one_way : int
        Different pairs of a source and a target.
    n_unequal : int
        Edges that weigh differently in the two directions.

    Examples
    --------
    >>> u, v = np.array([0, 1, 0]), np.array([1, 0, 1])
    >>> for merge in ("sum", "mean", "max", "last"):
    ...     print(merge, merge_edges(u, v, np.array([1.0, 6.0, 2.0]), 2, merge)[0][0, 1])
    sum 9.0
    mean 3.0
    max 6.0
    last 2.0
    """
    low, high = np.minimum(u, v).astype(np.int64), np.maximum(u, v)
    key = (low * n + high) * 2 + (u > v)
    order = np.argsort(key, kind="stable")
    key, values = key[order], weights[order].astype(np.float64)
    first = _starts(key)
    counts = np.diff(np.append(first, len(key)))
    rows = order[first + counts - 1] if len(first) else order
    one_way = reduce_repeats(values, first, counts, merge)
    pair = key[first] >> 1
    edge = _starts(pair)
    n_ways = np.diff(np.append(edge, len(pair)))
    both = edge[n_ways == 2]
    n_unequal = int(np.count_nonzero(one_way[both] != one_way[both + 1]))
    if merge == "last":
        later = edge + (n_ways == 2) * (rows[edge + n_ways - 1] > rows[edge])
        merged = one_way[later]
    elif merge == "mean":
        total = np.add.reduceat(one_way * counts, edge) if len(edge) else one_way
        merged = total / np.add.reduceat(counts, edge) if len(edge) else total
    else:
        merged = reduce_repeats(one_way, edge, n_ways, merge)
    if merge == "sum" and len(both) == len(edge) and not n_unequal:
        merged = merged / 2
    ends = np.stack(np.divmod(pair[edge], n))
    place = np.concatenate([ends, ends[::-1]], axis=1)
    adjacency = sp.coo_array((np.tile(merged, 2), (place[0], place[1])), shape=(n, n)).tocsr()
    return adjacency, len(one_way), n_unequal


def reduce_repeats(
    values: NDArray[Any], first: NDArray[Any], counts: NDArray[Any], merge: str
) -> NDArray[np.float64]:
    """Merge values that stand side by side, those of one edge from each ``first`` on."""
    if not len(first):
        return np.zeros(0)
    if merge == "last":
        return values[first + counts - 1]
    if merge == "max":
        return np.maximum.reduceat(values, first)
    total = np.add.reduceat(values, first)
    return total / counts if merge == "mean" else total


def _starts(sorted_keys: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each different key begins."""
    if not len(sorted_keys):
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(np.concatenate([[True], sorted_keys[1:] != sorted_keys[:-1]]))
