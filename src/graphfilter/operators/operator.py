"""Operator: a symmetric matrix of a graph, normalised once, ready to multiply."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter.data.attributes import check_sparse
from graphfilter.operators.kernels import make_kernel
from graphfilter.operators.kernels.factored_matrix import FactoredMatrix, made_to_be_kept
from graphfilter.operators.kernels.product_kernel import GramMatrix, ProductKernel
from graphfilter.util.errors import GraphError, check_name

# How far a matrix may be from symmetric, relative to its largest entry: the rounding of float32.
_ASYMMETRY = 1e-6


# The kinds that are made of an adjacency and its degrees alone.
NORMALISED = ("augmented_adjacency", "adjacency", "laplacian")


class Operator:
    """A symmetric matrix of a graph that multiplies columns: ``operator @ x``.

    Parameters
    ----------
    matrix : scipy sparse matrix (n, n), FactoredMatrix or GramMatrix
        Symmetric and finite. A scipy matrix is checked to be so, to rounding; a FactoredMatrix is
        taken to be symmetric.
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
    device, dtype
        Where it multiplies, and what the columns are stored in.
    radius : float
        The largest absolute value in the interval, a bound of its norm.
    kernel : ProductKernel
        What multiplies.

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([[0, 1], [1, 2]])
    >>> operator = gf.operators.laplacian(path)
    >>> (operator @ torch.ones(3, 1)).shape, operator.radius
    (torch.Size([3, 1]), 2.0)
    """

    def __init__(
        self,
        matrix: sp.csr_array | FactoredMatrix | GramMatrix,
        interval: tuple[float, float],
        kind: str,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        if not isinstance(matrix, FactoredMatrix | GramMatrix):
            matrix = _checked_matrix(matrix)
        if device is not None and torch.device(device) != matrix.device:
            matrix = matrix.to(device)
        self.kernel: ProductKernel = make_kernel(matrix, dtype)
        self.interval, self.kind, self.dtype = interval, kind, dtype
        self.radius = max(abs(bound) for bound in interval)
        self.n: int = matrix.shape[0]
        self.device: torch.device = matrix.device

    @classmethod
    def from_csr(
        cls,
        offsets: Tensor,
        columns: Tensor,
        *,
        kind: str = "augmented_adjacency",
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float32,
        check: bool = True,
    ) -> Operator:
        """Make an operator of an unweighted graph that lies in torch tensors, on any device.

        For graphs too large to be copied: the tensors are used as they are, and must not be
        written to afterwards.

        Parameters
        ----------
        offsets, columns : int64 Tensor (n + 1,), int32 Tensor (m,)
            CSR adjacency, symmetric, without self loops. That its numbers lie in range is
            checked; that it is symmetric and without loops is not.
        kind : str
            One of :data:`NORMALISED`.
        check : bool
            False leaves out the pass over the numbers, for those who know them to be right: a
            number out of range is then read outside of memory.
        """
        adjacency = FactoredMatrix(offsets, columns, len(offsets) - 1, checked=not check)
        return normalise(adjacency, offsets.diff(), kind, device=device, dtype=dtype)

    @property
    def transposed(self) -> Operator:
        """The operator that multiplies gradients: this one, which is symmetric."""
        return self

    @property
    def matrix(self) -> sp.csr_array:
        """The matrix itself, multiplied out in float64."""
        return self.kernel.matrix.to_scipy()

    def factors(self) -> list[FactoredMatrix]:
        """Return the sparse matrices that this operator is made of."""
        kept = self.kernel.matrix
        return [kept.factor if isinstance(kept, GramMatrix) else kept]

    def csr(self) -> Tensor:
        """Return the matrix as a torch CSR tensor in this operator's precision."""
        return self.kernel.csr

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Operator:
        """Return this operator on another device or in another precision."""
        device = self.device if device is None else torch.device(device)
        dtype = self.dtype if dtype is None else dtype
        return self if device == self.device and dtype == self.dtype else self._moved(device, dtype)

    def _moved(self, device: torch.device, dtype: torch.dtype) -> Operator:
        return Operator(self.kernel.matrix, self.interval, self.kind, device=device, dtype=dtype)

    def __matmul__(self, x: Tensor) -> Tensor:
        """Multiply one column (n,) or several (n, c); differentiable."""
        self.check_columns(x)
        flat = x.reshape(self.n, -1)
        return _Product.apply(flat, self).reshape(x.shape)

    def average(self, x: Tensor) -> Tensor:
        """Return the averages that P = S A S is similar to, S P S⁻¹ x; differentiable.

        Of the augmented adjacency the mean of each vertex and its neighbours, of the adjacency that
        of its neighbours. Other operators have no such scales, and give P x.
        """
        scale = self.factors()[0].scale
        if scale is None:
            return self @ x
        scale = scale.to(x.dtype).view(-1, *(1,) * (x.ndim - 1))
        return scale * (self @ (x / scale))

    def multiply(self, x: Tensor, *, out: Tensor, scale: float = 1.0, keep: float = 0.0) -> Tensor:
        """Write ``scale * (self @ x) + keep * out`` to ``out``, outside autograd.

        Both are contiguous (n, c), in this operator's precision and on its device.
        """
        return self.kernel.multiply(x, out=out, scale=scale, keep=keep)

    def check_columns(self, x: Tensor) -> None:
        """Raise unless ``x`` has one row per vertex and this operator's precision and device."""
        if x.ndim == 0 or x.shape[0] != self.n:
            raise GraphError(
                f"a signal must have one row per vertex ({self.n}); got shape {tuple(x.shape)}."
            )
        if x.dtype != self.dtype or x.device != self.device:
            raise GraphError(
                f"the operator is {self.dtype} on {self.device}, the signal {x.dtype} on "
                f"{x.device}; move one of them with .to()."
            )

    def __repr__(self) -> str:
        low, high = self.interval
        return f"Operator({self.kind}, {self.n:,} vertices, spectrum in [{low:g}, {high:g}])"


