"""Views: what a network sees of each vertex, as columns computed once from graph and features.

Its own features; also those of its neighbours, hop by hop; also who its neighbours are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from graphfilter.errors import check_name
from graphfilter.graph.graph import Features, Graph

# Beyond these, the columns of a view are stored dense.
_SPARSE_BELOW = 0.3


@dataclass(frozen=True)
class View:
    """How to make the columns, and whether they mean anything on another graph.

    Attributes
    ----------
    make : callable
        From a graph and its scaled features to the columns, one row per vertex.
    keeps_graph : bool
        Whether columns stand for vertices of the graph.
    """

    make: Callable[[Graph, Features], Features]
    keeps_graph: bool = False


def see(graph: Graph, features: Features, view: str) -> Features:
    """Return the columns of a view; ``features`` are those of the graph, scaled."""
    return VIEWS[check_name("view", view, VIEWS)].make(graph, features)


def unit_rows(matrix: Features) -> Features:
    """Divide each row by its Euclidean length; rows of zeros stay."""
    if sp.issparse(matrix):
        squares = matrix.multiply(matrix).sum(axis=1)
        lengths = np.sqrt(np.asarray(squares, dtype=np.float64)).ravel()
        scale = sp.diags_array(1 / np.where(lengths == 0, 1, lengths))
        return sp.csr_array((scale @ matrix).astype(np.float32))
    lengths = np.sqrt(np.square(matrix, dtype=np.float64).sum(axis=1))
    return (matrix / np.where(lengths == 0, 1, lengths)[:, None]).astype(np.float32)


def links(graph: Graph) -> sp.csr_array:
    """Return who is connected to whom: one column per vertex, rows of unit length."""
    return unit_rows(graph.adjacency)


def hops(graph: Graph, features: Features, n_hops: int) -> list[Features]:
    """Return X, P X, …, Pᵏ X with rows of unit length; P is the normalised adjacency."""
    degrees = np.asarray(graph.degrees, dtype=np.float64)
    scale = sp.diags_array(np.where(degrees > 0, degrees, np.inf) ** -0.5)
    p = sp.csr_array(scale @ graph.adjacency @ scale).astype(np.float32)
    columns = features
    found = [unit_rows(columns)]
    for _ in range(n_hops):
        columns = p @ columns
        if sp.issparse(columns) and columns.nnz > _SPARSE_BELOW * np.prod(columns.shape):
            columns = columns.toarray()
        found.append(unit_rows(columns))
    return found


def beside(*parts: Features) -> Features:
    """Put columns next to each other, dense where most of them are."""
    if any(sp.issparse(part) for part in parts):
        cells = sum(part.shape[0] * part.shape[1] for part in parts)
        stored = sum(part.nnz if sp.issparse(part) else part.size for part in parts)
        if stored <= _SPARSE_BELOW * cells:
            return sp.hstack([sp.csr_array(part) for part in parts], format="csr")
        parts = tuple(part.toarray() if sp.issparse(part) else part for part in parts)
    return np.hstack(parts)


VIEWS: dict[str, View] = {
    "features": View(lambda _graph, x: x),
    "unit": View(lambda _graph, x: unit_rows(x)),
    "hops": View(lambda graph, x: beside(*hops(graph, x, 3))),
    "links": View(lambda graph, _x: links(graph), keeps_graph=True),
    "features+links": View(lambda graph, x: beside(x, links(graph)), keeps_graph=True),
    "unit+links": View(lambda graph, x: beside(unit_rows(x), links(graph)), keeps_graph=True),
    "hops+links": View(
        lambda graph, x: beside(*hops(graph, x, 3), links(graph)), keeps_graph=True
    ),
    "links2": View(
        lambda graph, x: beside(*hops(graph, graph.adjacency.astype(np.float32), 1)), keeps_graph=True
    ),
    "features+links2": View(
        lambda graph, x: beside(
            unit_rows(x), *hops(graph, graph.adjacency.astype(np.float32), 1)
        ),
        keeps_graph=True,
    ),
}
