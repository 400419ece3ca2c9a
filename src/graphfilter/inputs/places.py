"""Places: coordinates of vertices in which those with like neighbours are near."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.errors import GraphError
from graphfilter.graph import Graph
from graphfilter.inputs.known import Known, averaging
from graphfilter.inputs.links import halves
from graphfilter.inputs.singular import (
    BLOCK_ROWS,
    MOST_PLACES,
    MOST_ROWS,
    basis_of,
    near_singular,
    singular,
)
from graphfilter.runtime import blocks
from graphfilter.tables import Features

Array = NDArray[np.float64]


def find_positions(
    graph: Graph, features: Features, exact_up_to: int = MOST_ROWS
) -> dict[str, NDArray[np.float32]]:
    """Return the axes of positions, and a basis of the features where they have many columns.

    With the normalised adjacency N = U Σ Vᵀ, the position of a vertex is its row of N V, of the
    largest singular values, and where edges have directions also of Nᵀ U; the basis are the
    singular vectors of the features. They are found once and kept: of equal singular values, one
    per component of a graph, any rotation will do, and which one comes out depends on rounding. Of
    more than ``exact_up_to`` vertices they are near ones.
    """
    links = graph.out_links()
    out, into = (np.sqrt(_inverse(_sums(links, side)))[:, None] for side in (1, 0))
    if graph.n_vertices > exact_up_to:
        left, right = near_singular(links, symmetric=not graph.directed)
    else:
        weights = links.astype(np.float64)
        scales = sp.diags_array(out[:, 0]), sp.diags_array(into[:, 0])
        left, _, right = singular(sp.csr_array(scales[0] @ weights @ scales[1]))
    axes = [into * right, out * left] if graph.directed else [into * right]
    many = features.shape[1] > MOST_PLACES
    basis = basis_of(features, MOST_PLACES) if many else np.zeros((0, 0), dtype=np.float32)
    return {"axes": np.hstack(axes).astype(np.float32), "basis": basis}


def fix_positions(
    graph: Graph,
    found: Mapping[str, NDArray[np.float32]],
    known: Known | None = None,
    at_once: int = BLOCK_ROWS,
) -> Callable[[Features], Features]:
    """Return what makes columns from features: on the basis, with their averages, and positions.

    Averages are over neighbours and over theirs; of another graph than the fitted one see
    :meth:`Known.averaging`. Dense, for trees.
    """
    basis = found["basis"]
    places = _places(graph, found["axes"], known, at_once)
    adjacency, degrees = averaging(graph, known)
    mean = sp.csr_array(sp.diags_array(_inverse(degrees)) @ adjacency)

    def make(features: Features) -> Features:
        columns = features.toarray() if not basis.size and sp.issparse(features) else features
        if basis.size:
            columns = columns @ basis
        once = mean @ columns
        width = once.shape[1]
        made = np.empty((len(places), 3 * width + places.shape[1]), dtype=np.float32)
        for rows in blocks(len(places), at_once):
            parts = columns[rows], once[rows], mean[rows] @ once, places[rows]
            np.concatenate(parts, axis=1, out=made[rows], casting="same_kind")
        return made

    return make


def _places(
    graph: Graph, axes: NDArray[np.float32], known: Known | None, at_once: int
) -> NDArray[np.float32]:
    r"""Return log degrees, and places on the axes, of the vertices of any graph.

    A vertex with links :math:`a` to known vertices has the place :math:`a V D^{-1/2} / \sqrt{|a|}`
    (the out-of-sample extension), which is its row of N V in the fitted graph. Of a graph that has
    lost a part of the fitted one, sums over neighbours are as much smaller as the part is large.
    """
    n_fitted = graph.n_vertices if known is None else known.n_fitted
    if len(axes) != n_fitted:
        raise GraphError(f"axes must be of {n_fitted:,} vertices; got {len(axes):,}.")
    links = halves(graph, known)
    share = 1.0 if known is None else known.share_present
    degrees = graph.degrees if known is None else known.degrees(graph) / share
    found = [np.log1p(degrees)[:, None].astype(np.float32)]
    for half, own in zip(links, np.split(axes, len(links), axis=1), strict=True):
        scale = np.sqrt(_inverse(_sums(half, 1) * share))[:, None]
        double = own.astype(np.float64)
        every = blocks(graph.n_vertices, at_once)
        parts = [(scale[rows] * (half[rows] @ double)).astype(np.float32) for rows in every]
        found.append(np.vstack(parts))
    return np.hstack(found)


def _sums(links: sp.csr_array, side: int) -> Array:
    """Return the sums of rows (1) or columns (0) in double precision."""
    return links.astype(np.float64).sum(axis=side)


def _inverse(sums: Array) -> Array:
    """Return 1 / s, and 1 for none."""
    return 1 / np.where(sums == 0, 1.0, sums)
