"""The operator of the last graph a layer has seen, for as long as that graph is unchanged.

The ways PyTorch Geometric writes a graph, read and checked.

The operator of a graph as PyTorch Geometric writes it.

Filters in programs of ``torch.export``: one operation that the program calls by name.

FilterConv: any graph filter as a layer with the calling convention of PyTorch Geometric.

One layer per filter of :mod:`graphfilter.filters`.

What frequencies the labels of a PyTorch Geometric ``Data`` have.
"""

from __future__ import annotations

import copy
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.filters.base import Filter, polynomials_of
from graphfilter.filters.chebyshev import ChebyshevFilter
from graphfilter.filters.horizontal import HorizontalFilter
from graphfilter.filters.pagerank import ExactPageRankFilter, PageRankFilter
from graphfilter.filters.power import PowerFilter
from graphfilter.filters.stacked import StackedFilter
from graphfilter.operators import Operator
from graphfilter.operators.kernels import make_kernel
from graphfilter.operators.kernels.factored_matrix import FactoredMatrix, made_to_be_kept
from graphfilter.operators.operator import NORMALISED, DirectedOperator
from graphfilter.operators.polynomial import Basis
from graphfilter.spectral import Diagnosis, diagnose as diagnose_graph
from graphfilter.spectral.diagnosis import known_frequency
from graphfilter.util.errors import ConfigError, GraphError, check_count, check_name


@dataclass(frozen=True)
class _Seen:
    """A tensor as it was: the object itself, held weakly, where it lay and how often written to."""

    tensor: weakref.ref[Any]
    version: int
    address: int

    @classmethod
    def of(cls, tensor: Tensor) -> _Seen:
        return cls(weakref.ref(tensor), tensor._version, _address(tensor))

    def is_still(self, tensor: Tensor) -> bool:
        return (
            self.tensor() is tensor
            and self.version == tensor._version
            and self.address == _address(tensor)
        )


@dataclass(frozen=True)
class _Entry:
    seen: tuple[_Seen, ...]
    setting: tuple[Any, ...]
    operator: Operator


class OperatorCache:
    """Keep one operator, and give it back for the very tensors it was made from.

    An operator is given back only where each tensor is the same *object* as then, not one that
    came to lie at its address, and has not been written to since (torch counts every write, in
    place or through a view; not those through ``.data`` or a numpy array of the same memory). Of
    anything else a new operator is made. Neither copied nor pickled with its layer.
    """

    def __init__(self) -> None:
        self._entry: _Entry | None = None

    def get(
        self, tensors: tuple[Tensor, ...], setting: tuple[Any, ...], make: Callable[[], Operator]
    ) -> Operator:
        """Return the operator of these tensors: the kept one, or the one that ``make`` makes.

        ``setting`` is what else it is made from.
        """
        # torch does not count writes to tensors that were made in inference mode.
        countable = not any(tensor.is_inference() for tensor in tensors)
        entry = self._entry
        if (
            countable
            and entry is not None
            and entry.setting == setting
            and len(entry.seen) == len(tensors)
            and all(seen.is_still(t) for seen, t in zip(entry.seen, tensors, strict=True))
        ):
            return entry.operator
        made = make()
        self._entry = None
        if countable:
            self._entry = _Entry(tuple(map(_Seen.of, tensors)), setting, made)
        return made

    def clear(self) -> None:
        """Forget the operator."""
        self._entry = None

    def __reduce__(self) -> tuple[type[OperatorCache], tuple[()]]:
        """Copy and pickle as an empty one."""
        return OperatorCache, ()


def _address(tensor: Tensor) -> int:
    """Return where a tensor lies, which assigning its ``.data`` changes; 0 of a sparse one."""
    return tensor.data_ptr() if tensor.layout == torch.strided else 0


