"""scipy matrices whose arrays do not fit together: a clear error, where scipy would crash."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

from graphfilter import SGFClassifier
from graphfilter.data.attributes import check_sparse
from graphfilter.data.graph import Graph
from graphfilter.util.errors import GraphError

N = 6
RING = sp.csr_array(np.roll(np.eye(N), 1, axis=1) + np.roll(np.eye(N), -1, axis=1))


def out_of_range(matrix: sp.csr_array) -> None:
    matrix.indices[3] = 10**6


def negative(matrix: sp.csr_array) -> None:
    matrix.indices[3] = -5


def falling(matrix: sp.csr_array) -> None:
    matrix.indptr[2] = 100


def not_from_zero(matrix: sp.csr_array) -> None:
    matrix.indptr[0] = 1


def too_long(matrix: sp.csr_array) -> None:
    matrix.indptr[-1] = 10**8


def few_indices(matrix: sp.csr_array) -> None:
    matrix.indices = matrix.indices[:-3]


def few_values(matrix: sp.csr_array) -> None:
    matrix.data = matrix.data[:-3]


def few_rows(matrix: sp.csr_array) -> None:
    matrix.indptr = matrix.indptr[:-2]


def broken_numbers(matrix: sp.csr_array) -> None:
    matrix.indices = matrix.indices.astype(float)


DAMAGES: list[Callable[[sp.csr_array], None]] = [
    out_of_range, negative, falling, not_from_zero, too_long, few_indices, few_values, few_rows,
    broken_numbers,
]  # fmt: skip
damages = pytest.mark.parametrize("damage", DAMAGES)
compressed = pytest.mark.parametrize("form", ["csr", "csc", "bsr"])


def damaged(damage: Callable[[sp.csr_array], None], form: str = "csr") -> sp.csr_array:
    matrix = RING.copy().asformat(form)
    damage(matrix)
    return matrix


@damages
@compressed
def test_damaged_matrix_makes_no_graph_and_no_features(damage, form: str) -> None:
    matrix = damaged(damage, form)
    with pytest.raises(GraphError, match="valid scipy sparse matrix"):
        Graph.from_scipy(matrix)
    with pytest.raises(GraphError, match="valid scipy sparse matrix"):
        Graph.from_edges([[0, 1]], n_vertices=N, features=matrix)


@damages
@compressed
def test_estimator_refuses_damaged_matrices(damage, form: str) -> None:
    matrix, labels = damaged(damage, form), [0, 1] * (N // 2)
    with pytest.raises(GraphError, match="valid scipy sparse matrix"):
        SGFClassifier().fit(matrix, labels, graph=[[0, 1]])
    with pytest.raises(GraphError, match="valid scipy sparse matrix"):
        SGFClassifier().fit(np.eye(N), labels, graph=matrix)


@pytest.mark.parametrize(("row", "column"), [(N, 0), (0, N), (-1, 0), (0, -1), (2**40, 0)])
def test_damaged_coordinates_are_refused(row: int, column: int) -> None:
    matrix = sp.coo_array(RING)
    matrix.coords = tuple(index.astype(np.int64) for index in matrix.coords)
    matrix.coords[0][0], matrix.coords[1][0] = row, column
    with pytest.raises(GraphError, match=rf"must lie in 0\.\.{N - 1}"):
        Graph.from_scipy(matrix)


def test_damaged_lists_are_refused() -> None:
    matrix = sp.lil_array(RING)
    matrix.rows[0][0] = 10**9
    with pytest.raises(GraphError, match="must lie in"):
        Graph.from_scipy(matrix)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_sound_matrix_passes_in_every_form_and_is_left_as_it_was(form: str) -> None:
    matrix = RING.asformat(form)
    check_sparse(matrix, "a matrix")
    np.testing.assert_array_equal(matrix.toarray(), RING.toarray())
    assert Graph.from_scipy(matrix).n_edges == N
    check_sparse(sp.csr_array((0, 3)).asformat(form), "a matrix")


def test_room_after_the_last_entry_is_refused_until_it_is_pruned() -> None:
    """scipy allows it, and reads it."""
    roomy = RING.copy()
    roomy.indices = np.append(roomy.indices, [10**6, -1]).astype(roomy.indices.dtype)
    roomy.data = np.append(roomy.data, [np.nan, np.nan])
    with pytest.raises(GraphError, match=r"\.prune\(\)"):
        Graph.from_scipy(roomy)
    roomy.prune()
    assert Graph.from_scipy(roomy).n_edges == N


def test_what_is_not_sparse_passes() -> None:
    check_sparse([[1, 2]], "a list")
    check_sparse(None, "nothing")
