"""The fixed low-pass filters of APPNP and PPNP (Klicpera et al. 2019)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch

from graphfilter.filters.base import FilterConfig, FixedFilter
from graphfilter.operators import Operator
from graphfilter.operators.polynomial import Basis
from graphfilter.util.errors import ConfigError

__all__ = [
    "ExactPageRankFilter",
    "ExactPageRankFilterConfig",
    "PageRankFilter",
    "PageRankFilterConfig",
]


@dataclass(frozen=True)
class PageRankFilterConfig(FilterConfig):
    """See :class:`PageRankFilter`."""

    K: int = 10
    alpha: float = 0.1
    least: ClassVar[Mapping[str, int]] = {"K": 0}
    ranges: ClassVar[Mapping[str, str]] = {"alpha": "(0, 1]"}


class PageRankFilter(FixedFilter, config=PageRankFilterConfig):
    r"""K steps of personalised PageRank, the filter of APPNP.

    .. math:: f(\lambda) = \alpha \sum_{k<K} (1-\alpha)^k \lambda^k + (1-\alpha)^K \lambda^K

    Parameters
    ----------
    K : int
        Steps.
    alpha : float
        Teleport probability in (0, 1]; 1 leaves the columns as they are.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.filters.PageRankFilter(K=2, alpha=0.5).response([1.0, 0.0, -1.0]).round(3).tolist()
    [1.0, 0.5, 0.5]
    """

    def __init__(self, K: int = 10, alpha: float = 0.1) -> None:
        config = PageRankFilterConfig(K, alpha)
        theta = (1 - alpha) ** torch.arange(K + 1, dtype=torch.float64)
        theta[:-1] *= alpha
        super().__init__(config, theta)
        self.alpha = alpha


@dataclass(frozen=True)
class ExactPageRankFilterConfig(FilterConfig):
    """See :class:`ExactPageRankFilter`."""

    alpha: float = 0.1
    tolerance: float = 1e-12
    ranges: ClassVar[Mapping[str, str]] = {"alpha": "(0, 1]", "tolerance": "(0, 1)"}


class ExactPageRankFilter(FixedFilter, config=ExactPageRankFilterConfig):
    r"""The limit of personalised PageRank, the filter of PPNP, for spectra in [-1, 1].

    .. math:: f(\lambda) = \frac{\alpha}{1 - c\lambda}, \quad c = 1 - \alpha

    No inverse is formed: its Chebyshev series is known in closed form,

    .. math:: \frac{\alpha}{1-c\lambda} = \frac{\alpha}{\sqrt{1-c^2}}
              \Bigl(1 + 2\sum_{k\ge1} z^k T_k(\lambda)\Bigr), \quad
              z = \frac{1-\sqrt{1-c^2}}{c},

    and falls off geometrically: it is cut where the rest is below ``tolerance``.

    Parameters
    ----------
    alpha : float
        Teleport probability in (0, 1].
    tolerance : float
        Bound of the error of the response anywhere in [-1, 1].

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.filters.ExactPageRankFilter(alpha=0.5).response([1.0, 0.0, -1.0]).round(3).tolist()
    [1.0, 0.5, 0.333]
    """

    def __init__(self, alpha: float = 0.1, tolerance: float = 1e-12) -> None:
        config = ExactPageRankFilterConfig(alpha, tolerance)
        c = 1 - alpha
        root = math.sqrt(1 - c * c)
        z = (1 - root) / c if c > 0 else 0.0
        # The rest of the series is at most 2 alpha/root * z^(K+1) / (1 - z).
        bound = tolerance * root * (1 - z) / (2 * alpha)
        degree = max(0, math.ceil(math.log(bound) / math.log(z)) - 1) if z > 0 else 0
        theta = 2 * z ** torch.arange(degree + 1, dtype=torch.float64)
        theta[0] = 1.0
        super().__init__(config, theta * alpha / root)
        self.alpha, self.tolerance = alpha, tolerance

    def basis(self) -> Basis:
        return Basis.chebyshev(-1.0, 1.0)

    def check_operator(self, operator: Operator) -> None:
        if operator.radius > 1:
            raise ConfigError(
                f"personalised PageRank must run on an adjacency, whose spectrum is in [-1, 1]; "
                f"got {operator.kind} with {operator.interval}."
            )
        if operator.transposed is not operator:
            raise ConfigError(
                "the limit of personalised PageRank must run on edges that go both ways; got a "
                "directed graph, where its series does not converge. Take PageRankFilter, or add "
                "the other direction."
            )