_SPARSE = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges from sources to targets, with their weights; None where all are 1.

    Shapes
    ------
    sources, targets, weights : (m,)
    """

    sources: Tensor
    targets: Tensor
    weights: Tensor | None
    n: int


def read_edges(
    edge_index: Any, edge_weight: Tensor | None = None, num_nodes: int | None = None
) -> Edges:
    """Return the edges of an edge index or an adjacency; raise where they are not a graph."""
    if num_nodes is not None:
        check_count("num_nodes", num_nodes, least=0, most=2**63)
    if hasattr(edge_index, "sparse_sizes") and not isinstance(edge_index, Tensor):
        edges = _of_sparse_tensor(edge_index)
    elif isinstance(edge_index, Tensor) and edge_index.layout in _SPARSE:
        edges = _of_torch_sparse(edge_index)
    else:
        return _of_pairs(edge_index, edge_weight, num_nodes)
    if edge_weight is not None:
        raise GraphError(
            "the weights of a sparse adjacency are its values; got an edge_weight too. Leave one "
            "of them out."
        )
    if num_nodes is not None and num_nodes != edges.n:
        raise GraphError(
            f"the adjacency must be ({num_nodes}, {num_nodes}), one row per row of x; got "
            f"({edges.n}, {edges.n})."
        )
    return replace(edges, weights=_checked_weights(edges.weights, len(edges.sources)))


def tensors_of(edge_index: Any, edge_weight: Tensor | None) -> tuple[Tensor, ...]:
    """Return the tensors that a graph is made of; raise where it is none."""
    if hasattr(edge_index, "sparse_sizes") and not isinstance(edge_index, Tensor):
        parts = edge_index.coo()
    else:
        parts = (edge_index,)
    found = tuple(part for part in (*parts, edge_weight) if part is not None)
    if not all(isinstance(part, Tensor) for part in found):
        read_edges(edge_index, edge_weight)
    return found


def check_constant(*tensors: Tensor) -> None:
    """Raise where a gradient is asked of what an operator is made from."""
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        raise GraphError(
            "edge_weight must not require a gradient: an operator is a constant, and its weights "
            "would silently not be learned. Pass edge_weight.detach(), or learn them in a layer "
            "of PyTorch Geometric."
        )


def _of_pairs(edge_index: Any, edge_weight: Tensor | None, num_nodes: int | None) -> Edges:
    if not isinstance(edge_index, Tensor):
        raise GraphError(
            "edge_index must be a Tensor (2, m), a sparse adjacency or an Operator; got "
            f"{type(edge_index).__name__}."
        )
    whole = not (edge_index.is_floating_point() or edge_index.is_complex())
    if edge_index.ndim != 2 or edge_index.shape[0] != 2 or not whole:
        raise GraphError(
            "edge_index must be whole numbers of shape (2, m); got "
            f"{edge_index.dtype} of shape {tuple(edge_index.shape)}."
        )
    # Not a subclass, such as PyTorch Geometric's EdgeIndex, whose operations do more.
    pairs = edge_index.detach().as_subclass(Tensor).long()
    least, most = (int(pairs.min()), int(pairs.max())) if pairs.numel() else (0, -1)
    n = most + 1 if num_nodes is None else num_nodes
    if least < 0 or most >= n:
        raise GraphError(
            f"edge_index must number vertices 0..{n - 1}, one per row of x; got {least}..{most}."
        )
    return Edges(pairs[0], pairs[1], _checked_weights(edge_weight, pairs.shape[1]), n)


def _of_torch_sparse(adjacency: Tensor) -> Edges:
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise GraphError(f"an adjacency must be square; got shape {tuple(adjacency.shape)}.")
    entries = adjacency.to_sparse_coo().coalesce()
    targets, sources = entries.indices().unbind()
    return Edges(sources, targets, entries.values(), adjacency.shape[0])


def _of_sparse_tensor(adjacency: Any) -> Edges:
    rows, columns = adjacency.sparse_sizes()
    if rows != columns:
        raise GraphError(f"an adjacency must be square; got shape {(rows, columns)}.")
    targets, sources, values = adjacency.coo()
    return Edges(sources, targets, values, rows)


def _checked_weights(weights: Tensor | None, n_edges: int) -> Tensor | None:
    """Return the weights in float64; None where all are 1. Raise where they are impossible."""
    if weights is None:
        return None
    check_constant(weights)
    if weights.shape != (n_edges,):
        raise GraphError(
            f"edge_weight must be one number per edge ({n_edges},); got shape "
            f"{tuple(weights.shape)}."
        )
    values = weights.detach().double()
    if not bool((values.isfinite() & (values >= 0)).all()):
        raise GraphError("edge_weight must be finite and not negative; got other numbers.")
    return None if bool((values == 1).all()) else values


@made_to_be_kept
def prepare_operator(
    edge_index: Any,
    edge_weight: Tensor | None = None,
    num_nodes: int | None = None,
    *,
    operator: str = "augmented_adjacency",
    dtype: torch.dtype = torch.float32,
) -> Operator:
    r"""Make the operator of a graph as PyTorch Geometric writes it, once for all layers.

    The numbers are those of its ``gcn_norm``: with weights :math:`w` of the edges that come in,

    .. math:: P_{ij} = \frac{w_{j \to i}}{\sqrt{d_i d_j}}, \qquad d_i = \sum_j w_{j \to i} .

    ``augmented_adjacency`` gives every vertex without a self loop one of weight 1, as
    ``add_self_loops=True`` does there. ``adjacency`` and ``laplacian`` leave out self loops; a
    vertex that no edge comes in to is its own only neighbour. Repeated edges add up. Edges may be
    directed; gradients are then exact too.

    Parameters
    ----------
    edge_index : Tensor (2, m), sparse Tensor (n, n) or SparseTensor (n, n)
        Edges from the first row to the second; or the transposed adjacency ``adj_t``, whose row i
        holds the edges that come in to i. A sparse tensor may be COO, CSR or CSC.
    edge_weight : Tensor (m,), optional
        Not negative. Operators are constants: it must not require a gradient.
    num_nodes : int, optional
        Otherwise the largest number in ``edge_index`` plus one.
    operator : {'augmented_adjacency', 'adjacency', 'laplacian'}
    dtype : torch.dtype
        Of the columns that are multiplied.

    Returns
    -------
    Operator
        On the device of the edges; a ``DirectedOperator`` where they are not symmetric.

    Examples
    --------
    >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> prepare_operator(path, operator="adjacency")
    Operator(adjacency, 3 vertices, spectrum in [-1, 1])
    """
    check_name("operator", operator, NORMALISED)
    edges = read_edges(edge_index, edge_weight, num_nodes)
    loops = edges.sources == edges.targets
    own = _loop_weights(edges, loops) if operator == "augmented_adjacency" else None
    edges = _keep(edges, ~loops)
    degrees = _degrees(edges) if own is None else _degrees(edges) + own
    alone = degrees == 0
    if bool(alone.any()):
        # As in gcn_norm, no edge goes out of a vertex that none comes in to.
        edges = _keep(edges, ~alone[edges.sources])
    scale = (degrees + alone).rsqrt()
    sign, interval = 1.0, (-1.0, 1.0)
    if own is not None:
        diagonal = torch.where(alone, 1.0, own * scale.square())
    elif operator == "adjacency":
        diagonal = alone.double()
    else:
        diagonal, sign, interval = 1 - alone.double(), -1.0, (0.0, 2.0)
    matrix, mirror = (
        replace(one, scale=scale, diagonal=diagonal, sign=sign) for one in _csr_both_ways(edges)
    )
    if _equal(matrix, mirror):
        return Operator(matrix, interval, operator, dtype=dtype)
    return DirectedOperator(matrix, mirror, interval, operator, dtype=dtype)


def _loop_weights(edges: Edges, loops: Tensor) -> Tensor:
    """Return the weight of each vertex's self loop, 1 where it has none: (n,)."""
    own = torch.ones(edges.n, dtype=torch.float64, device=edges.sources.device)
    if edges.weights is not None:
        own[edges.sources[loops]] = edges.weights[loops]
    return own


