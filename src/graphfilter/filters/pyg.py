"""Graph filters as layers with the calling convention of PyTorch Geometric.

:class:`FilterConv` makes a layer of any filter, and there is one class for each filter of
:mod:`graphfilter.filters`. In programs of ``torch.export`` a filter is one operation that the
program calls by name. :func:`diagnose` says what frequencies the labels of a ``Data`` have.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.filters.base import Filter, polynomials_of
from graphfilter.filters.chebyshev import ChebyshevFilter
from graphfilter.filters.edge_index import OperatorCache, prepare_operator, read_edges
from graphfilter.filters.horizontal import HorizontalFilter
from graphfilter.filters.pagerank import ExactPageRankFilter, PageRankFilter
from graphfilter.filters.power import PowerFilter
from graphfilter.filters.stacked import StackedFilter
from graphfilter.operators import Operator
from graphfilter.operators.kernels import make_kernel
from graphfilter.operators.kernels.factored_matrix import FactoredMatrix
from graphfilter.operators.operator import NORMALISED
from graphfilter.operators.polynomial import Basis
from graphfilter.spectral import Diagnosis, diagnose as diagnose_graph
from graphfilter.spectral.diagnosis import known_frequency
from graphfilter.util.errors import ConfigError, GraphError, check_count, check_name

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
    steps = Basis(*basis).steps(len(weights) - 1)
    grouped = x.reshape(n, 1, -1).contiguous()
    return make_kernel(matrix, x.dtype).apply_recurrence(grouped, weights.contiguous(), steps)[0]


@_polynomial.register_fake
def _(x: Tensor, *_: object) -> Tensor:
    return torch.empty_like(x)


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
    operator = conv.prepare(x, edge_index, edge_weight)
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
    if features is not None:
        features = features.detach().to_dense().cpu().numpy()
    return Graph.from_edges(
        torch.stack([edges.sources, edges.targets], 1).cpu().numpy(),
        data.num_nodes,
        weights=None if edges.weights is None else edges.weights.cpu().numpy(),
        labels=labels.detach().cpu().reshape(-1).numpy(),
        features=features,
    )


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
