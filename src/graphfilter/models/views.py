"""Views: what a network sees of each vertex, as columns computed once from graph and features.

Its own features; the averages of its neighbours' features; who its neighbours are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.edges import index_type
from graphfilter.data.graph import Graph
from graphfilter.models import places
from graphfilter.models.correction import columns_missed
from graphfilter.models.relations import columns_around, columns_beside, find_around, find_beside
from graphfilter.models.scaling import or_one, unit_rows
from graphfilter.tables.columns import Features, with_gaps
from graphfilter.util.errors import check_name

# Above this share of stored entries columns are stored dense.
DENSE_ABOVE = 0.3
# Columns of the averages: as many hops as fit, at most three.
MOST_AVERAGED = 768
MOST_HOPS = 3
# Columns that trees get of more features than ``MOST_AVERAGED``.
COMPRESSED = 64

Found = Mapping[str, NDArray[np.float32]]
# The view of the averages, which a store may keep.
AVERAGES = "averages"
# The same of features that are compressed where they are too many.
COMPRESSED_AVERAGES = "compressed averages"
# What is around a vertex, known labels among it.
AROUND = "around"
# Neighbours' columns beside a vertex's own, and known labels.
BESIDE = "beside"
# What a committee is known to miss around a vertex.
MISSED = "missed"


@dataclass(frozen=True)
class View:
    """How to make the columns, and whether they mean anything on another graph.

    Attributes
    ----------
    make : callable
        From a graph, any features of it, what was found, and which vertices are known where it is
        not the fitted graph, to the columns, one row per vertex.
    find : callable
        From a graph and its scaled features to what is found once, and kept with a model.
    keeps_graph : bool
        Whether columns stand for vertices of the graph.
    recognises : bool
        Whether columns of a graph depend on which of its vertices the fitted one had. Those that
        stand for vertices cannot be made otherwise.
    """

    make: Callable[[Graph, Features, Found, places.Known | None], Features]
    find: Callable[[Graph, Features], Found] = lambda graph, features: {}
    keeps_graph: bool = False
    recognises: bool = False


def find_view(graph: Graph, features: Features, view: str) -> Found:
    """Return what a view finds once, and keeps; most find nothing."""
    return VIEWS[check_name("view", view, VIEWS)].find(graph, features)


def view_columns(
    graph: Graph, features: Features, view: str, found: Found, known: places.Known | None = None
) -> Features:
    """Return the columns of a view from any features of a graph.

    ``known`` says which vertices are those of the fitted graph, where this is another one.

    Examples
    --------
    >>> import numpy as np
    >>> import graphfilter as gf
    >>> from graphfilter.models.views import view_columns
    >>> g = gf.Graph.from_edges([[0, 1]], features=np.eye(2))
    >>> view_columns(g, np.array([[3.0, 4.0], [0.0, 1.0]]), "unit", {}).round(1).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 1.0]]
    """
    return VIEWS[check_name("view", view, VIEWS)].make(graph, features, found, known)


def averages(
    graph: Graph,
    features: Features,
    found: Found | None = None,
    known: places.Known | None = None,
    most_columns: int = MOST_AVERAGED,
) -> Features:
    """Return the features, their averages over neighbours, over theirs, …, and log degrees.

    As many steps as keep the columns below ``most_columns``, at most three. Dense, for trees,
    which know gaps: a vertex's own missing values are NaN. Features are on the basis that was
    ``found`` for them (:func:`find_basis`), if one was. Of a graph that is partly ``known`` see
    :meth:`Known.averaging`.
    """
    basis = None if not found else found["basis"]
    columns = features if basis is None else features @ basis
    columns = columns.toarray() if sp.issparse(columns) else np.asarray(columns)
    most_hops = min(MOST_HOPS, most_columns // max(columns.shape[1], 1) - 1)
    n_hops = most_hops if graph.n_edges else 0
    names = graph.feature_names if basis is None else None
    own = columns if names is None else with_gaps(columns, names)
    degrees = graph.degrees
    if known is not None:
        degrees = known.averaging(graph)[1] / known.share_present
    parts = [own, np.log1p(degrees)[:, None].astype(np.float32)]
    parts += average_hops(graph, columns, max(n_hops, 0), known)
    return np.hstack(parts).astype(np.float32)


def find_basis(
    graph: Graph, features: Features, n_found: int = COMPRESSED, most_columns: int = MOST_AVERAGED
) -> Found:
    """Return the largest singular vectors of features, where they are too many for trees."""
    return {"basis": places.basis_of(features, n_found)} if features.shape[1] > most_columns else {}


def average_hops(
    graph: Graph, columns: NDArray[Any], n_hops: int, known: places.Known | None = None
) -> list[NDArray[Any]]:
    """Return the averages of columns over neighbours, over neighbours of those, and so on."""
    adjacency, degrees = places.averaging(graph, known)
    mean = sp.csr_array(sp.diags_array(1 / or_one(degrees)) @ adjacency).astype(np.float32)
    found: list[NDArray[Any]] = []
    for _ in range(n_hops):
        columns = mean @ columns
        found.append(columns)
    return found


def beside(*parts: Features) -> Features:
    """Put columns next to each other; dense where most of them are."""
    sizes = [part.nnz if sp.issparse(part) else part.size for part in parts]
    cells = sum(part.shape[0] * part.shape[1] for part in parts)
    if sum(sizes) <= DENSE_ABOVE * cells:
        return sp.csr_array(sp.hstack([_as_sparse(p) for p in parts], dtype=np.float32))
    return np.hstack([p.toarray() if sp.issparse(p) else p for p in parts]).astype(np.float32)


def _as_sparse(part: Features) -> sp.csr_array:
    """Return columns as a sparse matrix; dense ones in a tenth of the time that scipy takes."""
    if sp.issparse(part):
        return sp.csr_array(part)
    n, width = part.shape
    index, stored = index_type(part.size), part != 0
    columns = np.tile(np.arange(width, dtype=index), n)[stored.ravel()]
    offsets = np.concatenate([[0], np.cumsum(np.count_nonzero(stored, axis=1))]).astype(index)
    return sp.csr_array((part[stored], columns, offsets), shape=part.shape)


def _links(graph: Graph, known: places.Known | None) -> sp.csr_array:
    return sp.csr_array(sp.hstack(places.halves(graph, known)), dtype=np.float32)


VIEWS: dict[str, View] = {
    "features": View(lambda graph, features, *_: features),
    "unit": View(lambda graph, features, *_: unit_rows(features)),
    AVERAGES: View(averages, recognises=True),
    COMPRESSED_AVERAGES: View(averages, find_basis, recognises=True),
    AROUND: View(columns_around, find_around, recognises=True),
    BESIDE: View(columns_beside, find_beside, recognises=True),
    MISSED: View(columns_missed, recognises=True),
    "neighbours": View(
        lambda graph, features, found, known: places.link_features(graph, known),
        keeps_graph=True,
        recognises=True,
    ),
    "places": View(
        places.columns_of_places, places.find_positions, keeps_graph=True, recognises=True
    ),
    "unit+links": View(
        lambda graph, x, _, known: beside(unit_rows(x), places.link_features(graph, known)),
        keeps_graph=True,
        recognises=True,
    ),
    "features+links": View(
        lambda graph, x, _, known: beside(x, _links(graph, known)),
        keeps_graph=True,
        recognises=True,
    ),
}
