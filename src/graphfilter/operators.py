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
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter.errors import GraphError, check_name
from graphfilter.graph import Graph
from graphfilter.sparse import csr_tensor


class Operator:
    """A symmetric matrix of a graph that multiplies columns: ``operator @ x``.

    Parameters
    ----------
    matrix : scipy sparse matrix (n, n)
        Symmetric.
    interval : (float, float)
        Bounds of its spectrum.
    kind : str
        Its name, for printing and for saving with a model.

    Attributes
    ----------
    n : int
        Number of vertices.
    radius : float
        The largest absolute value in the interval, a bound of its norm.
    """

    def __init__(
        self,
        matrix: sp.csr_array,
        interval: tuple[float, float],
        kind: str,
        *,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        views = [array.view() for array in (matrix.data, matrix.indices, matrix.indptr)]
        for view in views:
            view.flags.writeable = False
        self._matrix = sp.csr_array(tuple(views), shape=matrix.shape)
        self.interval = interval
        self.kind = kind
        self.device = torch.device(device)
        self.dtype = dtype
        self._csr = csr_tensor(matrix, device=self.device, dtype=dtype)

    @property
    def n(self) -> int:
        return self._matrix.shape[0]

    @property
    def radius(self) -> float:
        return max(abs(bound) for bound in self.interval)

    @property
    def matrix(self) -> sp.csr_array:
        """The matrix itself, in float64; not to be written to."""
        return self._matrix

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Operator:
        """Return this operator on another device or in another precision."""
        device = self.device if device is None else torch.device(device)
        dtype = self.dtype if dtype is None else dtype
        if device == self.device and dtype == self.dtype:
            return self
        return Operator(self._matrix, self.interval, self.kind, device=device, dtype=dtype)

    def __matmul__(self, x: Tensor) -> Tensor:
        """Multiply one column (n,) or several (n, c); differentiable."""
        self.check_columns(x)
        flat = x.reshape(self.n, -1)
        return _Product.apply(flat, self).reshape(x.shape)  # pyright: ignore

    def multiply(self, x: Tensor, *, out: Tensor, scale: float = 1.0, keep: float = 0.0) -> Tensor:
        """Write ``scale * (self @ x) + keep * out`` to ``out``, outside autograd."""
        return torch.addmm(out, self._csr, x, beta=keep, alpha=scale, out=out)

    def check_columns(self, x: Tensor) -> None:
        """Raise unless ``x`` has one row a vertex and this operator's precision and device."""
        if x.ndim == 0 or x.shape[0] != self.n:
            raise GraphError(
                f"a signal must have one row a vertex ({self.n}); got shape {tuple(x.shape)}."
            )
        if x.dtype != self.dtype or x.device.type != self.device.type:
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
        return operator.multiply(x.contiguous(), out=torch.empty_like(x))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # pyright: ignore
        return ctx.operator @ grad, None


def augmented_adjacency(graph: Graph, **where: Any) -> Operator:
    r"""Make :math:`\tilde A`, the adjacency with self loops, normalised: the paper's default."""
    loops = sp.eye_array(graph.n_vertices, format="csr")
    matrix = _normalised((graph.adjacency + loops).tocsr())
    return Operator(matrix, (-1.0, 1.0), "augmented_adjacency", **where)


def adjacency(graph: Graph, **where: Any) -> Operator:
    r"""Make :math:`\hat A`, the normalised adjacency without self loops."""
    return Operator(_plain(graph), (-1.0, 1.0), "adjacency", **where)


def laplacian(graph: Graph, **where: Any) -> Operator:
    """Make L, the symmetric normalised Laplacian."""
    identity = sp.eye_array(graph.n_vertices, format="csr")
    return Operator((identity - _plain(graph)).tocsr(), (0.0, 2.0), "laplacian", **where)


OPERATORS: dict[str, Callable[..., Operator]] = {
    "augmented_adjacency": augmented_adjacency,
    "adjacency": adjacency,
    "laplacian": laplacian,
}


def make_operator(kind: str, graph: Graph, **where: Any) -> Operator:
    """Make the operator of this name for a graph."""
    return OPERATORS[check_name("operator", kind, OPERATORS)](graph, **where)


def _plain(graph: Graph) -> sp.csr_array:
    isolated = (np.diff(graph.indptr) == 0).astype(float)
    return _normalised((graph.adjacency + sp.diags_array(isolated)).tocsr())


def _normalised(matrix: sp.csr_array) -> sp.csr_array:
    scale = 1 / np.sqrt(matrix.sum(axis=1))
    rows = np.repeat(scale, np.diff(matrix.indptr))
    # The two scales first: their product is the same in both directions to the last bit.
    data = matrix.data * (rows * scale[matrix.indices])
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