def _keep(edges: Edges, kept: Tensor) -> Edges:
    if bool(kept.all()):
        return edges
    weights = None if edges.weights is None else edges.weights[kept]
    return Edges(edges.sources[kept], edges.targets[kept], weights, edges.n)


def _degrees(edges: Edges) -> Tensor:
    """Return the sum of the weights that come in to each vertex, in float64."""
    if edges.weights is None:
        return torch.bincount(edges.targets, minlength=edges.n).double()
    return torch.bincount(edges.targets, edges.weights, minlength=edges.n)


def _csr_both_ways(edges: Edges) -> tuple[FactoredMatrix, FactoredMatrix]:
    """Return the matrix whose row i holds the edges that come in to i, and its transpose."""
    if edges.sources.device.type != "cpu":
        return _csr(edges), _csr(Edges(edges.targets, edges.sources, edges.weights, edges.n))
    # Two to three times faster on a CPU than torch, which sorts; this counts.
    sources, targets = edges.sources.numpy(), edges.targets.numpy()
    weights = np.ones(len(sources)) if edges.weights is None else edges.weights.numpy()
    matrix = sp.coo_array((weights, (targets, sources)), shape=(edges.n, edges.n)).tocsr()
    weighted = bool((matrix.data != 1).any())
    made = [FactoredMatrix.from_scipy(m, values=weighted) for m in (matrix, matrix.T.tocsr())]
    return made[0], made[1]


