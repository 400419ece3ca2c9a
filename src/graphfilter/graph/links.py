"""Which way the edges of a graph go: arcs beside the graph that has none."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def align_arcs(
    pairs: NDArray[Any],
    weights: NDArray[np.float32] | None,
    indptr: NDArray[Any],
    indices: NDArray[Any],
    merge: str = "larger",
) -> NDArray[np.float32]:
    """Return the weight of the arc (row → column) for every entry of a symmetric CSR, 0 for none.

    Parameters
    ----------
    pairs, weights, merge : arrays (m, 2), (m,) or None, and str
        As :func:`~graphfilter.graph.edges.build_csr` took them to make the CSR.
    """
    n = len(indptr) - 1
    keep = pairs[:, 0] != pairs[:, 1]
    if weights is not None:
        keep &= weights > 0
    values = np.ones(len(pairs)) if weights is None else weights.astype(np.float64)
    ends = pairs[keep].astype(np.int64)
    # One number per arc: those of the CSR are sorted, as its rows are.
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(indptr))
    place = np.searchsorted(rows * n + indices, ends[:, 0] * n + ends[:, 1])
    sums = np.bincount(place, weights=values[keep], minlength=len(indices))
    if weights is None:
        sums = sums > 0
    elif merge == "mean":
        sums = sums / np.maximum(np.bincount(place, minlength=len(indices)), 1)
    elif merge == "max":
        np.maximum.at(sums := np.zeros(len(indices)), place, values[keep])
    elif merge == "last":
        sums[place] = values[keep]
    return sums.astype(np.float32)[: len(indices)]
