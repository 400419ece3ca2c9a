"""Who the neighbours of a vertex are, and its place among them, as columns.

Known: which vertices of a graph are those of the graph that a model was fitted on. Singular vectors
of features and of normalised links: exact, or near for large graphs. Places: coordinates of
vertices in which those with like neighbours are near.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from graphfilter.data.graph import Graph
from graphfilter.models.scaling import or_one, unit_rows
from graphfilter.tables.columns import Features
from graphfilter.util.errors import GraphError
from graphfilter.util.machine import blocks

# A new vertex is never trusted as one that was there: what members say of it is weighed at most as
# at this share of known neighbours.
MOST_OF_NEW = 0.9


@dataclass(frozen=True, eq=False)
class Known:
    """The vertices of a graph by their numbers in the fitted one.

    Where columns of a model stand for vertices, those of this graph's links that lead to known
    vertices have a column; the others have none.

    Attributes
    ----------
    numbers : int array (n,)
        The number that each vertex had in the fitted graph; -1 of a new one.
    n_fitted : int
        Vertices of the fitted graph.
    in_larger : float, optional
        Where this graph is a part of a larger one: the share of the fitted graph's vertices there.
    parts : int array (n,), optional
        Where this graph holds several parts of a larger one: which of them each vertex is of. One
        with the number -1 then is a neighbour as any other, of which nothing else is known.

    Examples
    --------
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([[0, 1], [1, 2]])
    >>> known = Known(np.array([1, 0, -1]), 2)
    >>> known.columns(path.out_links()).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    >>> known.shares(path).tolist()
    [1.0, 1.0, 0.9]
    """

    numbers: NDArray[np.int64]
    n_fitted: int
    in_larger: float | None = None
    parts: NDArray[np.int64] | None = None

    @cached_property
    def is_known(self) -> NDArray[np.bool_]:
        """Whether each vertex was there (n,)."""
        return self.numbers >= (0 if self.parts is None else -1)

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Whether each vertex of the fitted graph is in this one (n_fitted,)."""
        found = np.zeros(self.n_fitted, dtype=bool)
        found[self.numbers[self.is_known]] = True
        return found

    @property
    def share_present(self) -> float:
        """The share of the fitted graph's vertices that are in this one."""
        return float(self.present.mean()) if self.in_larger is None else self.in_larger

    def columns(self, links: sp.csr_array) -> sp.csr_array:
        """Return links (n, n) by the fitted graph's columns (n, n_fitted); the others are lost."""
        numbers = self.numbers[links.indices]
        kept = numbers >= 0
        indptr = np.concatenate([[0], np.cumsum(kept)])[links.indptr]
        shape = (links.shape[0], self.n_fitted)
        found = sp.csr_array((links.data[kept], numbers[kept], indptr), shape=shape)
        found.sort_indices()
        return found

    def degrees(self, graph: Graph) -> NDArray[np.float64]:
        """Return the degree of each vertex among those that are known (n,)."""
        if self.is_known.all():
            return graph.degrees
        return graph.adjacency @ self.is_known.astype(np.float64)

    def averaging(self, graph: Graph) -> tuple[sp.csr_array, NDArray[np.float64]]:
        """Return the adjacency that averages are taken over, and its degrees.

        Of the neighbours that are known, so that a known vertex has the averages it was fitted
        with; of all for a new one that has no such neighbour.
        """
        if self.is_known.all():
            return graph.adjacency, graph.degrees
        degrees = self.degrees(graph)
        alone = ~self.is_known & (degrees == 0)
        adjacency = graph.adjacency
        rows = np.repeat(np.arange(graph.n_vertices), np.diff(adjacency.indptr))
        adjacency.data *= self.is_known[adjacency.indices] | alone[rows]
        return adjacency, np.where(alone, graph.degrees, degrees)

    def shares(self, graph: Graph) -> NDArray[np.float64]:
        """Return how far what members know of vertices is to be trusted for each of them (n,).

        1 for a known vertex: all its links of the fit are there. The share of links to known
        vertices for a new one, at most ``MOST_OF_NEW``; 0 for any without such a link.
        """
        to_known, degrees = self.degrees(graph), graph.degrees
        share = np.minimum(to_known / np.where(degrees > 0, degrees, 1.0), MOST_OF_NEW)
        return np.where(self.is_known & (to_known > 0), 1.0, share)


