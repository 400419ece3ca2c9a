"""The contract of every kernel: products with one sparse matrix, and polynomials of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from graphfilter.util.errors import GraphError
from graphfilter.util.machine import blocks


class Step(NamedTuple):
    """One step of a three-term recurrence: B_{k+1} = scale M B_k + skip B_k + keep B_{k-1}."""

    scale: float
    skip: float
    keep: float


class Sums(NamedTuple):
    """What a step of a recurrence adds to, and what its gradient needs of it.

    Shapes
    ------
    total, against : (n, g, c);  weights, products : (g,); all contiguous
    """

    total: Tensor
    weights: Tensor
    against: Tensor | None
    products: Tensor | None


class ProductKernel(ABC):
    """Multiplies with a sparse matrix M on one device, in one precision.

    A row is summed in float32 (float64 for float64 columns) whatever the columns are stored in.

    The public methods compare shapes, precision, device and layout of what they are given, so
    that nothing else reaches compiled code; a kernel implements those with an underscore.
    """

    def __init__(self, matrix: Any, dtype: torch.dtype) -> None:
        # A FactoredMatrix, or what else a kernel of its own multiplies with (a GramMatrix).
        self.matrix = matrix
        self.dtype = dtype

    @cached_property
    def csr(self) -> Tensor:
        """M as a torch CSR tensor."""
        return self.matrix.to_csr_tensor(self.dtype)

    def multiply(
        self,
        x: Tensor,
        *,
        out: Tensor,
        scale: float = 1.0,
        keep: float = 0.0,
        values: Tensor | None = None,
    ) -> Tensor:
        """Write ``scale * M x + keep * out`` to ``out``, and return it.

        Parameters
        ----------
        x : Tensor (n_columns, c), contiguous
        out : Tensor (n_rows, c), contiguous
            Another tensor than x.
        values : Tensor (g, m), optional
            Replace the stored entries of M: row i for the i-th of g equal groups of columns.
        """
        n_rows, n_columns = self.matrix.shape
        width = x.shape[1] if x.ndim == 2 else -1
        self._check("the columns to multiply", x, (n_columns, width))
        self._check("out", out, (n_rows, width))
        if out.numel() and out.data_ptr() == x.data_ptr():
            raise GraphError("out must be another tensor than the columns to multiply.")
        if values is not None:
            groups = values.shape[0] if values.ndim == 2 else 0
            if groups == 0 or width % groups:
                raise GraphError(
                    "values must have one row for each of g equal groups of columns; got shape "
                    f"{tuple(values.shape)} for {width} columns."
                )
            values = values.contiguous()
            self._check("values", values, (groups, self.matrix.n_entries))
        self._multiply(x, out, scale, keep, values)
        return out

    def apply_recurrence(
        self, x: Tensor, weights: Tensor, steps: Sequence[Step], against: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Make the terms B_0 x = x, B_1 x, … of a three-term recurrence, and add them up.

        Returns their sum with ``weights`` and, where ``against`` is given, the inner product of
        each term with it.

        Shapes
        ------
        x, against : (n, g, c);  sum : (n, g * c);  weights, inner products : (K + 1, g)
            All contiguous. Weights are float32, or float64 where x is; there are K steps.
        """
        n_rows, n = self.matrix.shape
        if n_rows != n:
            raise GraphError(f"a recurrence needs a square matrix; got shape {self.matrix.shape}.")
        shape = (n, *x.shape[1:]) if x.ndim == 3 else (n, -1, -1)
        self._check("the columns to filter", x, shape)
        self._check("weights", weights, (len(steps) + 1, shape[1]), exact=True)
        if against is not None:
            self._check("the columns to compare with", against, shape)
        return self._apply_recurrence(x, weights, steps, against)

    def _check(
        self, what: str, tensor: Tensor, shape: tuple[int, ...], *, exact: bool = False
    ) -> None:
        """Raise unless a tensor has this shape, and lies as the kernels read it."""
        dtype = torch.promote_types(self.dtype, torch.float32) if exact else self.dtype
        if (
            tensor.shape != shape
            or tensor.dtype != dtype
            or tensor.device != self.matrix.device
            or tensor.layout != torch.strided
            or not tensor.is_contiguous()
        ):
            sizes = ", ".join("c" if size < 0 else str(size) for size in shape)
            raise GraphError(
                f"{what} must be a contiguous {dtype} tensor of shape ({sizes}) on "
                f"{self.matrix.device}; got {tensor.dtype} of shape {tuple(tensor.shape)} on "
                f"{tensor.device}. Convert it with .to() and .contiguous()."
            )

    @abstractmethod
    def _multiply(
        self, x: Tensor, out: Tensor, scale: float, keep: float, values: Tensor | None
    ) -> None:
        """See :meth:`multiply`; everything is checked, and ``values`` contiguous."""

    def _apply_recurrence(
        self, x: Tensor, weights: Tensor, steps: Sequence[Step], against: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """See :meth:`apply_recurrence`; one :meth:`_advance` per step unless overridden."""
        # No view is returned: autograd would copy a gradient of its size.
        total = torch.empty(len(x), x.shape[1] * x.shape[2], dtype=x.dtype, device=x.device)
        sums = total.view(x.shape)
        current = self._to_scaled(x)
        previous = torch.empty_like(current)
        torch.mul(current, weights[0, :, None], out=sums)
        products = None
        if against is not None:
            products = torch.empty_like(weights)
            inner_products(x, against, out=products[0])
        for k, step in enumerate(steps, start=1):
            product = None if products is None else products[k]
            self._advance(current, previous, step, Sums(sums, weights[k], against, product))
            previous, current = current, previous
        self._from_scaled(sums)
        return total, products

    def _to_scaled(self, x: Tensor) -> Tensor:
        """Return a copy of x in the coordinates of :meth:`_advance`: x itself unless overridden."""
        return x.clone(memory_format=torch.contiguous_format)

    def _from_scaled(self, y: Tensor) -> Tensor:
        """Bring y back from the coordinates of :meth:`_advance`, in place."""
        return y

    @abstractmethod
    def _advance(self, current: Tensor, previous: Tensor, step: Step, sums: Sums) -> None:
        """Take one step of a three-term recurrence, with the running sums of its gradient.

        ``previous ← scale M current + skip current + keep previous``,
        ``total ← total + weights previous``, ``products ← ⟨previous, against⟩`` in each group.
        Current and previous columns are contiguous, too: (n, g, c).
        """


def inner_products(x: Tensor, y: Tensor, *, out: Tensor) -> None:
    """Write the inner product of each group of columns: x, y (n, g, c) give (g,)."""
    if x.shape[1] == 1 and x.dtype == out.dtype and x.numel() < 2**31:
        out[0] = torch.dot(x.reshape(-1), y.reshape(-1))
        return
    # In blocks of rows: what is multiplied in full precision stays small.
    out.zero_()
    for block in blocks(len(x), 2**24 // max(x[0].numel(), 1)):
        out += torch.sum(x[block] * y[block].to(out.dtype), (0, 2))