class _Product(torch.autograd.Function):
    """P x, whose gradient is Pᵀ g: P g where P is symmetric."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, operator: Operator) -> Tensor:
        ctx.operator = operator
        x = x.contiguous()
        return operator.multiply(x, out=torch.empty_like(x))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return ctx.operator.transposed @ grad, None


@made_to_be_kept
def normalise(
    structure: FactoredMatrix, degrees: Tensor, kind: str, *, loop: float = 1.0, **where: Any
) -> Operator:
    """Normalise an adjacency; the table in :mod:`graphfilter.operators.kinds` says how.

    ``loop`` is the weight of the self loops of an augmented one.
    """
    check_name("operator", kind, NORMALISED)
    degrees = degrees.double()
    isolated = (degrees == 0).double()
    sign, interval = 1.0, (-1.0, 1.0)
    if kind == "augmented_adjacency":
        scale = (degrees + loop).rsqrt()
        diagonal = loop * scale.square()
    else:
        scale, diagonal = (degrees + isolated).rsqrt(), isolated
    if kind == "laplacian":
        diagonal, sign, interval = 1 - isolated, -1.0, (0.0, 2.0)
    matrix = replace(structure, scale=scale, diagonal=diagonal, sign=sign)
    return Operator(matrix, interval, kind, **where)


def _checked_matrix(matrix: Any) -> FactoredMatrix:
    """Take a symmetric scipy sparse matrix; raise where it is not one."""
    if not sp.issparse(matrix):
        raise GraphError(
            f"an operator must be a scipy sparse matrix; got {type(matrix).__name__}. "
            "Make one with scipy.sparse.csr_array(matrix)."
        )
    check_sparse(matrix, "an operator")
    matrix = sp.csr_array(matrix)
    if matrix.shape[0] != matrix.shape[1]:
        raise GraphError(f"an operator must be square; got shape {matrix.shape}.")
    taken = FactoredMatrix.from_scipy(matrix)
    difference = abs(matrix - matrix.T)
    if difference.nnz and difference.max() > _ASYMMETRY * abs(matrix).max():
        raise GraphError(
            "an operator must be symmetric; entries differ from their mirror images by up to "
            f"{difference.max():g}. Average the two: (matrix + matrix.T) / 2."
        )
    return taken


class DirectedOperator(Operator):
    """An operator that is not symmetric: ``operator @ x``, with gradients by its transpose.

    For layers that take directed edges, such as those of sampled neighbourhoods. Polynomials of it
    have the same exact gradients in the same memory; a response over frequencies they have not,
    because its eigenvalues are complex.

    Parameters
    ----------
    matrix, mirror : FactoredMatrix
        The matrix and its transpose.
    interval, kind, device, dtype
        See :class:`Operator`; the interval bounds the absolute value of the eigenvalues.
    """

    def __init__(
        self,
        matrix: FactoredMatrix,
        mirror: FactoredMatrix,
        interval: tuple[float, float],
        kind: str,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(matrix, interval, kind, device=device, dtype=dtype)
        self.mirror: ProductKernel = make_kernel(
            mirror if device is None else mirror.to(device), dtype
        )

    @property
    def transposed(self) -> DirectedOperator:
        """The operator that multiplies gradients."""
        made = copy.copy(self)
        made.kernel, made.mirror = self.mirror, self.kernel
        return made

    def _moved(self, device: torch.device, dtype: torch.dtype) -> DirectedOperator:
        return DirectedOperator(
            self.kernel.matrix, self.mirror.matrix, self.interval, self.kind, device=device,
            dtype=dtype,
        )  # fmt: skip
