"""Sparse products and their gradients against dense autograd."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from graphfilter.operators.kernels.factored_matrix import FactoredMatrix
from graphfilter.operators.sparse import SparseFeatures

tables = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.sampled_from([0.0, 0.0, 1.0, -2.5]),
)


def dense_like(x: SparseFeatures, matrix: sp.csr_array, values: torch.Tensor) -> torch.Tensor:
    """The dense matrix whose stored entries, row by row, are ``values``."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    dense = torch.zeros(x.shape, dtype=torch.float64)
    dense[rows, matrix.indices] = values
    return dense


@given(tables, st.integers(1, 3), st.booleans())
def test_project_and_its_gradient_equal_dense_autograd(
    table: NDArray[np.float64], n_columns: int, replaced: bool
) -> None:
    matrix = sp.csr_array(table)
    x = SparseFeatures(matrix, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(
        x.shape[1], n_columns, dtype=torch.float64, generator=generator, requires_grad=True
    )
    values = torch.randn(n_columns, matrix.nnz, dtype=torch.float64, generator=generator)
    ours = x.project(weight, values if replaced else None)
    entries = values if replaced else x.values.expand(n_columns, -1)
    columns = zip(entries, weight.unbind(1), strict=True)
    theirs = torch.stack([dense_like(x, matrix, v) @ w for v, w in columns], dim=1)
    torch.testing.assert_close(ours, theirs)
    grad = torch.randn(ours.shape, dtype=torch.float64, generator=generator)
    torch.testing.assert_close(
        torch.autograd.grad(ours, weight, grad), torch.autograd.grad(theirs, weight, grad)
    )


def test_transpose_is_made_for_the_first_gradient() -> None:
    x = SparseFeatures(sp.csr_array([[0.0, 2.0], [1.0, 0.0]]), dtype=torch.float64)
    weight = torch.ones(2, 1, dtype=torch.float64, requires_grad=True)
    made = x.project(weight)
    assert "transposed" not in vars(x)
    made.sum().backward()
    assert "transposed" in vars(x)


def test_transpose_has_the_entries_of_a_column_in_the_order_of_rows() -> None:
    matrix = sp.random_array((40, 30), density=0.2, rng=0, dtype=np.float32).tocsr()
    order, kernel = SparseFeatures(matrix, dtype=torch.bfloat16).transposed
    numbered = sp.csr_array((np.arange(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)
    expected = numbered.T.tocsr()
    np.testing.assert_array_equal(order, expected.data)
    np.testing.assert_array_equal(kernel.matrix.offsets, expected.indptr)
    np.testing.assert_array_equal(kernel.matrix.columns, expected.indices)
    assert kernel.matrix.columns.dtype == torch.int32


def test_project_gradcheck() -> None:
    x = SparseFeatures(sp.random_array((7, 5), density=0.4, rng=0).tocsr(), dtype=torch.float64)
    weight = torch.ones(5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(x.project, weight)


def test_project_takes_weights_of_any_strides() -> None:
    matrix = sp.random_array((7, 5), density=0.4, rng=0).tocsr()
    x = SparseFeatures(matrix, dtype=torch.float64)
    weight = torch.arange(10, dtype=torch.float64).reshape(2, 5).T
    np.testing.assert_allclose(x.project(weight).numpy(), matrix.toarray() @ weight.numpy())


def test_sparse_features_take_unsorted_rows() -> None:
    unsorted = sp.csr_array(
        (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3)
    )
    x = SparseFeatures(unsorted, dtype=torch.float64)
    identity = torch.eye(3, dtype=torch.float64, requires_grad=True)
    out = x.project(identity)
    np.testing.assert_array_equal(out.detach().numpy(), [[2, 0, 1], [0, 3, 0]])
    (grad,) = torch.autograd.grad(out, identity, torch.eye(2, 3, dtype=torch.float64))
    expected = unsorted.toarray().T @ np.eye(2, 3)
    np.testing.assert_array_equal(grad.numpy(), expected)


def test_sparse_features_hold_a_copy() -> None:
    matrix = sp.csr_array(np.eye(3))
    x = SparseFeatures(matrix)
    matrix.data[:] = 7
    assert x.values.tolist() == [1, 1, 1]
    assert x.shape == (3, 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_csr_equals_the_matrix(dtype: torch.dtype) -> None:
    matrix = sp.random_array((4, 6), density=0.5, rng=0).tocsr()
    tensor = FactoredMatrix.from_scipy(matrix).to_csr_tensor(dtype)
    assert tensor.dtype == dtype
    assert tensor.col_indices().dtype == tensor.crow_indices().dtype == torch.int32
    expected = torch.from_numpy(matrix.toarray()).to(dtype)
    torch.testing.assert_close(tensor.to_dense(), expected, rtol=0, atol=0)


def test_csr_widens_indices_that_do_not_fit() -> None:
    """A matrix of one stored entry, wider than int32 can number."""
    wide = sp.csr_array((np.ones(1), np.array([2**31]), np.array([0, 1])), shape=(1, 2**31 + 1))
    tensor = FactoredMatrix.from_scipy(wide).to_csr_tensor(torch.float32)
    assert tensor.col_indices().dtype == torch.int64
    assert tensor.col_indices().tolist() == [2**31]
