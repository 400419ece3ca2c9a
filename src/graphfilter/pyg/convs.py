"""One layer per filter of :mod:`graphfilter.filters`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from graphfilter.filters import (
    ChebyshevFilter,
    ExactPageRankFilter,
    HorizontalFilter,
    PageRankFilter,
    PowerFilter,
    StackedFilter,
)
from graphfilter.pyg.conv import FilterConv


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
