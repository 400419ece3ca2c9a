"""Singular vectors of features and of normalised links: exact, or near for large graphs."""

from __future__ import annotations

from inspect import signature

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from graphfilter.runtime import blocks
from graphfilter.tables import Features

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
    out, into = (np.sqrt(1 / np.where(s == 0, 1.0, s)).astype(np.float32) for s in sums)
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
    roots = np.sqrt(into / np.where(sums == 0, 1.0, sums)[component]).astype(np.float32)
    return sp.csr_array((roots, component, np.arange(n + 1)), (n, k))


def _gram(x: Columns) -> Array:
    """Return xᵀx in double precision."""
    parts = (x[rows].astype(np.float64) for rows in blocks(len(x), BLOCK_ROWS))
    return np.sum([part.T @ part for part in parts], axis=0)


def _rotate(x: Columns, by: Array) -> None:
    """Replace x by x times a square matrix."""
    for rows in blocks(len(x), BLOCK_ROWS):
        x[rows] = x[rows] @ by