def _merged(edges: Edges) -> Edges:
    """Return the edges in order of targets and sources, repeated ones added up."""
    order = torch.argsort(edges.targets * edges.n + edges.sources, stable=True)
    sources, targets = edges.sources[order], edges.targets[order]
    weights = None if edges.weights is None else edges.weights[order]
    first = torch.ones_like(sources, dtype=torch.bool)
    first[1:] = (sources[1:] != sources[:-1]) | (targets[1:] != targets[:-1])
    if bool(first.all()):
        return Edges(sources, targets, weights, edges.n)
    if weights is None:
        weights = torch.ones(len(order), dtype=torch.float64, device=order.device)
    number = first.cumsum(0) - 1
    sums = weights.new_zeros(int(number[-1]) + 1).index_add_(0, number, weights)
    return Edges(sources[first], targets[first], sums, edges.n)


def _csr(edges: Edges) -> FactoredMatrix:
    """Return the matrix whose row i holds the edges that come in to i."""
    edges = _merged(edges)
    index = torch.int32 if max(len(edges.sources), edges.n) < 2**31 else torch.int64
    offsets = torch.zeros(edges.n + 1, dtype=index, device=edges.sources.device)
    offsets[1:] = torch.bincount(edges.targets, minlength=edges.n).cumsum(0)
    columns = edges.sources.to(index)
    return FactoredMatrix(offsets, columns, edges.n, edges.weights, checked=True)


def _equal(a: FactoredMatrix, b: FactoredMatrix) -> bool:
    """Return whether two matrices of one scale and diagonal are the same, to rounding of sums."""
    same = torch.equal(a.offsets, b.offsets) and torch.equal(a.columns, b.columns)
    if not same or a.values is None or b.values is None:
        return same
    return torch.allclose(a.values, b.values, rtol=1e-12, atol=0.0)


_SCHEMA = (
    "(Tensor x, Tensor weights, Tensor offsets, Tensor columns, Tensor? values, Tensor? scale, "
    "Tensor? diagonal, float sign, float[] basis) -> Tensor"
)


def apply_exported(filter: Filter, operator: Operator, x: Tensor) -> Tensor:
    """Return f(P) x as one operation of an exported program, which holds the matrix as constants.

    It has no gradient, and its kernel is made again in every call.
    """
    operator.check_columns(x)
    matrix = operator.kernel.matrix
    if not isinstance(matrix, FactoredMatrix):
        raise GraphError(f"an operator of kind {operator.kind} cannot be exported.")
    basis, weights = polynomials_of([filter], operator)
    exact = torch.promote_types(x.dtype, torch.float32)
    numbers = [basis.scale, basis.shift, basis.step, basis.back]
    return _polynomial(
        x, weights.to(exact), matrix.offsets, matrix.columns, matrix.values, matrix.scale,
        matrix.diagonal, matrix.sign, numbers,
    )  # fmt: skip


@torch.library.custom_op("graphfilter::polynomial", mutates_args=(), schema=_SCHEMA)
def _polynomial(
    x: Tensor,
    weights: Tensor,
    offsets: Tensor,
    columns: Tensor,
    values: Tensor | None,
    scale: Tensor | None,
    diagonal: Tensor | None,
    sign: float,
    basis: Sequence[float],
) -> Tensor:
    n = len(offsets) - 1
    matrix = FactoredMatrix(offsets, columns, n, values, scale, diagonal, sign)
    steps = [Basis(*basis).step_of(k) for k in range(len(weights) - 1)]
    grouped = x.reshape(n, 1, -1).contiguous()
    return make_kernel(matrix, x.dtype).apply_recurrence(grouped, weights.contiguous(), steps)[0]


@_polynomial.register_fake
def _(x: Tensor, *_: object) -> Tensor:
    return torch.empty_like(x)


