"""Learned coefficients in the Chebyshev basis."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfilter.errors import ConfigError, check_count
from graphfilter.filters.base import Filter, FilterConfig
from graphfilter.operators import Basis


@dataclass(frozen=True)
class ChebyshevFilterConfig(FilterConfig):
    """See :class:`ChebyshevFilter`."""

    degree: int = 16
    lambda_max: float = 2.0
    lambda_min: float = 0.0
    init: float = 0.5

    def __post_init__(self) -> None:
        check_count("degree", self.degree, least=0)
        if not self.lambda_max > self.lambda_min:
            raise ConfigError(
                f"lambda_max must exceed lambda_min; got {self.lambda_max} and {self.lambda_min}."
            )


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
        self,
        degree: int = 16,
        lambda_max: float = 2.0,
        lambda_min: float = 0.0,
        init: float = 0.5,
    ) -> None:
        super().__init__(ChebyshevFilterConfig(degree, lambda_max, lambda_min, init))
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
