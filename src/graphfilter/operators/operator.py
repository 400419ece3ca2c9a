r"""Graph operators: symmetric matrices of a graph, normalised once, ready to multiply.

============================ ============================================ =========
:func:`augmented_adjacency`  :math:`\tilde A = (D+I)^{-1/2}(A+I)(D+I)^{-1/2}`  [-1, 1]
:func:`adjacency`            :math:`\hat A = D^{-1/2} A D^{-1/2}`             [-1, 1]
:func:`laplacian`            :math:`L = I - D^{-1/2} A D^{-1/2}`              [0, 2]
============================ ============================================ =========

An isolated vertex counts as its own only neighbour (:math:`\hat A_{vv} = 1`, :math:`L_{vv} = 0`),
so that :math:`\hat A = I - L` holds on every graph and its frequency is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter.errors import GraphError, check_name
from graphfilter.graph import Graph
from graphfilter.operators.kernels import Factors, make_rows


class Operator:
    """A symmetric matrix of a graph that multiplies columns: ``operator @ x``.

    Parameters
    ----------
    matrix : scipy sparse matrix (n, n), or Factors
        Symmetric.
    interval : (float, float)
        Bounds of its spectrum.
    kind : str
        Its name, for printing and for saving with a model.
    device, dtype
        Where it multiplies, and what the columns are stored in.

    Attributes
    ----------
    n : int
        Number of vertices.
    radius : float
        The largest absolute value in the interval, a bound of its norm.
    rows : Rows
        The kernel of its products.
    """

    def __init__(
        self,
        matrix: sp.csr_array | Factors,
        interval: tuple[float, float],
        kind: str,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        factors = matrix if isinstance(matrix, Factors) else Factors.from_scipy(matrix)
        factors = factors if device is None else factors.to(device)
        self.interval = interval
        self.kind = kind
        self.rows = make_rows(factors, dtype)

    @classmethod
    def from_csr(
        cls,
        offsets: Tensor,
        columns: Tensor,
        *,
        kind: str = "augmented_adjacency",
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> Operator:
        """Make an operator of an unweighted graph that lies in torch tensors, on any device.

        For graphs too large to be copied: the tensors are used as they are, unchecked.

        Parameters
        ----------
        offsets, columns : int64 Tensor (n + 1,), int32 Tensor (m,)
            CSR adjacency, symmetric, without self loops.
        kind : str
            One of :data:`OPERATORS`.
        """
        adjacency = Factors(offsets, columns, len(offsets) - 1)
        return _make(adjacency, offsets.diff(), kind, device=device, dtype=dtype)

    @property
    def n(self) -> int:
        return self.rows.factors.shape[0]

    @property
    def device(self) -> torch.device:
        return self.rows.factors.device

    @property
    def dtype(self) -> torch.dtype:
        return self.rows.dtype

    @property
    def radius(self) -> float:
        return max(abs(bound) for bound in self.interval)

    @property
    def matrix(self) -> sp.csr_array:
        """The matrix itself, multiplied out in float64."""
        return self.rows.factors.matrix()

    def csr(self) -> Tensor:
        """Return the matrix as a torch CSR tensor in this operator's precision."""
        return self.rows.csr

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Operator:
        """Return this operator on another device or in another precision."""
        device = self.device if device is None else torch.device(device)
        dtype = self.dtype if dtype is None else dtype
        if device == self.device and dtype == self.dtype:
            return self
        return Operator(self.rows.factors, self.interval, self.kind, device=device, dtype=dtype)

    def __matmul__(self, x: Tensor) -> Tensor:
        """Multiply one column (n,) or several (n, c); differentiable."""
        self.check_columns(x)
        flat = x.reshape(self.n, -1)
        return _Product.apply(flat, self).reshape(x.shape)  # pyright: ignore

    def multiply(self, x: Tensor, *, out: Tensor, scale: float = 1.0, keep: float = 0.0) -> Tensor:
        """Write ``scale * (self @ x) + keep * out`` to ``out``, outside autograd."""
        return self.rows.multiply(x, out=out, scale=scale, keep=keep)

    def check_columns(self, x: Tensor) -> None:
        """Raise unless ``x`` has one row a vertex and this operator's precision and device."""
        if x.ndim == 0 or x.shape[0] != self.n:
            raise GraphError(
                f"a signal must have one row a vertex ({self.n}); got shape {tuple(x.shape)}."
            )
        if x.dtype != self.dtype or x.device != self.device:
            raise GraphError(
                f"the operator is {self.dtype} on {self.device}, the signal {x.dtype} on "
                f"{x.device}; bring one to the other with .to()."
            )

    def __repr__(self) -> str:
        low, high = self.interval
        return f"Operator({self.kind}, {self.n:,} vertices, spectrum in [{low:g}, {high:g}])"


class _Product(torch.autograd.Function):
    """P x, whose gradient is P g because P is symmetric."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, operator: Operator) -> Tensor:
        ctx.operator = operator
        x = x.contiguous()
        return operator.multiply(x, out=torch.empty_like(x))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # pyright: ignore
        return ctx.operator @ grad, None


def augmented_adjacency(graph: Graph, **where: Any) -> Operator:
    r"""Make :math:`\tilde A`, the adjacency with self loops, normalised: the paper's default."""
    return make_operator("augmented_adjacency", graph, **where)


def adjacency(graph: Graph, **where: Any) -> Operator:
    r"""Make :math:`\hat A`, the normalised adjacency without self loops."""
    return make_operator("adjacency", graph, **where)


def laplacian(graph: Graph, **where: Any) -> Operator:
    """Make L, the symmetric normalised Laplacian."""
    return make_operator("laplacian", graph, **where)


OPERATORS: dict[str, Callable[..., Operator]] = {
    "augmented_adjacency": augmented_adjacency,
    "adjacency": adjacency,
    "laplacian": laplacian,
}


def make_operator(kind: str, graph: Graph, **where: Any) -> Operator:
    """Make the operator of this name for a graph, ``device`` and ``dtype`` as given."""
    structure = Factors.from_scipy(graph.adjacency, values=graph.weights is not None)
    return _make(structure, torch.from_numpy(graph.degrees.astype(np.float64)), kind, **where)


def _make(structure: Factors, degrees: Tensor, kind: str, **where: Any) -> Operator:
    """Normalise an adjacency; see the table at the top."""
    check_name("operator", kind, OPERATORS)
    degrees = degrees.double()
    isolated = (degrees == 0).double()
    if kind == "augmented_adjacency":
        scale = (degrees + 1).rsqrt()
        return _operator(structure, scale, scale.square(), 1.0, (-1.0, 1.0), kind, where)
    scale = (degrees + isolated).rsqrt()
    if kind == "adjacency":
        return _operator(structure, scale, isolated, 1.0, (-1.0, 1.0), kind, where)
    return _operator(structure, scale, 1 - isolated, -1.0, (0.0, 2.0), kind, where)


def _operator(
    structure: Factors,
    scale: Tensor,
    diagonal: Tensor,
    sign: float,
    interval: tuple[float, float],
    kind: str,
    where: dict[str, Any],
) -> Operator:
    factors = replace(structure, scale=scale, diagonal=diagonal, sign=sign)
    return Operator(factors, interval, kind, **where)
