"""Who the neighbours of each vertex are, as columns."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from graphfilter.graph import Graph


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
