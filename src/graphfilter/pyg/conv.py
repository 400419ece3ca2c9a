"""FilterConv: any graph filter as a layer with the calling convention of PyTorch Geometric."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn

from graphfilter.errors import ConfigError, GraphError, check_count, check_name
from graphfilter.filters import Filter
from graphfilter.operators import NORMALISED, Operator
from graphfilter.pyg.adjacency import prepare_operator
from graphfilter.pyg.cache import OperatorCache
from graphfilter.pyg.edges import check_constant, tensors_of
from graphfilter.pyg.exporting import apply_exported


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
