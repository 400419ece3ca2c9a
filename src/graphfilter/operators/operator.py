r"""Operators: symmetric matrices of a graph by name, normalised once, ready to multiply.

============================ ================================================== =======
:func:`augmented_adjacency`  :math:`\tilde A = (D+I)^{-1/2}(A+I)(D+I)^{-1/2}`         [-1, 1]
:func:`adjacency`            :math:`\hat A = D^{-1/2} A D^{-1/2}`                    [-1, 1]
:func:`laplacian`            :math:`L = I - D^{-1/2} A D^{-1/2}`                     [0, 2]
:func:`coupling`             :math:`D_o^{-1/2} A D_i^{-1} A^\top D_o^{-1/2}`        [0, 1]
:func:`co_citation`          :math:`D_i^{-1/2} A^\top D_o^{-1} A D_i^{-1/2}`        [0, 1]
============================ ================================================== =======

In a graph with weights :math:`\tilde A` has :math:`cI` in the place of I, where c is the median
weight (:func:`loop_weight`): what is computed does not depend on the unit of the weights.

The first three forget which way the edges go. Of the other two, one compares vertices by whom they
link to and one by who links to them, with :math:`D_o, D_i` the weights of the links out and in:
both are symmetric, so that every filter runs on them. In a graph without directions both are
:math:`\hat A^2`.

:func:`channels` is :math:`\tilde A` with the operators of its edge types and of its directions
beside it, for networks of several channels.

A vertex without such links counts as its own only neighbour (:math:`\hat A_{vv} = 1`,
:math:`L_{vv} = 0`), so that :math:`\hat A = I - L` on every graph and its frequency is 0.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter.data.attributes import check_sparse
from graphfilter.data.edges import EdgeKinds
from graphfilter.data.graph import Graph
from graphfilter.operators.kernels import make_kernel
from graphfilter.operators.kernels.product_kernel import (
    FactoredMatrix,
    GramMatrix,
    ProductKernel,
    made_to_be_kept,
)
from graphfilter.util.errors import GraphError, check_name

__all__ = [
    "OPERATORS",
    "Operator",
    "adjacency",
    "augmented_adjacency",
    "co_citation",
    "coupling",
    "laplacian",
    "make_operator",
]

# How far a matrix may be from symmetric, relative to its largest entry: the rounding of float32.
_ASYMMETRY = 1e-6


# The kinds that are made of an adjacency and its degrees alone.
NORMALISED = ("augmented_adjacency", "adjacency", "laplacian")


class Operator:
    """A matrix of a graph, symmetric but for one case, that multiplies columns: ``operator @ x``.

    Parameters
    ----------
    matrix : scipy sparse matrix (n, n), FactoredMatrix or GramMatrix
        Symmetric and finite. A scipy matrix is checked to be so, to rounding; a FactoredMatrix is
        taken to be symmetric.
    mirror : FactoredMatrix, optional
        The transpose of a FactoredMatrix that is not symmetric, for layers that take directed
        edges. Polynomials of it have the same exact gradients in the same memory; a response over
        frequencies they have not, because its eigenvalues are complex.
    interval : (float, float)
        Bounds of its spectrum; of the absolute value of its eigenvalues where there is a mirror.
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
        mirror: FactoredMatrix | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        if not isinstance(matrix, FactoredMatrix | GramMatrix):
            matrix = _checked_matrix(matrix)
        if device is not None and torch.device(device) != matrix.device:
            matrix, mirror = matrix.to(device), mirror and mirror.to(device)
        self.kernel: ProductKernel = make_kernel(matrix, dtype)
        self._mirror = None if mirror is None else make_kernel(mirror, dtype)
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
        """The operator that multiplies gradients: this one, where it is symmetric."""
        if self._mirror is None:
            return self
        made = copy.copy(self)
        made.kernel, made._mirror = self._mirror, self.kernel
        return made

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
        if device == self.device and dtype == self.dtype:
            return self
        mirror = None if self._mirror is None else self._mirror.matrix
        return Operator(
            self.kernel.matrix, self.interval, self.kind, mirror=mirror, device=device, dtype=dtype
        )

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
    """Normalise an adjacency; the table in :mod:`graphfilter.operators.operator` says how.

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


# What the channels are called that are not edge types.
EDGES, COUPLING, CO_CITATION = "edges", "links to the same", "linked by the same"


class Channels(Operator):
    """The operator of a whole graph, with the operators of its parts beside it.

    As an operator it is that of the whole graph; networks of several channels take the parts.

    Parameters
    ----------
    whole : Operator
    parts : mapping of Operators
        By name, all of the same vertices, device and precision.
    """

    def __init__(self, whole: Operator, parts: Mapping[str, Operator]) -> None:
        vars(self).update(vars(whole))
        self.kind = "channels"
        self.parts = dict(parts)
        self._without_edges: Operator | None = None

    def part(self, name: str) -> Operator:
        """Return the operator of a channel; for an edge type without edges, that of no edge."""
        if name in self.parts:
            return self.parts[name]
        if self._without_edges is None:
            empty = sp.csr_array((self.n, self.n), dtype=np.float64)
            self._without_edges = _augmented(empty, device=self.device, dtype=self.dtype)
        return self._without_edges

    def check_channels(self, names: tuple[str, ...]) -> None:
        """Raise unless a network of these channels can run on this graph."""
        if COUPLING in names and COUPLING not in self.parts:
            raise GraphError(
                "the graph must be directed, like the graph of the fit; it is not. Read it with "
                "`directed=True`."
            )
        if EDGES in self.parts and EDGES not in names:
            raise GraphError(
                f"every edge must have a type ({', '.join(names)}), as in the graph of the fit; "
                "this graph has no edge types. Name their column (`edge_kind`)."
            )
        if unknown := set(self.parts).difference(names):
            raise GraphError(
                f"edges must have the types that the network was fitted on ({', '.join(names)}); "
                f"got {sorted(unknown)[0]!r}. Leave those edges out, or fit again."
            )

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Channels:
        parts = {name: part.to(device, dtype) for name, part in self.parts.items()}
        return Channels(super().to(device, dtype), parts)

    def factors(self) -> list[FactoredMatrix]:
        return [matrix for part in self.parts.values() for matrix in part.factors()]

    def __repr__(self) -> str:
        return f"Channels({self.n:,} vertices: {', '.join(self.parts)})"


def channel_names(graph: Graph) -> tuple[str, ...]:
    """Return the names of the channels of a graph: its edge types, and its directions."""
    kinds = (EDGES,) if graph.kinds is None else graph.kinds.names
    return (*kinds, COUPLING, CO_CITATION) if graph.directed else kinds


def without_edges(graph: Graph, names: Sequence[Any]) -> Graph:
    """Give a graph without edges these channels, so that a network can be built for them."""
    if len(set(names)) != len(names) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"channels must have different names; got {names!r}")
    kinds = tuple(name for name in names if name not in (EDGES, COUPLING, CO_CITATION))
    return replace(
        graph,
        arcs=np.zeros(0, dtype=np.float32) if COUPLING in names else None,
        kinds=EdgeKinds(kinds, np.zeros((len(kinds), 0), dtype=np.float32)) if kinds else None,
    )


def loop_weight(graph: Graph) -> float:
    """Return what a self loop weighs beside the edges of a graph: the median of their weights.

    1 where edges have no weights. In another unit of the weights the operator is then the same.

    Examples
    --------
    >>> import graphfilter as gf
    >>> graph = gf.Graph.from_edges([[0, 1], [1, 2], [0, 2]], weights=[0.5, 0.2, 0.9])
    >>> loop_weight(graph)
    0.5
    """
    weights = graph.weights
    return 1.0 if weights is None or not len(weights) else float(np.median(weights))


def _augmented(matrix: sp.csr_array, **where: Any) -> Operator:
    degrees = torch.from_numpy(np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel())
    structure = FactoredMatrix.from_scipy(matrix, values=bool((matrix.data != 1).any()))
    return normalise(structure, degrees, "augmented_adjacency", **where)


# A product of links is multiplied out where it has at most so many entries per vertex, or in all:
# on a CPU one product and its fused recurrence are then faster than two.
FORMED_PER_VERTEX = 16
FORMED_ALWAYS = 2**15


def augmented_adjacency(graph: Graph, *, loop: float | None = None, **where: Any) -> Operator:
    r"""Make :math:`\tilde A`, the adjacency with self loops, normalised: the paper's default.

    A self loop weighs ``loop``: 1, or what edges do where those have weights.

    Examples
    --------
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([[0, 1], [1, 2]])
    >>> operator = gf.operators.augmented_adjacency(path)
    >>> operator.n, operator.interval
    (3, (-1.0, 1.0))
    """
    loop = loop_weight(graph) if loop is None else loop
    return _undirected("augmented_adjacency", graph, loop=loop, **where)


def adjacency(graph: Graph, **where: Any) -> Operator:
    r"""Make :math:`\hat A`, the normalised adjacency without self loops.

    Examples
    --------
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([[0, 1], [1, 2]])
    >>> operator = gf.operators.adjacency(path)
    >>> operator.n, operator.interval
    (3, (-1.0, 1.0))
    """
    return _undirected("adjacency", graph, **where)


def laplacian(graph: Graph, **where: Any) -> Operator:
    """Make L, the symmetric normalised Laplacian.

    Examples
    --------
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([[0, 1], [1, 2]])
    >>> operator = gf.operators.laplacian(path)
    >>> operator.n, operator.interval
    (3, (0.0, 2.0))
    """
    return _undirected("laplacian", graph, **where)


def coupling(graph: Graph, **where: Any) -> Operator:
    """Make the operator of bibliographic coupling: vertices are alike that link to the same.

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> links = gf.Graph.from_edges([[0, 2], [1, 2]], directed=True)
    >>> (gf.operators.coupling(links) @ torch.eye(3)).tolist()
    [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """
    return _two_steps("coupling", graph.out_links(), **where)


def co_citation(graph: Graph, **where: Any) -> Operator:
    """Make the operator of co-citation: vertices are alike that the same link to.

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> links = gf.Graph.from_edges([[0, 1], [0, 2]], directed=True)
    >>> (gf.operators.co_citation(links) @ torch.eye(3)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.5, 0.5]]
    """
    return _two_steps("co_citation", graph.in_links(), **where)


def channels(graph: Graph, *, loop: float | None = None, **where: Any) -> Operator:
    r"""Make :math:`\tilde A` with one operator per edge type and per direction beside it."""
    loop = loop_weight(graph) if loop is None else loop
    whole, kinds = augmented_adjacency(graph, loop=loop, **where), graph.kinds
    parts = {EDGES: whole}
    if kinds is not None:
        parts = {
            name: _augmented(kinds.adjacency(k, graph.indptr, graph.indices), loop=loop, **where)
            for k, name in enumerate(kinds.names)
        }
    if graph.directed:
        parts |= {COUPLING: coupling(graph, **where), CO_CITATION: co_citation(graph, **where)}
    return Channels(whole, parts)


OPERATORS: dict[str, Callable[..., Operator]] = {
    "augmented_adjacency": augmented_adjacency,
    "adjacency": adjacency,
    "laplacian": laplacian,
    "coupling": coupling,
    "co_citation": co_citation,
    "channels": channels,
}


# The kinds whose self loops have a weight.
WITH_LOOPS = ("augmented_adjacency", "channels")


def make_operator(kind: str, graph: Graph, **where: Any) -> Operator:
    """Make the operator of this name for a graph, ``device`` and ``dtype`` as given.

    Examples
    --------
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([[0, 1], [1, 2]])
    >>> gf.operators.make_operator("laplacian", path).interval
    (0.0, 2.0)
    """
    return OPERATORS[check_name("operator", kind, OPERATORS)](graph, **where)


def _undirected(kind: str, graph: Graph, **where: Any) -> Operator:
    return normalise(
        FactoredMatrix.from_graph(graph), torch.from_numpy(graph.degrees), kind, **where
    )


@made_to_be_kept
def _two_steps(
    kind: str, links: sp.csr_array, *, form_up_to: int | None = None, **where: Any
) -> Operator:
    r"""Make :math:`B B^\top` of :math:`B = D_o^{-1/2} A D_i^{-1/2}` for the links A of every row.

    The row sums of :math:`A D_i^{-1} A^\top` are :math:`D_o`, so this is its normalisation.
    It is multiplied out where it has at most ``form_up_to`` entries.
    """
    links = links.astype(np.float64)
    out, into = (np.asarray(links.sum(axis=axis)).ravel() for axis in (1, 0))
    scales = [1 / np.sqrt(np.where(sums == 0, 1, sums)) for sums in (out, into)]
    factor = sp.csr_array(sp.diags_array(scales[0]) @ links @ sp.diags_array(scales[1]))
    alone = (out == 0).astype(np.float64)
    # Every pair of links to one vertex fills an entry.
    pairs = np.square(np.bincount(factor.indices), dtype=np.float64).sum()
    if form_up_to is None:
        form_up_to = max(FORMED_PER_VERTEX * factor.shape[0], FORMED_ALWAYS)
    if pairs <= form_up_to:
        formed = sp.csr_array(factor @ factor.T + sp.diags_array(alone))
        return Operator(FactoredMatrix.from_scipy(formed), (0.0, 1.0), kind, **where)
    matrix = GramMatrix.from_scipy(factor, torch.from_numpy(alone))
    return Operator(matrix, (0.0, 1.0), kind, **where)
