"""Labels on one side of a graph: accounts but not the devices between them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.graph import Graph
from graphfilter.spectral.rayleigh import check_labels

# Pairs of vertices that are looked at; a vertex between k others makes k² of them.
MOST_PAIRS = 50_000_000


def two_steps(
    graph: Graph, known: NDArray[np.int64], most_pairs: int = MOST_PAIRS
) -> tuple[Graph, NDArray[np.int64]] | None:
    r"""Return the graph of those vertices that have labels, or share a neighbour with one that has.

    They are joined by the neighbours they share, :math:`A D^{-1} A` without its diagonal, so that
    one vertex between many others counts as much as one between two.

    Parameters
    ----------
    graph : Graph
    known : int array
        The vertices whose labels are known.
    most_pairs : int
        Vertices between the most others are left out beyond it.

    Returns
    -------
    graph, known : Graph and int array, or None
        None where two vertices of that side are adjacent: the labels are not on one side, or too
        few to tell.

    Examples
    --------
    >>> g = Graph.from_edges([[0, 3], [1, 3], [1, 4], [2, 4]], labels=["a", "a", "b", None, None])
    >>> far, known = two_steps(g, np.array([0, 1, 2]))
    >>> far.edges.tolist(), known.tolist()
    ([[0, 1], [1, 2]], [0, 1, 2])
    >>> two_steps(g, np.array([0, 3])) is None
    True
    """
    links = graph.adjacency
    labelled = np.zeros(graph.n_vertices, dtype=bool)
    labelled[known] = True
    between = links @ labelled.astype(float) > 0
    side = labelled | (links @ between.astype(float) > 0)
    if (side & between).any() or (links @ side.astype(float) > 0)[side].any():
        return None
    members, middle = np.flatnonzero(side), np.flatnonzero(between)
    n_each = np.diff(graph.indptr)[middle].astype(np.int64)
    order = np.argsort(n_each, kind="stable")
    middle = np.sort(middle[order[np.cumsum(n_each[order] ** 2) <= most_pairs]])
    steps = sp.csr_array(links[members][:, middle])
    back = sp.diags_array(1 / np.maximum(graph.degrees[middle], 1e-30)) @ steps.T
    pairs = sp.coo_array(sp.csr_array(steps @ back))
    other = pairs.row < pairs.col
    far = Graph.from_edges(
        np.stack([pairs.row[other], pairs.col[other]], axis=1), len(members),
        weights=pairs.data[other], name=graph.name,
    )  # fmt: skip
    far = replace(far, labels=check_labels(graph)[members].copy(), classes=graph.classes)
    return far, np.flatnonzero(labelled[members])
