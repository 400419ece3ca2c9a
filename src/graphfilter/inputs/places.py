"""Places: coordinates of vertices in which those with like neighbours are near."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

from graphfilter.errors import GraphError
from graphfilter.graph import Graph
from graphfilter.inputs.known import Known, averaging
from graphfilter.inputs.links import halves
from graphfilter.tables import Features

Array = NDArray[np.float64]

# Coordinates of a vertex's place, and columns that features are compressed to.
MOST_PLACES = 32


def find_positions(graph: Graph, features: Features) -> dict[str, NDArray[np.float32]]:
    """Return the axes of positions, and a basis of the features where they have many columns.

    With the normalised adjacency N = U Σ Vᵀ, the position of a vertex is its row of N V, of the
    largest singular values, and where edges have directions also of Nᵀ U; the basis are the
    singular vectors of the features. They are found once and kept: of equal singular values, one
    per component of a graph, any rotation will do, and which one comes out depends on rounding.
    """
    links = graph.out_links().astype(np.float64)
    out, into = (np.sqrt(_inverse(links.sum(axis=side))) for side in (1, 0))
    left, _, right = singular(sp.csr_array(sp.diags_array(out) @ links @ sp.diags_array(into)))
    axes = (
        [into[:, None] * right, out[:, None] * left] if graph.directed else [into[:, None] * right]
    )
    many = features.shape[1] > MOST_PLACES
    basis = singular(features)[2] if many else np.zeros((0, 0))
    return {"axes": np.hstack(axes).astype(np.float32), "basis": basis.astype(np.float32)}


def fix_positions(
    graph: Graph, found: Mapping[str, NDArray[np.float32]], known: Known | None = None
) -> Callable[[Features], Features]:
    """Return what makes columns from features: on the basis, with their averages, and positions.

    Averages are over neighbours and over theirs; of another graph than the fitted one see
    :meth:`Known.averaging`. Dense, for trees.
    """
    basis = found["basis"]
    # Models of earlier versions keep the places themselves, and know no other graph.
    places = found["places"] if "places" in found else _places(graph, found["axes"], known)
    if len(places) != graph.n_vertices:
        raise GraphError(
            f"positions must have one row per vertex ({graph.n_vertices:,}); got {len(places):,}."
        )
    adjacency, degrees = averaging(graph, known)
    mean = sp.csr_array(sp.diags_array(_inverse(degrees)) @ adjacency)

    def make(features: Features) -> Features:
        columns = features.toarray() if not basis.size and sp.issparse(features) else features
        if basis.size:
            columns = columns @ basis
        once = mean @ columns
        return np.hstack([columns, once, mean @ once, places]).astype(np.float32)

    return make


def _places(graph: Graph, axes: NDArray[np.float32], known: Known | None) -> NDArray[np.float32]:
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
    found = [np.log1p(degrees)[:, None]]
    for half, own in zip(links, np.split(axes, len(links), axis=1), strict=True):
        weights = half.astype(np.float64)
        scale = np.sqrt(_inverse(weights.sum(axis=1) * share))
        found.append(scale[:, None] * (weights @ own.astype(np.float64)))
    return np.hstack(found).astype(np.float32)


def singular(matrix: Features, most: int = MOST_PLACES) -> tuple[Array, Array, Array]:
    """Return the largest singular vectors of the rows, their values, and those of the columns.

    As many as ``most``, or all but one; each has its largest entry positive.
    """
    n_found = min(most, min(matrix.shape) - 1)
    if n_found < 1 or not abs(matrix).max():
        return np.zeros((matrix.shape[0], 1)), np.zeros(1), np.zeros((matrix.shape[1], 1))
    rows = matrix.astype(np.float64)
    rows = rows if rows.shape[0] >= rows.shape[1] else rows.T
    rng = np.random.default_rng(0)
    # From scipy 1.16 on ARPACK draws where singular values are equal, and svds has no seed for it.
    drawn = {"rng": rng} if "rng" in signature(eigsh).parameters else {}
    gram = LinearOperator((rows.shape[1],) * 2, lambda x: rows.T @ (rows @ x), dtype=np.float64)
    _, basis = eigsh(gram, k=n_found, v0=rng.normal(size=rows.shape[1]), **drawn)
    basis = np.linalg.qr(basis)[0]
    left, values, right = np.linalg.svd(rows @ basis, full_matrices=False)
    right = basis @ right.T
    if matrix.shape[0] < matrix.shape[1]:
        left, right = right, left
    sign = np.where(left[np.abs(left).argmax(axis=0), np.arange(n_found)] < 0, -1.0, 1.0)
    return left * sign, values, right * sign


def _inverse(sums: Array) -> Array:
    """Return 1 / s, and 1 for none."""
    return 1 / np.where(sums == 0, 1.0, sums)
