"""Views: what a network sees of each vertex, as columns computed once from graph and features.

Its own features; the averages of its neighbours' features; who its neighbours are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

from graphfilter.errors import check_name
from graphfilter.graph.graph import Features, Graph
from graphfilter.graph.links import link_features

# Of stored entries: above this share columns are stored dense.
DENSE_ABOVE = 0.3
# Columns of the averages: as many hops as fit, at most three.
MOST_AVERAGED = 768
MOST_HOPS = 3
# Coordinates of a vertex's place, and columns that features are compressed to.
MOST_PLACES = 32
# Of links in two steps: of the sums to be made, and of the entries that are left.
MOST_SUMS = 2 * 10**8
MOST_LINKS = 10**7


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
        rows = sp.csr_array(matrix)
        lengths = _or_one(np.sqrt(rows.astype(np.float64).power(2).sum(axis=1)))
        data = rows.data / np.repeat(lengths, np.diff(rows.indptr))
        return sp.csr_array((data.astype(np.float32), rows.indices, rows.indptr), rows.shape)
    lengths = _or_one(np.sqrt(np.square(matrix, dtype=np.float64).sum(axis=1)))
    return (matrix / lengths[:, None]).astype(np.float32)


def two_steps_of_links(graph: Graph) -> Features:
    """Return whom a vertex is connected to, and to whom those are, each of unit length.

    The second step is left out where it would fill too much of the table.
    """
    first = link_features(graph)
    if np.square(np.diff(graph.indptr), dtype=np.float64).sum() > MOST_SUMS:
        return first
    degrees = _or_one(np.sqrt(graph.degrees.astype(np.float64)))
    scale = sp.diags_array(1 / degrees)
    second = sp.csr_array(scale @ graph.adjacency @ scale) @ first
    if second.nnz > MOST_LINKS:
        return first
    return beside(first, unit_rows(second))


def averages(graph: Graph, features: Features) -> Features:
    """Return the features, their averages over neighbours, over theirs, …, and log degrees.

    As many steps as keep the columns below ``MOST_AVERAGED``, at most three. Dense, for trees.
    """
    columns = features.toarray() if sp.issparse(features) else np.asarray(features)
    degrees = graph.degrees.astype(np.float64)
    mean = sp.csr_array(sp.diags_array(1 / _or_one(degrees)) @ graph.adjacency).astype(np.float32)
    n_hops = min(MOST_HOPS, MOST_AVERAGED // max(columns.shape[1], 1) - 1) if graph.n_edges else 0
    found = [columns, np.log1p(degrees)[:, None].astype(np.float32)]
    for _ in range(n_hops):
        columns = mean @ columns
        found.append(columns)
    return np.hstack(found).astype(np.float32)


def places(graph: Graph, features: Features) -> Features:
    """Return where a vertex is: coordinates in which those with like neighbours are near.

    They are the largest singular vectors of the normalised adjacency, from both sides where edges
    have directions; beside them log degrees and the features, compressed in the same way where
    they have more columns, with their averages over one and over two steps. Dense, for trees.
    """
    degrees = graph.degrees.astype(np.float64)
    if features.shape[1] > MOST_PLACES:
        columns = _singular(features)[0]
    else:
        columns = features.toarray() if sp.issparse(features) else np.asarray(features)
    mean = sp.csr_array(sp.diags_array(1 / _or_one(degrees)) @ graph.adjacency)
    once = mean @ columns
    found = [columns, once, mean @ once, np.log1p(degrees)[:, None], *_coordinates(graph)]
    return np.hstack(found).astype(np.float32)


def _coordinates(graph: Graph) -> list[NDArray[np.float64]]:
    links = graph.out_links().astype(np.float64)
    out, into = (sp.diags_array(1 / np.sqrt(_or_one(links.sum(axis=side)))) for side in (1, 0))
    left, right = _singular(sp.csr_array(out @ links @ into))
    return [left, right] if graph.directed else [left]


def _singular(matrix: Features) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest singular vectors of both sides, each times its value.

    As many as ``MOST_PLACES``, or all but one; each has its largest entry positive.
    """
    n_found = min(MOST_PLACES, min(matrix.shape) - 1)
    if n_found < 1 or not abs(matrix).max():
        return np.zeros((matrix.shape[0], 1)), np.zeros((matrix.shape[1], 1))
    start = np.random.default_rng(0).normal(size=min(matrix.shape))
    left, values, right = svds(matrix.astype(np.float64), k=n_found, v0=start)
    order = np.argsort(-values)
    left, values, right = left[:, order], values[order], right[order].T
    largest = np.abs(left).argmax(axis=0)
    scale = values * np.where(left[largest, np.arange(n_found)] < 0, -1.0, 1.0)
    return left * scale, right * scale


def beside(*parts: Features) -> Features:
    """Put columns next to each other; dense where most of them are."""
    sizes = [part.nnz if sp.issparse(part) else part.size for part in parts]
    cells = sum(part.shape[0] * part.shape[1] for part in parts)
    if sum(sizes) <= DENSE_ABOVE * cells:
        return sp.csr_array(sp.hstack([sp.csr_array(p) for p in parts], dtype=np.float32))
    return np.hstack([p.toarray() if sp.issparse(p) else p for p in parts]).astype(np.float32)


def _or_one(lengths: np.ndarray) -> np.ndarray:
    return np.where(lengths == 0, 1.0, lengths)


def _unit_and_links(graph: Graph, features: Features) -> Features:
    return beside(unit_rows(features), link_features(graph))


VIEWS: dict[str, View] = {
    "features": View(lambda _, features: features),
    "unit": View(lambda _, features: unit_rows(features)),
    "averages": View(averages),
    "neighbours": View(lambda graph, _: link_features(graph), keeps_graph=True),
    "places": View(places, keeps_graph=True),
    "links": View(lambda graph, _: two_steps_of_links(graph), keeps_graph=True),
    "unit+links": View(_unit_and_links, keeps_graph=True),
}
