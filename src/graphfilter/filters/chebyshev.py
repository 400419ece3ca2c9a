"""Learned coefficients in the Chebyshev basis.

The Chebyshev filter as the paper's authors coded it, with its first term twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from graphfilter.filters.base import Filter, FilterConfig
from graphfilter.operators.polynomial import Basis
from graphfilter.util.errors import ConfigError

__all__ = [
    "ChebyshevFilter",
    "ChebyshevFilterConfig",
    "RepeatedChebyshevFilter",
    "RepeatedChebyshevFilterConfig",
]


@dataclass(frozen=True)
class ChebyshevFilterConfig(FilterConfig):
    """See :class:`ChebyshevFilter`."""

    degree: int = 16
    lambda_max: float = 2.0
    lambda_min: float = 0.0
    init: float = 0.5
    least: ClassVar[Mapping[str, int]] = {"degree": 0}


class ChebyshevFilter(Filter, config=ChebyshevFilterConfig):
    r"""Learn :math:`f(\lambda) = \sum_k c_k T_k(\hat\lambda)`, the paper's SGF-Cheby (section 6.2).

    .. math:: \hat\lambda = \frac{2\lambda - (\lambda_{\max} + \lambda_{\min})}
                                 {\lambda_{\max} - \lambda_{\min}}

    The basis of ChebNet (Defferrard et al. 2016). Where :math:`\lambda_{\max}` is set below the
    operator's largest eigenvalue, as the paper does with 1.5 for the Laplacian,
    :math:`T_k(\hat\lambda)` grows exponentially in k and training diverges.

    Parameters
    ----------
    degree : int
    lambda_max, lambda_min : float
        The interval taken for the operator's spectrum; [0, 2] is the Laplacian's.
    init : float
        Initial value of every coefficient.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.filters.ChebyshevFilter(degree=2).response([0.0, 1.0, 2.0]).round(3).tolist()
    [0.5, 0.0, 1.5]
    """

    def __init__(
        self, degree: int = 16, lambda_max: float = 2.0, lambda_min: float = 0.0, init: float = 0.5
    ) -> None:
        super().__init__(ChebyshevFilterConfig(degree, lambda_max, lambda_min, init))
        if not lambda_max > lambda_min:
            raise ConfigError(
                f"lambda_max must exceed lambda_min; got {lambda_max} and {lambda_min}."
            )
        self.degree = degree
        self.lambda_max = lambda_max
        self.lambda_min = lambda_min
        self.init = init
        self.cheby = nn.Parameter(torch.empty(degree + 1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        with torch.no_grad():
            self.cheby.fill_(self.init)

    def basis(self) -> Basis:
        return Basis.chebyshev(self.lambda_min, self.lambda_max)

    def weights(self) -> Tensor:
        return self.cheby


@dataclass(frozen=True)
class RepeatedChebyshevFilterConfig(FilterConfig):
    """See :class:`RepeatedChebyshevFilter`."""

    n_terms: int = 16
    lambda_max: float = 2.0
    init: float = 0.5
    least: ClassVar[Mapping[str, int]] = {"n_terms": 2}
    ranges: ClassVar[Mapping[str, str]] = {"lambda_max": "(0, inf)"}


class RepeatedChebyshevFilter(ChebyshevFilter, config=RepeatedChebyshevFilterConfig):
    r"""Learn :math:`f(\lambda) = \sum_k c_k S_k(\hat\lambda)` with a recurrence that starts twice.

    .. math:: S_0 = S_1 = 1, \qquad S_{k+1} = 2 \hat\lambda S_k - S_{k-1}, \qquad
              \hat\lambda = 2 \lambda / \lambda_{\max} - 1

    The code of *Adaptive Stacked Graph Filter* (gear/sgf, ``model.py``) sets :math:`S_1` to the
    input where Chebyshev's recurrence has :math:`T_1 = \hat\lambda`, so that
    :math:`S_{k+1} = V_k`, the Chebyshev polynomials of the third kind: 16 terms are of degree 14.
    :class:`ChebyshevFilter` is what the paper describes.

    Parameters
    ----------
    n_terms : int
    lambda_max : float
        The interval taken for the operator's spectrum is [0, ``lambda_max``].
    init : float
        Initial value of every coefficient.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.filters.RepeatedChebyshevFilter(n_terms=2).response([0.0, 1.0, 2.0]).round(3).tolist()
    [1.0, 1.0, 1.0]
    """

    def __init__(self, n_terms: int = 16, lambda_max: float = 2.0, init: float = 0.5) -> None:
        config = RepeatedChebyshevFilterConfig(n_terms, lambda_max, init)
        super().__init__(n_terms - 1, lambda_max, init=init)
        self.config, self.degree = config, n_terms - 2
        self.register_buffer("terms", third_kind(n_terms), persistent=False)

    def weights(self) -> Tensor:
        return self.cheby @ self.get_buffer("terms").to(self.cheby.dtype)


def third_kind(n_terms: int) -> Tensor:
    r"""Write :math:`S_0, S_1, \dots` in Chebyshev polynomials of the first kind: (n, n - 1).

    :math:`V_k = 2 T_k - V_{k-1}` with :math:`V_0 = 1`.
    """
    rows = torch.zeros(n_terms, n_terms - 1, dtype=torch.float64)
    rows[:2, 0] = 1.0
    for k in range(1, n_terms - 1):
        rows[k + 1] = -rows[k]
        rows[k + 1, k] += 2.0
    return rows
