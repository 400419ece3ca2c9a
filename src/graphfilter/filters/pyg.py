"""Graph filters as layers with the calling convention of PyTorch Geometric, and its graphs.

Its graphs are read, checked, and made into an operator. :class:`FilterConv` makes a layer of any
filter, and there is one class for each filter of :mod:`graphfilter.filters`. In programs of
``torch.export`` a filter is one operation that the program calls by name.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from graphfilter.filters.base import Filter, polynomials_of
from graphfilter.filters.chebyshev import ChebyshevFilter
from graphfilter.filters.horizontal import HorizontalFilter
from graphfilter.filters.pagerank import ExactPageRankFilter, PageRankFilter
from graphfilter.filters.power import PowerFilter
from graphfilter.filters.stacked import StackedFilter
from graphfilter.operators import Operator
from graphfilter.operators.kernels.product_kernel import FactoredMatrix, made_to_be_kept
from graphfilter.operators.operator import NORMALISED
from graphfilter.operators.polynomial import Basis
from graphfilter.util.errors import ConfigError, GraphError, check_count, check_name

__all__ = [
    "ChebyshevFilterConv",
    "ExactPageRankFilterConv",
    "FilterConv",
    "HorizontalFilterConv",
    "PageRankFilterConv",
    "PowerFilterConv",
    "StackedFilterConv",
    "prepare_operator",
]

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
    is_sparse_tensor = _is_sparse_tensor(edge_index)
    if not is_sparse_tensor and getattr(edge_index, "layout", None) not in _SPARSE:
        return _of_pairs(edge_index, edge_weight, num_nodes)
    shape = tuple(edge_index.sparse_sizes() if is_sparse_tensor else edge_index.shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(f"an adjacency must be square; got shape {shape}.")
    if edge_weight is not None:
        raise GraphError(
            "the weights of a sparse adjacency are its values; got an edge_weight too. Leave one "
            "of them out."
        )
    if num_nodes is not None and num_nodes != shape[0]:
        raise GraphError(
            f"the adjacency must be ({num_nodes}, {num_nodes}), one row per row of x; got "
            f"({shape[0]}, {shape[0]})."
        )
    if is_sparse_tensor:
        targets, sources, values = edge_index.coo()
    else:
        entries = edge_index.to_sparse_coo().coalesce()
        (targets, sources), values = entries.indices(), entries.values()
    return Edges(sources, targets, _checked_weights(values, len(sources)), shape[0])


def _is_sparse_tensor(edge_index: Any) -> bool:
    """Return whether this is a SparseTensor, PyTorch Geometric's own class."""
    return hasattr(edge_index, "sparse_sizes") and not isinstance(edge_index, Tensor)


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
        On the device of the edges; its ``transposed`` is another one where they are not symmetric.

    Examples
    --------
    >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> prepare_operator(path, operator="adjacency")
    Operator(adjacency, 3 vertices, spectrum in [-1, 1])
    """
    check_name("operator", operator, NORMALISED)
    edges = read_edges(edge_index, edge_weight, num_nodes)
    sources, targets, weights = edges.sources, edges.targets, edges.weights
    if weights is None:
        weights = torch.ones(len(sources), dtype=torch.float64, device=sources.device)
    loops = sources == targets
    degrees = torch.bincount(targets[~loops], weights[~loops], minlength=edges.n).double()
    own = torch.ones_like(degrees)
    if operator == "augmented_adjacency":
        own[sources[loops]] = weights[loops]
        degrees += own
    alone = degrees == 0
    scale = (degrees + alone).rsqrt()
    sign, interval = 1.0, (-1.0, 1.0)
    if operator == "augmented_adjacency":
        diagonal = torch.where(alone, 1.0, own * scale.square())
    elif operator == "adjacency":
        diagonal = alone.double()
    else:
        diagonal, sign, interval = 1 - alone.double(), -1.0, (0.0, 2.0)
    # As in gcn_norm, no edge goes out of a vertex that none comes in to.
    kept = ~(loops | alone[sources])
    places = torch.stack([targets[kept], sources[kept]])
    factors = {"scale": scale, "diagonal": diagonal, "sign": sign}
    matrix, mirror = _csr_both_ways(places, weights[kept], edges.n, factors)
    other = None if _equal(matrix, mirror) else mirror
    return Operator(matrix, interval, operator, mirror=other, dtype=dtype)


def _csr_both_ways(
    places: Tensor, weights: Tensor, n: int, factors: dict[str, Any]
) -> list[FactoredMatrix]:
    """Return the matrix with these entries at rows and columns (2, m), and its transpose.

    Repeated entries add up.
    """
    if places.device.type == "cpu":
        # Two to three times faster on a CPU than torch, which sorts; this counts.
        matrix = sp.coo_array((weights.numpy(), tuple(places.numpy())), shape=(n, n)).tocsr()
        both = [(m.indptr, m.indices, m.data) for m in (matrix, matrix.T.tocsr())]
    else:
        both = []
        for one in (places, places.flip(0)):
            entries = torch.sparse_coo_tensor(one, weights, (n, n)).coalesce()
            ends = torch.bincount(entries.indices()[0], minlength=n).cumsum(0)
            both.append((pad(ends, (1, 0)), entries.indices()[1], entries.values()))
    index = torch.int32 if max(len(both[0][1]), n) < 2**31 else torch.int64
    made = []
    for offsets, columns, values in both:
        values = torch.as_tensor(values)
        made.append(
            FactoredMatrix(
                torch.as_tensor(offsets).to(index), torch.as_tensor(columns).to(index), n,
                values if bool((values != 1).any()) else None, checked=True, **factors,
            )
        )  # fmt: skip
    return made


def _equal(a: FactoredMatrix, b: FactoredMatrix) -> bool:
    """Return whether two matrices of one scale and diagonal are the same, to rounding of sums."""
    same = torch.equal(a.offsets, b.offsets) and torch.equal(a.columns, b.columns)
    if not same or a.values is None or b.values is None:
        return same
    return torch.allclose(a.values, b.values, rtol=1e-12, atol=0.0)


class OperatorCache:
    """Keep one operator, and give it back for the very tensors it was made from.

    An operator is given back only where each tensor is the same *object* as then, not one that
    came to lie at its address, and has not been written to since (torch counts every write, in
    place or through a view; not those through ``.data`` or a numpy array of the same memory). Of
    anything else a new operator is made. Neither copied nor pickled with its layer.
    """

    def __init__(self) -> None:
        # What it was made from, the tensors themselves, held weakly, and the operator.
        self._entry: tuple[tuple[Any, ...], list[weakref.ref[Any]], Operator] | None = None

    def get(
        self, edge_index: Any, edge_weight: Tensor | None, setting: tuple[Any, ...],
        make: Callable[[], Operator],
    ) -> Operator:  # fmt: skip
        """Return the operator of a graph: the kept one, or the one that ``make`` makes.

        ``setting`` is what else it is made from.
        """
        parts = edge_index.coo() if _is_sparse_tensor(edge_index) else (edge_index,)
        tensors = [part for part in (*parts, edge_weight) if part is not None]
        if not all(isinstance(tensor, Tensor) for tensor in tensors):
            return make()
        check_constant(*tensors)
        # torch does not count writes to tensors that were made in inference mode.
        if any(tensor.is_inference() for tensor in tensors):
            self.clear()
            return make()
        state = (*setting, *((tensor._version, _address(tensor)) for tensor in tensors))
        if self._entry is not None:
            kept, seen, operator = self._entry
            if kept == state and all(a() is b for a, b in zip(seen, tensors, strict=True)):
                return operator
        operator = make()
        self._entry = state, [weakref.ref(tensor) for tensor in tensors], operator
        return operator

    def clear(self) -> None:
        """Forget the operator."""
        self._entry = None

    def __reduce__(self) -> tuple[type[OperatorCache], tuple[()]]:
        """Copy and pickle as an empty one."""
        return OperatorCache, ()


def _address(tensor: Tensor) -> int:
    """Return where a tensor lies, which assigning its ``.data`` changes; 0 of a sparse one."""
    return tensor.data_ptr() if tensor.layout == torch.strided else 0


_OF_EDGES = (
    "(Tensor x, Tensor weights, Tensor edge_index, Tensor? edge_weight, str operator, "
    "float[] basis) -> Tensor"
)


@torch.library.custom_op("graphfilter::filtered", mutates_args=(), schema=_OF_EDGES)
def _filtered_edges(
    x: Tensor,
    weights: Tensor,
    edge_index: Tensor,
    edge_weight: Tensor | None,
    operator: str,
    basis: Sequence[float],
) -> Tensor:
    made = prepare_operator(edge_index, edge_weight, len(x), operator=operator, dtype=x.dtype)
    steps = Basis(*basis).steps(len(weights) - 1)
    grouped = x.reshape(len(x), 1, -1).contiguous()
    return made.kernel.apply_recurrence(grouped, weights.contiguous(), steps)[0]


@_filtered_edges.register_fake
def _(x: Tensor, *_: object) -> Tensor:
    return torch.empty_like(x)


def _exported_with_edges(
    conv: FilterConv, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None
) -> Tensor:
    """Return f(P) x as one operation of an exported program, which makes P from the edges."""
    if isinstance(conv.filter, ExactPageRankFilter):
        raise GraphError("ExactPageRankFilter solves equations and cannot be exported with edges.")
    interval = (0.0, 2.0) if conv.operator == "laplacian" else (-1.0, 1.0)
    known: Any = SimpleNamespace(kind=conv.operator, interval=interval, radius=interval[1])
    basis, weights = polynomials_of([conv.filter], known)
    numbers = [basis.scale, basis.shift, basis.step, basis.back]
    flat = x.to(torch.promote_types(x.dtype, torch.float32))
    y = _filtered_edges(
        flat, weights.to(flat.dtype), edge_index, edge_weight, conv.operator, numbers
    )
    return y.to(x.dtype)


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
            if edge_weight is not None:
                raise GraphError(
                    "an Operator has its weights; got an edge_weight too. Leave it out."
                )
            if (kind := edge_index.kind) in NORMALISED and kind != self.operator:
                raise GraphError(
                    f"the layer was made for the operator {self.operator!r}; got {kind!r}. Prepare "
                    f"it with operator={self.operator!r}, or make the layer with the other."
                )
            return edge_index
        n, dtype = x.shape[-2], x.dtype
        if dtype != torch.float64 and not (dtype == torch.bfloat16 and x.is_cuda):
            dtype = torch.float32

        def make() -> Operator:
            return prepare_operator(edge_index, edge_weight, n, operator=self.operator, dtype=dtype)

        if not self.cached:
            return make()
        return self._cache.get(edge_index, edge_weight, (n, dtype, self.operator), make)

    def extra_repr(self) -> str:
        channels = "" if self.lin is None else f"{self.in_channels}, {self.out_channels}, "
        return f"{channels}operator={self.operator}, cached={self.cached}"


def _filtered(conv: FilterConv, x: Tensor, edge_index: Any, edge_weight: Tensor | None) -> Tensor:
    columns = x.movedim(-2, 0)
    flat = columns.flatten(1)
    if torch.compiler.is_exporting() and not isinstance(edge_index, Operator):
        y = _exported_with_edges(conv, flat, edge_index, edge_weight)
        return y.view(columns.shape).movedim(0, -2)
    if torch.compiler.is_exporting():
        raise GraphError(
            "an exported layer must get the edges; got an Operator. Pass its edge_index and "
            "edge_weight."
        )
    operator = conv.prepare(x, edge_index, edge_weight)
    if torch.promote_types(x.dtype, operator.dtype) == operator.dtype:
        flat = flat.to(operator.dtype)
    y = conv.filter(operator, flat).to(x.dtype)
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


class _ConvOf(FilterConv):
    """A layer that makes its filter: the filter's own arguments follow the channels."""

    make: ClassVar[Callable[..., Filter]]
    usual_operator: ClassVar[str] = "augmented_adjacency"

    def __init__(
        self,
        in_channels: int | None = None,
        out_channels: int | None = None,
        *setting: Any,
        operator: str | None = None,
        cached: bool = False,
        bias: bool = True,
        **named: Any,
    ) -> None:
        super().__init__(
            self.make(*setting, **named), in_channels, out_channels,
            operator=operator or self.usual_operator, cached=cached, bias=bias,
        )  # fmt: skip


class StackedFilterConv(_ConvOf):
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
    make = StackedFilter


class HorizontalFilterConv(_ConvOf):
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
    make = HorizontalFilter


class ChebyshevFilterConv(_ConvOf):
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
    make = ChebyshevFilter
    usual_operator = "laplacian"


class PowerFilterConv(_ConvOf):
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
    make = PowerFilter


class PageRankFilterConv(_ConvOf):
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
    make = PageRankFilter


class ExactPageRankFilterConv(_ConvOf):
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
    make = ExactPageRankFilter
