"""Places: coordinates of vertices in which those with like neighbours are near."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

from graphfilter.errors import GraphError
from graphfilter.graph import Graph
from graphfilter.tables import Features

Array = NDArray[np.float64]

# Coordinates of a vertex's place, and columns that features are compressed to.
MOST_PLACES = 32


def find_places(graph: Graph, features: Features) -> dict[str, NDArray[np.float32]]:
    """Return the place of every vertex, and a basis of the features where they have many columns.

    The places are the largest singular vectors of the normalised adjacency, from both sides where
    edges have directions, and log degrees; the basis are those of the features. They are found
    once and kept: of equal singular values, one per component of a graph, any rotation will do,
    and which one comes out depends on rounding.
    """
    places = [np.log1p(graph.degrees.astype(np.float64))[:, None], *_coordinates(graph)]
    many = features.shape[1] > MOST_PLACES
    basis = _singular(features)[2] if many else np.zeros((0, 0))
    return {"places": np.hstack(places).astype(np.float32), "basis": basis.astype(np.float32)}


def fix_places(
    graph: Graph, found: Mapping[str, NDArray[np.float32]]
) -> Callable[[Features], Features]:
    """Return what makes columns from features: on the basis, with their averages, and the places.

    Averages are over neighbours and over theirs. Dense, for trees.
    """
    places, basis = found["places"], found["basis"]
    if len(places) != graph.n_vertices:
        raise GraphError(
            f"places must be of the graph's {graph.n_vertices:,} vertices; got {len(places):,}."
        )
    degrees = graph.degrees.astype(np.float64)
    mean = sp.csr_array(sp.diags_array(_inverse(degrees)) @ graph.adjacency)

    def make(features: Features) -> Features:
        columns = features.toarray() if not basis.size and sp.issparse(features) else features
        if basis.size:
            columns = columns @ basis
        once = mean @ columns
        return np.hstack([columns, once, mean @ once, places]).astype(np.float32)

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
