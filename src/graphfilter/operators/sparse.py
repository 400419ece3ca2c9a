"""Sparse features and products with them that stay sparse; and what dropout keeps of entries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter.data.attributes import check_sparse
from graphfilter.operators.kernels import make_kernel
from graphfilter.operators.kernels.product_kernel import (
    FactoredMatrix,
    ProductKernel,
    as_shared,
    made_to_be_kept,
)
from graphfilter.tables.columns import Features
from graphfilter.util.errors import GraphError

__all__ = ["SparseFeatures", "to_tensor"]


@dataclass(frozen=True, eq=False)
class Drawn:
    """What dropout keeps of the entries of an array, for each of R runs.

    Attributes
    ----------
    words : int64 Tensor (R, ⌈size / 4⌉)
        Random numbers, 16 bits per entry: ten times faster on a CPU than one Bernoulli draw each,
        and the probability is right to 2^-16.
    shape : tuple of ints
        Of the array, which is the same for all runs.
    below : int
        An entry is kept where its number, from -2^15 to 2^15 - 1, is less.
    scale : float
        What the kept ones are multiplied by, so that the mean stays.
    """

    words: Tensor
    shape: tuple[int, ...]
    below: int
    scale: float

    def kept(self) -> Tensor:
        """Return what is kept, a Boolean array (R, *shape)."""
        return self.numbers() < self.below

    def numbers(self) -> Tensor:
        """Return the random number of every entry, int16 (R, *shape)."""
        numbers = self.words.view(torch.int16)[:, : math.prod(self.shape)]
        return numbers.view(len(self.words), *self.shape)

    def masks(self, dtype: torch.dtype) -> Tensor:
        """Return what to multiply the array by: (R, *shape)."""
        return self.kept().to(dtype).mul_(self.scale)


def draw(
    shape: Sequence[int],
    rate: float,
    generators: Sequence[torch.Generator | None],
    device: torch.device,
) -> Drawn | None:
    """Draw what dropout keeps of an array, one draw per generator; None where nothing is dropped.

    Examples
    --------
    >>> import torch
    >>> generator = torch.Generator().manual_seed(0)
    >>> drawn = draw((3, 4), 0.5, [generator], torch.device("cpu"))
    >>> drawn.kept().shape, drawn.scale
    (torch.Size([1, 3, 4]), 2.0)
    """
    kept = round((1 - rate) * 2**16)
    if kept >= 2**16:
        return None
    n_words = (math.prod(shape) + 3) // 4
    words = torch.empty(len(generators), n_words, dtype=torch.int64, device=device)
    for row, generator in zip(words, generators, strict=True):
        row.random_(-(2**63), None, generator=generator)
    return Drawn(words, tuple(shape), kept - 2**15, 2**16 / kept if kept else 0.0)


# Above this share of non-zeros a dense product is faster than a sparse one.
DENSE_ABOVE = 0.3


class SparseFeatures:
    """A sparse feature matrix X (n, d) that multiplies weights: ``x.project(weight)``.

    Only the stored entries are ever touched: by the product, by its gradient (a product with
    the transpose, made when it is first needed) and by dropout.

    Parameters
    ----------
    matrix : csr_array (n, d)
        Finite; copied.
    device, dtype
        Where it multiplies, and what the weights are stored in.

    Attributes
    ----------
    values : Tensor (m,)
        The stored entries, row by row.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> import torch
    >>> import graphfilter as gf
    >>> features = gf.operators.SparseFeatures(sp.csr_array([[0.0, 2.0], [1.0, 0.0]]))
    >>> features.project(torch.eye(2)).tolist()
    [[0.0, 2.0], [1.0, 0.0]]
    """

    @made_to_be_kept
    def __init__(
        self,
        matrix: sp.csr_array,
        *,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        check_sparse(matrix, "the features")
        self.shape: tuple[int, int] = matrix.shape
        self._parted: dict[int, tuple[SparseFeatures, SparseFeatures]] = {}
        stored = FactoredMatrix.from_scipy(sp.csr_array(matrix), dtype=dtype).to(device)
        assert stored.values is not None
        self.kernel = make_kernel(stored, dtype)
        self.device, self.values = stored.device, stored.values

    @cached_property
    @made_to_be_kept
    def transposed(self) -> tuple[Tensor, ProductKernel]:
        """The stored entries of X in the order of Xᵀ, and the kernel that multiplies with it."""
        offsets, columns, values = self.tensors()
        order = columns.argsort(stable=True)
        ends = torch.arange(self.shape[1] + 1, dtype=columns.dtype, device=self.device)
        starts = torch.searchsorted(columns[order], ends).to(offsets.dtype)
        rows = torch.repeat_interleave(offsets.diff())[order].to(columns.dtype)
        matrix = FactoredMatrix(starts, rows, self.shape[0], values[order], checked=True)
        return order, make_kernel(matrix, self.kernel.dtype)

    def parted(self, n_last: int) -> tuple[SparseFeatures, SparseFeatures]:
        """Return all but the last columns, and those; made once."""
        if n_last not in self._parted:
            columns, first = self.to_scipy().tocsc(), self.shape[1] - n_last
            before, last = (
                SparseFeatures(sp.csr_array(part), device=self.device, dtype=self.kernel.dtype)
                for part in (columns[:, :first], columns[:, first:])
            )
            self._parted[n_last] = before, last
        return self._parted[n_last]

    def tensors(self) -> list[Tensor]:
        """Return offsets, columns and values of the stored entries."""
        return [self.kernel.matrix.offsets, self.kernel.matrix.columns, self.values]

    def to_dense(self) -> Tensor:
        """Return X with its zeros."""
        return self.kernel.csr.to_dense()

    def to_scipy(self) -> sp.csr_array:
        """Return X as a scipy matrix."""
        offsets, columns, values = (tensor.cpu().numpy() for tensor in self.tensors())
        return sp.csr_array((values, columns, offsets), shape=self.shape)

    def project(self, weight: Tensor, values: Tensor | None = None) -> Tensor:
        """Return X W, differentiable in W.

        Parameters
        ----------
        weight : Tensor (d, c)
        values : Tensor (g, m), optional
            Replace the stored entries: row i for the i-th of g equal groups of columns.
        """
        return _Projection.apply(weight, self, values)

    def product(self, weight: Tensor, values: Tensor | None, *, transposed: bool) -> Tensor:
        """Return X W or XᵀW, outside autograd."""
        order, kernel = self.transposed if transposed else (None, self.kernel)
        if weight.ndim != 2:
            raise GraphError(
                f"what features multiply must have rows and columns; got shape {weight.shape}."
            )
        if values is not None and values.shape[1:] != self.values.shape:
            raise GraphError(
                f"values must have one number per stored entry ({len(self.values)}) in each row; "
                f"got shape {tuple(values.shape)}."
            )
        if order is not None and values is not None:
            values = values.index_select(1, order)
        out = weight.new_empty(self.shape[int(transposed)], weight.shape[1])
        return kernel.multiply(weight.contiguous(), out=out, values=values)


class _Projection(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, x: SparseFeatures, values: Tensor | None) -> Tensor:
        ctx.x, ctx.values = x, values
        return x.product(weight, values, transposed=False)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return ctx.x.product(grad, ctx.values, transposed=True), None, None


def to_tensor(
    features: Features,
    *,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    share: bool = False,
) -> Tensor | SparseFeatures:
    """Turn features into what networks take; sparse ones stay sparse while that is faster.

    Dense ones are copied; with ``share``, only where they do not lie where they are needed, in the
    precision that is. The tensor must not be written to then.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> gf.operators.to_tensor(g.features).shape
    (34, 34)
    """
    if sp.issparse(features):
        n_cells = features.shape[0] * features.shape[1]
        if features.nnz <= DENSE_ABOVE * n_cells:
            return SparseFeatures(sp.csr_array(features), device=device, dtype=dtype)
        features = features.toarray()
    if share:
        return as_shared(np.ascontiguousarray(features)).to(device=device, dtype=dtype)
    return torch.tensor(features, device=device, dtype=dtype)