def averaging(graph: Graph, known: Known | None = None) -> tuple[sp.csr_array, NDArray[np.float64]]:
    """Return :meth:`Known.averaging`; of the fitted graph, its adjacency and degrees."""
    return (graph.adjacency, graph.degrees) if known is None else known.averaging(graph)


def link_features(graph: Graph, known: Known | None = None) -> sp.csr_array:
    r"""Return the neighbourhood of every vertex as features: [A, Aᵀ] (n, 2n) in float32.

    The first n columns say whom a vertex links to, the others who links to it; each half of a row
    has Euclidean length 1, or 0 where there is no such link. A graph without directions has the
    neighbours once, (n, n). Of another graph than the fitted one, the columns are the vertices of
    the fitted one, and a half has length 1 over those that are ``known``.
    """
    return sp.csr_array(sp.hstack([unit_rows(half) for half in halves(graph, known)]))


def halves(graph: Graph, known: Known | None = None) -> list[sp.csr_array]:
    """Return whom vertices link to and, where edges have directions, who links to them."""
    found = [graph.out_links(), graph.in_links()] if graph.directed else [graph.out_links()]
    return found if known is None else [known.columns(half) for half in found]


Array = NDArray[np.float64]
Columns = NDArray[np.float32]

# Coordinates of a vertex's place, and columns that features are compressed to.
MOST_PLACES = 32
# Rows up to which singular vectors are exact. Of more features, as many rows are drawn.
MOST_ROWS = 20_000
# Near ones: vectors beside those that are asked for, rounds, and degree of the filter of each.
EXTRA, ROUNDS, DEGREE = 8, 3, 4
# Rows, or columns of all rows, that are computed at a time.
BLOCK_ROWS, BLOCK_COLUMNS = 1 << 16, 8
# Below this singular value, of at most 1, vectors are left out.
LEAST_VALUE = 0.01


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


def basis_of(features: Features, most: int, most_rows: int = MOST_ROWS) -> Columns:
    """Return the largest singular vectors of the columns, of rows drawn with a fixed seed."""
    n = features.shape[0]
    if n > most_rows:
        features = features[np.sort(np.random.default_rng(0).permutation(n)[:most_rows])]
    return singular(features, most)[2].astype(np.float32)


def near_singular(links: sp.csr_array, *, symmetric: bool) -> tuple[Columns, Columns]:
    r"""Return near singular vectors of the rows and columns of :math:`N = D_o^{-1/2} A D_i^{-1/2}`.

    Every component of the graph has a singular value of 1, whose vectors are roots of degrees:
    they say only who is in which component, and are left out. The others are found by subspace
    iteration from random columns, each round filtered by the Chebyshev polynomial of NᵀN that is
    small below the last value of the round before.

    Parameters
    ----------
    links : csr array (n, n)
        A.
    symmetric : bool
        Whether A is; its transpose takes memory otherwise.

    Returns
    -------
    left, right : float32 array (n, ``MOST_PLACES``)
        In order of their values; zero where values are.
    """
    sums = [np.asarray(links.sum(axis=side), dtype=np.float64) for side in (1, 0)]
    out, into = (np.sqrt(1 / or_one(s)).astype(np.float32) for s in sums)
    n = sp.csr_array(sp.diags_array(out) @ links.astype(np.float32) @ sp.diags_array(into))
    transposed = n if symmetric else sp.csr_array(n.T)
    trivial, squares = _trivial(links, sums[1]), np.zeros(1)
    x = np.random.default_rng(0).standard_normal(
        (n.shape[1], MOST_PLACES + EXTRA), dtype=np.float32
    )
    for step in range(ROUNDS + 1):
        for part in blocks(x.shape[1] if step else 0, BLOCK_COLUMNS):
            x[:, part] = _filtered(n, transposed, x[:, part], max(squares[-1], LEAST_VALUE**2))
        _make_orthonormal(x, trivial)
        squares, turn = np.linalg.eigh(_gram(n @ x))
        squares, turn = np.maximum(squares[::-1], 0), turn[:, ::-1]
        _rotate(x, turn)
    values = np.sqrt(squares[:MOST_PLACES])
    right = x[:, :MOST_PLACES] * (values >= LEAST_VALUE)
    right *= np.where(right[np.abs(right).argmax(axis=0), np.arange(right.shape[1])] < 0, -1, 1)
    left = right if symmetric else (n @ right) / np.maximum(values, LEAST_VALUE)
    return left.astype(np.float32, copy=False), right.astype(np.float32, copy=False)


