"""Which way the edges of a graph go: arcs beside the graph that has none, and what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

if TYPE_CHECKING:
    from graphfilter.graph.graph import Graph


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


def out_links(graph: Graph) -> sp.csr_array:
    """Return A (n, n) in float32 with the arcs of each vertex in its row."""
    shape = (graph.n_vertices, graph.n_vertices)
    values = graph.weights if graph.arcs is None else graph.arcs
    values = np.ones(len(graph.indices), dtype=np.float32) if values is None else values.copy()
    links = sp.csr_array((values, graph.indices.copy(), graph.indptr.copy()), shape=shape)
    links.eliminate_zeros()
    return links


def link_features(graph: Graph) -> sp.csr_array:
    r"""Return the neighbourhood of every vertex as features: [A, Aᵀ] (n, 2n) in float32.

    The first n columns say whom a vertex links to, the others who links to it; each half of a row
    has Euclidean length 1, or 0 where there is no such link. A graph without directions has the
    neighbours once, (n, n).
    """
    halves = [graph.out_links(), graph.in_links()] if graph.directed else [graph.out_links()]
    return sp.csr_array(sp.hstack([_unit_rows(half) for half in halves], format="csr"))


def _unit_rows(matrix: sp.csr_array) -> sp.csr_array:
    lengths = np.sqrt(matrix.astype(np.float64).power(2).sum(axis=1))
    data = matrix.data / np.repeat(np.where(lengths == 0, 1, lengths), np.diff(matrix.indptr))
    return sp.csr_array((data.astype(np.float32), matrix.indices, matrix.indptr), matrix.shape)
