"""Places: coordinates of vertices in which those with like neighbours are near."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

from graphfilter.graph.graph import Features, Graph

Array = NDArray[np.float64]

# Coordinates of a vertex's place, and columns that features are compressed to.
MOST_PLACES = 32


def fix_places(graph: Graph, features: Features) -> Callable[[Features], Features]:
    """Return what makes the columns of places from features.

    The places are the largest singular vectors of the normalised adjacency, from both sides where
    edges have directions. Beside them stand log degrees and the features, projected on their
    largest singular vectors where they have more columns, with their averages over one and over
    two steps. Dense, for trees.
    """
    degrees = graph.degrees.astype(np.float64)
    mean = sp.csr_array(sp.diags_array(_inverse(degrees)) @ graph.adjacency)
    own = [np.log1p(degrees)[:, None], *_coordinates(graph)]
    basis = _singular(features)[2] if features.shape[1] > MOST_PLACES else None

    def make(features: Features) -> Features:
        columns = features.toarray() if basis is None and sp.issparse(features) else features
        if basis is not None:
            columns = columns @ basis
        once = mean @ columns
        return np.hstack([columns, once, mean @ once, *own]).astype(np.float32)

    return make


def _coordinates(graph: Graph) -> list[Array]:
    links = graph.out_links().astype(np.float64)
    out, into = (sp.diags_array(np.sqrt(_inverse(links.sum(axis=side)))) for side in (1, 0))
    left, values, right = _singular(sp.csr_array(out @ links @ into))
    return [left * values, right * values] if graph.directed else [left * values]


def _singular(matrix: Features) -> tuple[Array, Array, Array]:
    """Return the largest singular vectors of the rows, their values, and those of the columns.

    As many as ``MOST_PLACES``, or all but one; each has its largest entry positive.
    """
    n_found = min(MOST_PLACES, min(matrix.shape) - 1)
    if n_found < 1 or not abs(matrix).max():
        return np.zeros((matrix.shape[0], 1)), np.zeros(1), np.zeros((matrix.shape[1], 1))
    start = np.random.default_rng(0).normal(size=min(matrix.shape))
    left, values, right = svds(matrix.astype(np.float64), k=n_found, v0=start)
    order = np.argsort(-values)
    left, right = left[:, order], right[order].T
    sign = np.where(left[np.abs(left).argmax(axis=0), np.arange(n_found)] < 0, -1.0, 1.0)
    return left * sign, values[order], right * sign


def _inverse(sums: Array) -> Array:
    """Return 1 / s, and 1 for none."""
    return 1 / np.where(sums == 0, 1.0, sums)