class FilterConv(nn.Module):
    r"""A graph filter as a layer of PyTorch Geometric, with a weight matrix as GCN has one.

    .. math:: Y = f(P)\, X W + b, \qquad f(P) = \sum_k w_k B_k(P)

    It is called as PyTorch Geometric's layers are, ``conv(x, edge_index, edge_weight)``, and needs
    no more than torch. The K products run in this package's kernels, and the gradient keeps nothing
    but x, however large K is. The smaller of X and X W is filtered; both give the same.

    Parameters
    ----------
    filter : Filter
        Of :mod:`graphfilter.filters`; its parameters are learned with the layer's.
    in_channels, out_channels : int, optional
        Columns of x and of the output; ``in_channels=-1`` takes them from the first x. Without
        both there is neither W nor b, and the layer only filters, as ``APPNP`` does.
    operator : {'augmented_adjacency', 'adjacency', 'laplacian'}
        P; see :func:`prepare_operator`.
    cached : bool
        Keep the operator of the last ``edge_index`` and ``edge_weight``, for the next call with the
        same two tensors. One that was written to, and any other, gets an operator of its own.
    bias : bool
        Whether there is b.

    Shapes
    ------
    x : (..., n_vertices, in_channels);  output : (..., n_vertices, out_channels)
    edge_index : (2, m), a sparse tensor or ``SparseTensor`` (n, n), or an Operator
    edge_weight : (m,), not negative, without gradient

    Examples
    --------
    >>> from graphfilter import filters
    >>> conv = FilterConv(filters.PowerFilter(2), 8, 3)
    >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> conv(torch.randn(3, 8), path).shape
    torch.Size([3, 3])
    """

    def __init__(
        self,
        filter: Filter,
        in_channels: int | None = None,
        out_channels: int | None = None,
        *,
        operator: str = "augmented_adjacency",
        cached: bool = False,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if (in_channels is None) != (out_channels is None):
            raise ConfigError(
                "in_channels and out_channels must be given both, or neither for a layer that "
                f"only filters; got {in_channels} and {out_channels}."
            )
        self.in_channels, self.out_channels = in_channels, out_channels
        self.operator = check_name("operator", operator, NORMALISED)
        self.cached = cached
        self.filter = filter
        self.lin: nn.Linear | None = None
        self.bias: nn.Parameter | None = None
        if in_channels is not None and out_channels is not None:
            self.lin = _linear(in_channels, check_count("out_channels", out_channels, most=2**63))
            self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None
        self._cache = OperatorCache()
        self._reset_linear()

    def reset_parameters(self) -> None:
        """Set the weights to initial values: W by Glorot, b 0, the filter's by its config."""
        self.filter.reset_parameters()
        self._cache.clear()
        self._reset_linear()

    def _reset_linear(self) -> None:
        if self.lin is not None and not isinstance(self.lin.weight, nn.UninitializedParameter):
            nn.init.xavier_uniform_(self.lin.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """Return f(P) X W + b."""
        if isinstance(x, tuple | list | dict):
            raise GraphError(
                f"x must be one Tensor; got a {type(x).__name__}. A filter is a polynomial of one "
                "square matrix: there is none from one vertex type to another. In a "
                "heterogeneous graph, use it for relations within one type (HeteroConv)."
            )
        if x.ndim < 2:
            raise GraphError(f"x must be (n_vertices, in_channels); got shape {tuple(x.shape)}.")
        if self.lin is None:
            return self.propagate(x, edge_index, edge_weight)
        if x.shape[-1] < self.lin.out_features:
            y = self.lin(self.propagate(x, edge_index, edge_weight))
        else:
            y = self.propagate(self.lin(x), edge_index, edge_weight)
        return y if self.bias is None else y + self.bias

    def propagate(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """Return f(P) X, in the precision of x."""
        run: Any = _filtered
        if torch.compiler.is_compiling():
            # What runs in there is compiled already, and torch.compile leaves it as it is. Not a
            # decorator, which would load the compiler where nothing is compiled.
            run = torch.compiler.disable(_filtered)
        return run(self, x, edge_index, edge_weight)

    def prepare(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Operator:
        """Return the operator of a graph for columns x: the given one, the cached or a new one."""
        if isinstance(edge_index, Operator):
            return self._given(edge_index, edge_weight)
        if torch.compiler.is_exporting():
            raise GraphError(
                "a layer must be given an Operator to be exported; got an edge_index. Hold "
                "prepare_operator(edge_index) in the module, and call conv(x, self.operator)."
            )
        n, dtype = x.shape[-2], _precision(x)

        def make() -> Operator:
            return prepare_operator(edge_index, edge_weight, n, operator=self.operator, dtype=dtype)

        if not self.cached:
            return make()
        tensors = tensors_of(edge_index, edge_weight)
        check_constant(*tensors)
        return self._cache.get(tensors, (n, dtype, self.operator), make)

    def _given(self, operator: Operator, edge_weight: Tensor | None) -> Operator:
        if edge_weight is not None:
            raise GraphError("an Operator has its weights; got an edge_weight too. Leave it out.")
        if operator.kind in NORMALISED and operator.kind != self.operator:
            raise GraphError(
                f"the layer was made for the operator {self.operator!r}; got {operator.kind!r}. "
                f"Prepare it with operator={self.operator!r}, or make the layer with the other."
            )
        return operator

    def extra_repr(self) -> str:
        channels = "" if self.lin is None else f"{self.in_channels}, {self.out_channels}, "
        return f"{channels}operator={self.operator}, cached={self.cached}"


def _filtered(conv: FilterConv, x: Tensor, edge_index: Any, edge_weight: Tensor | None) -> Tensor:
    operator = conv.prepare(x, edge_index, edge_weight)
    columns = x.movedim(-2, 0)
    flat = columns.reshape(len(columns), -1)
    if torch.promote_types(x.dtype, operator.dtype) == operator.dtype:
        flat = flat.to(operator.dtype)
    run = apply_exported if torch.compiler.is_exporting() else Filter.__call__
    y = run(conv.filter, operator, flat).to(x.dtype)
    return y.view(columns.shape).movedim(0, -2)


def _linear(in_channels: int, out_channels: int) -> nn.Linear:
    if in_channels != -1:
        return nn.Linear(
            check_count("in_channels", in_channels, most=2**63), out_channels, bias=False
        )
    with warnings.catch_warnings():
        # torch announces that its lazy modules may change; nothing a user can act on.
        warnings.filterwarnings("ignore", message="Lazy modules are a new feature")
        return nn.LazyLinear(out_channels, bias=False)


def _precision(x: Tensor) -> torch.dtype:
    """Return the precision the products run in: that of x where the kernels have it."""
    if x.dtype in (torch.float32, torch.float64):
        return x.dtype
    return torch.bfloat16 if x.dtype == torch.bfloat16 and x.is_cuda else torch.float32


class StackedFilterConv(FilterConv):
    r"""The adaptive stacked filter (NT, Maehara, Murata) as a layer: low-, band- or high-pass.

    .. math:: H_0 = X W, \quad H_\ell = \alpha_\ell P H_{\ell-1} + \beta_\ell H_0, \quad
              Y = H_K + b

    Two learned scalars per product. Used instead of ``GCNConv`` it learns whether neighbours agree.

    Parameters
    ----------
    in_channels, out_channels : int, optional
    n_layers, init, seed
        See :class:`~graphfilter.filters.StackedFilter`.
    **options
        ``operator``, ``cached``, ``bias``: see :class:`FilterConv`.

    Examples
    --------
    >>> import torch
    >>> conv = StackedFilterConv(8, 2, n_layers=4)
    >>> cycle = torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]])
    >>> conv(torch.randn(3, 8), cycle).shape
    torch.Size([3, 2])
    """

    filter: StackedFilter

    def __init__(
        self,
        in_channels: int | None = None,
        out_channels: int | None = None,
        n_layers: int = 16,
        init: float | Literal["uniform"] = 0.5,
        seed: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(StackedFilter(n_layers, init, seed), in_channels, out_channels, **options)


class HorizontalFilterConv(FilterConv):
    r"""Learn the coefficients of :math:`f(P) = \sum_k \theta_k P^k`, as GPR-GNN does.

    Parameters
    ----------
    in_channels, out_channels : int, optional
    degree, init
        See :class:`~graphfilter.filters.HorizontalFilter`.
    **options
        ``operator``, ``cached``, ``bias``: see :class:`FilterConv`.

    Examples
    --------
    >>> import torch
    >>> conv = HorizontalFilterConv(degree=2, init=[0.5, 0.3, 0.2])
    >>> conv(torch.ones(2, 1), torch.tensor([[0, 1], [1, 0]])).tolist()
    [[1.0], [1.0]]
    """

    filter: HorizontalFilter

    def __init__(
        self,
        in_channels: int | None = None,
        out_channels: int | None = None,
        degree: int = 16,
        init: float | Sequence[float] = 0.5,
        **options: Any,
    ) -> None:
        super().__init__(HorizontalFilter(degree, init), in_channels, out_channels, **options)


class ChebyshevFilterConv(FilterConv):
    r"""Learn the coefficients of :math:`f(L) = \sum_k c_k T_k(\hat L)`, on the Laplacian.

    Where ``ChebConv`` has one matrix per polynomial, this layer has one scalar per polynomial and
    one matrix. Its ``K`` counts polynomials: ``degree`` is one less.

    Parameters
    ----------
    in_channels, out_channels : int, optional
    degree, lambda_max, lambda_min, init
        See :class:`~graphfilter.filters.ChebyshevFilter`.
    **options
        ``operator``, ``cached``, ``bias``: see :class:`FilterConv`.

    Examples
    --------
    >>> import torch
    >>> conv = ChebyshevFilterConv(8, 2, degree=4)
    >>> conv(torch.randn(2, 8), torch.tensor([[0, 1], [1, 0]])).shape
    torch.Size([2, 2])
    """

    filter: ChebyshevFilter

    def __init__(
        self,
        in_channels: int | None = None,
        out_channels: int | None = None,
        degree: int = 16,
        lambda_max: float = 2.0,
        lambda_min: float = 0.0,
        init: float = 0.5,
        *,
        operator: str = "laplacian",
        **options: Any,
    ) -> None:
        filter = ChebyshevFilter(degree, lambda_max, lambda_min, init)
        super().__init__(filter, in_channels, out_channels, operator=operator, **options)


class PowerFilterConv(FilterConv):
    r"""Multiply k times, :math:`f(P) = P^k`: the same function as ``SGConv``.

    Parameters
    ----------
    in_channels, out_channels : int, optional
    k : int
        Products; the ``K`` of ``SGConv``.
    **options
        ``operator``, ``cached``, ``bias``: see :class:`FilterConv`.

    Examples
    --------
    >>> import torch
    >>> PowerFilterConv(k=2)(torch.eye(2), torch.tensor([[0, 1], [1, 0]])).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """

    filter: PowerFilter

    def __init__(
        self,
        in_channels: int | None = None,
        out_channels: int | None = None,
        k: int = 2,
        **options: Any,
    ) -> None:
        super().__init__(PowerFilter(k), in_channels, out_channels, **options)


class PageRankFilterConv(FilterConv):
    r"""K steps of personalised PageRank: without channels, the same function as ``APPNP``.

    Parameters
    ----------
    in_channels, out_channels : int, optional
    K, alpha
        See :class:`~graphfilter.filters.PageRankFilter`.
    **options
        ``operator``, ``cached``, ``bias``: see :class:`FilterConv`.

    Examples
    --------
    >>> import torch
    >>> PageRankFilterConv(K=1, alpha=0.5)(torch.eye(2), torch.tensor([[0, 1], [1, 0]])).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """

    filter: PageRankFilter

    def __init__(
        self,
        in_channels: int | None = None,
        out_channels: int | None = None,
        K: int = 10,
        alpha: float = 0.1,
        **options: Any,
    ) -> None:
        super().__init__(PageRankFilter(K, alpha), in_channels, out_channels, **options)


class ExactPageRankFilterConv(FilterConv):
    r"""The limit of personalised PageRank, :math:`\alpha (I - (1 - \alpha) P)^{-1} X`, as PPNP has.

    Its edges must go both ways.

    Parameters
    ----------
    in_channels, out_channels : int, optional
    alpha, tolerance
        See :class:`~graphfilter.filters.ExactPageRankFilter`.
    **options
        ``operator``, ``cached``, ``bias``: see :class:`FilterConv`.

    Examples
    --------
    >>> import torch
    >>> conv = ExactPageRankFilterConv(alpha=0.5)
    >>> conv(torch.ones(2, 1), torch.tensor([[0, 1], [1, 0]])).round(decimals=6).tolist()
    [[1.0], [1.0]]
    """

    filter: ExactPageRankFilter

    def __init__(
        self,
        in_channels: int | None = None,
        out_channels: int | None = None,
        alpha: float = 0.1,
        tolerance: float = 1e-12,
        **options: Any,
    ) -> None:
        super().__init__(
            ExactPageRankFilter(alpha, tolerance), in_channels, out_channels, **options
        )


def diagnose(data: Any, mask: Any = "train_mask") -> Diagnosis:
    """Return what frequencies the labels of a ``Data`` have, and which kind of model they need.

    Parameters
    ----------
    data : torch_geometric.data.Data
        With ``y``, one class per vertex (-1: unlabelled), and ``edge_index`` or ``adj_t``.
    mask : str or Tensor (n,), optional
        The vertices whose labels may be looked at, or the name of such a mask of the ``Data``;
        by default those for training, so that nothing is learned of the others. All labels where
        it has no such mask, or with None.

    Returns
    -------
    Diagnosis
        See :func:`graphfilter.spectral.diagnose`: ``.advice``, ``.range``, ``.label_frequency``.

    Examples
    --------
    >>> from types import SimpleNamespace    # Stands for a Data.
    >>> cycle = torch.tensor([[i, (i + 1) % 100] for i in range(100)]).T
    >>> data = SimpleNamespace(edge_index=cycle, y=torch.arange(100) % 2, num_nodes=100)
    >>> diagnose(data).range
    'high'
    """
    return diagnose_graph(graph_of(data), _known(data, mask))


class AddLabelFrequency:
    """A transform that adds the frequency of each class's labels to a ``Data``, from 0 to 2.

    Near 0 neighbours agree and ``GCNConv`` will do; near 1 they say little; near 2 they disagree.
    Where the labels are known in part the frequencies of all are estimated.

    Parameters
    ----------
    mask : str or Tensor (n,), optional
        As in :func:`diagnose`: by default only the labels for training are looked at.
    name : str
        The attribute that is added: a float tensor (n_classes,). NaN for a class that none of
        these vertices has, and where there are no edges.

    Examples
    --------
    >>> from types import SimpleNamespace    # Stands for a Data.
    >>> cycle = torch.tensor([[i, (i + 1) % 100] for i in range(100)]).T
    >>> data = SimpleNamespace(edge_index=cycle, y=torch.arange(100) % 2, num_nodes=100)
    >>> AddLabelFrequency()(data).label_frequency
    tensor([2., 2.])
    """

    def __init__(self, mask: Any = "train_mask", *, name: str = "label_frequency") -> None:
        self.mask = mask
        self.name = name

    def __call__(self, data: Any) -> Any:
        """Return a shallow copy of the ``Data`` with the attribute."""
        graph, known = graph_of(data), _known(data, self.mask)
        if known is None and graph.labels is not None:
            known = graph.labels >= 0
        value = known_frequency(graph, np.empty(0) if known is None else known).value
        made = copy.copy(data)
        setattr(made, self.name, _by_number(graph.classes, value))
        return made

    def __repr__(self) -> str:
        mask = self.mask if isinstance(self.mask, str) or self.mask is None else "..."
        return f"{type(self).__name__}(mask={mask!r}, name={self.name!r})"


def graph_of(data: Any) -> Graph:
    """Return the Graph of a ``Data``, from its ``edge_index`` or ``adj_t``."""
    edge_index, weights = getattr(data, "edge_index", None), getattr(data, "edge_weight", None)
    if edge_index is None:
        edge_index, weights = getattr(data, "adj_t", None), None
    if edge_index is None:
        raise GraphError("the Data must have an edge_index or an adj_t; it has neither.")
    labels = getattr(data, "y", None)
    if not isinstance(labels, Tensor) or labels.numel() != data.num_nodes:
        shape = None if labels is None else tuple(labels.shape)
        raise GraphError(f"the Data must have a y of one class per vertex; got {shape}.")
    edges = read_edges(edge_index, weights, data.num_nodes)
    features = getattr(data, "x", None)
    return Graph.from_edges(
        torch.stack([edges.sources, edges.targets], 1).cpu().numpy(),
        data.num_nodes,
        weights=None if edges.weights is None else edges.weights.cpu().numpy(),
        labels=labels.detach().cpu().reshape(-1).numpy(),
        features=features if features is None else _host(features),
    )


def _host(features: Tensor) -> Any:
    return features.detach().to_dense().cpu().numpy()


def _known(data: Any, mask: Any) -> NDArray[np.bool_] | None:
    found = getattr(data, mask, None) if isinstance(mask, str) else mask
    if found is None:
        if isinstance(mask, str) and mask != "train_mask":
            raise GraphError(f"the Data must have the mask {mask!r}; it has none of this name.")
        return None
    found = torch.as_tensor(found).cpu()
    if found.ndim != 1:
        raise GraphError(
            f"a mask must have one value per vertex; got shape {tuple(found.shape)}. Choose a "
            "column: mask=data.train_mask[:, 0]."
        )
    return found.numpy()


def _by_number(classes: NDArray[Any], values: NDArray[np.float64]) -> Tensor:
    """Put the value of each class at its number; NaN at numbers that are no class."""
    numbers = torch.tensor(classes.astype(np.int64))
    if (numbers < 0).any():
        raise GraphError(f"the classes in y must be numbered from 0; got {numbers.tolist()}.")
    by_number = torch.full((int(numbers.max()) + 1 if len(numbers) else 0,), torch.nan)
    by_number[numbers] = torch.tensor(values).float()
    return by_number
