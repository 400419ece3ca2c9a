"""Sparse matrices as torch tensors, and products with them that stay sparse."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter.edges import index_type


def csr_tensor(
    matrix: sp.csr_array, *, device: torch.device | str = "cpu", dtype: torch.dtype
) -> Tensor:
    """Turn a scipy CSR matrix into a torch one, with int32 indices where they fit.

    torch's product on CPU is several times faster with int32 than with int64 indices.
    """
    index = index_type(max(matrix.nnz, *matrix.shape))
    return _csr(
        torch.from_numpy(matrix.indptr.astype(index)).to(device),
        torch.from_numpy(matrix.indices.astype(index)).to(device),
        torch.from_numpy(matrix.data.astype(np.float64)).to(device, dtype),
        matrix.shape,
    )


class SparseFeatures:
    """A sparse feature matrix X (n, d) that multiplies weights: ``x.project(weight)``.

    Only the stored entries are ever touched: by the product, by its gradient (a product with
    the transpose, kept beside it) and by dropout.
    """

    def __init__(
        self,
        matrix: sp.csr_array,
        *,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        numbered = sp.csr_array(
            (np.arange(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape
        )
        transposed = numbered.T.tocsr()
        self.shape: tuple[int, int] = matrix.shape
        self._forward = csr_tensor(matrix, device=device, dtype=dtype)
        values = matrix.data[transposed.data].astype(np.float64)
        backward = sp.csr_array(
            (values, transposed.indices, transposed.indptr), shape=transposed.shape
        )
        self._backward = csr_tensor(backward, device=device, dtype=dtype)
        self._order = torch.from_numpy(transposed.data).to(device)

    @property
    def values(self) -> Tensor:
        """The stored entries, row by row."""
        return self._forward.values()

    def tensors(self) -> list[Tensor]:
        """Return offsets, columns and values of the stored entries."""
        csr = self._forward
        return [csr.crow_indices(), csr.col_indices(), csr.values()]

    def project(self, weight: Tensor, values: Tensor | None = None) -> Tensor:
        """Return X W, differentiable in W; ``values`` stands in for the stored entries."""
        return _Projection.apply(weight, self, values)  # pyright: ignore

    def product(self, weight: Tensor, values: Tensor | None, *, transposed: bool) -> Tensor:
        """Return X W or XᵀW, outside autograd."""
        csr = self._backward if transposed else self._forward
        if values is not None:
            values = values[self._order] if transposed else values
            csr = _csr(csr.crow_indices(), csr.col_indices(), values, tuple(csr.shape))
        out = weight.new_empty(csr.shape[0], weight.shape[1])
        return torch.addmm(out, csr, weight.contiguous(), beta=0, out=out)


class _Projection(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, x: SparseFeatures, values: Tensor | None) -> Tensor:
        ctx.x, ctx.values = x, values
        return x.product(weight, values, transposed=False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:  # pyright: ignore
        return ctx.x.product(grad, ctx.values, transposed=True), None, None


def _csr(rows: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    with warnings.catch_warnings():
        # torch announces once a process that CSR is "in beta" and, in some versions, that its
        # invariants are not checked; nothing a user can act on.
        warnings.filterwarnings("ignore", message="Sparse (CSR tensor|invariant)")
        return torch.sparse_csr_tensor(rows, columns, values, size=shape, check_invariants=False)