def _make_orthonormal(x: Columns, trivial: sp.csr_array) -> None:
    """Make columns orthogonal to trivial ones and to each other; zero those that cannot be."""
    for _ in range(2):  # The second time for what rounding left.
        size = np.square(x).sum(axis=0).max()
        x -= trivial @ (trivial.T @ x)
        squares, turn = np.linalg.eigh(_gram(x))
        kept = squares > 1e-8 * size
        _rotate(x, turn * np.where(kept, 1 / np.sqrt(np.where(kept, squares, 1)), 0))


def _filtered(n: sp.csr_array, transposed: sp.csr_array, x: Columns, cut: float) -> Columns:
    """Return T(2 NᵀN / cut - 1) x, with columns of unit length."""
    before, last = x, x * np.float32(-1)
    last += np.float32(2 / cut) * (transposed @ (n @ x))
    for _ in range(DEGREE - 1):
        following = np.float32(4 / cut) * (transposed @ (n @ last))
        following -= 2 * last
        following -= before
        before, last = last, following
    return last / np.maximum(np.linalg.norm(last, axis=0), np.float32(1e-30))


def _trivial(links: sp.csr_array, into: Array) -> sp.csr_array:
    """Return the singular vectors of the columns with value 1, one per component (n, k).

    Components of the graph with each vertex twice, as one that links and one that is linked to.
    """
    n = links.shape[0]
    both = sp.block_array([[None, links], [sp.csr_array(links.shape), None]], format="csr")
    k, component = connected_components(both, directed=False)
    component = component[n:]
    sums = np.bincount(component, into, k)
    roots = np.sqrt(into / or_one(sums)[component]).astype(np.float32)
    return sp.csr_array((roots, component, np.arange(n + 1)), (n, k))


def _gram(x: Columns) -> Array:
    """Return xᵀx in double precision."""
    parts = (x[rows].astype(np.float64) for rows in blocks(len(x), BLOCK_ROWS))
    return np.sum([part.T @ part for part in parts], axis=0)


def _rotate(x: Columns, by: Array) -> None:
    """Replace x by x times a square matrix."""
    for rows in blocks(len(x), BLOCK_ROWS):
        x[rows] = x[rows] @ by


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
    out, into = (np.sqrt(1 / or_one(_sums(links, side)))[:, None] for side in (1, 0))
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


def columns_of_places(
    graph: Graph,
    features: Features,
    found: Mapping[str, NDArray[Any]],
    known: Known | None = None,
    at_once: int = BLOCK_ROWS,
) -> Columns:
    """Return features on the basis, their averages, and positions.

    Averages are over neighbours and over theirs; of another graph than the fitted one see
    :meth:`Known.averaging`. Dense, for trees.
    """
    basis, places = found["basis"], _places(graph, found["axes"], known, at_once)
    adjacency, degrees = averaging(graph, known)
    mean = sp.csr_array(sp.diags_array(1 / or_one(degrees)) @ adjacency)
    columns = features.toarray() if not basis.size and sp.issparse(features) else features
    if basis.size:
        columns = columns @ basis
    once = mean @ columns
    made = np.empty((len(places), 3 * once.shape[1] + places.shape[1]), dtype=np.float32)
    for rows in blocks(len(places), at_once):
        parts = columns[rows], once[rows], mean[rows] @ once, places[rows]
        np.concatenate(parts, axis=1, out=made[rows], casting="same_kind")
    return made


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
        scale = np.sqrt(1 / or_one(_sums(half, 1) * share))[:, None]
        double = own.astype(np.float64)
        every = blocks(graph.n_vertices, at_once)
        parts = [(scale[rows] * (half[rows] @ double)).astype(np.float32) for rows in every]
        found.append(np.vstack(parts))
    return np.hstack(found)


def _sums(links: sp.csr_array, side: int) -> Array:
    """Return the sums of rows (1) or columns (0) in double precision."""
    return links.astype(np.float64).sum(axis=side)
