"""Who the neighbours of each vertex are, as columns."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from graphfilter.graph import Graph
from graphfilter.inputs.known import Known


def link_features(graph: Graph, known: Known | None = None) -> sp.csr_array:
    r"""Return the neighbourhood of every vertex as features: [A, Aᵀ] (n, 2n) in float32.

    The first n columns say whom a vertex links to, the others who links to it; each half of a row
    has Euclidean length 1, or 0 where there is no such link. A graph without directions has the
    neighbours once, (n, n). Of another graph than the fitted one, the columns are the vertices of
    the fitted one, and a half has length 1 over those that are ``known``.
    """
    return sp.csr_array(sp.hstack([_unit_rows(half) for half in halves(graph, known)]))


def halves(graph: Graph, known: Known | None = None) -> list[sp.csr_array]:
    """Return whom vertices link to and, where edges have directions, who links to them."""
    found = [graph.out_links(), graph.in_links()] if graph.directed else [graph.out_links()]
    return found if known is None else [known.columns(half) for half in found]


def _unit_rows(matrix: sp.csr_array) -> sp.csr_array:
    """Divide each row by its Euclidean length; rows of zeros stay."""
    lengths = np.sqrt(matrix.astype(np.float64).power(2).sum(axis=1))
    data = matrix.data / np.repeat(np.where(lengths == 0, 1, lengths), np.diff(matrix.indptr))
    return sp.csr_array((data.astype(np.float32), matrix.indices, matrix.indptr), matrix.shape)
