"""The stacked filter of Adaptive Stacked Graph Filter (NT, Maehara, Murata)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor, nn

from graphfilter.filters.base import Filter, FilterConfig
from graphfilter.operators import Operator
from graphfilter.operators.polynomial import Dropout
from graphfilter.util.errors import ConfigError

__all__ = ["StackedFilter", "StackedFilterConfig"]


@dataclass(frozen=True)
class StackedFilterConfig(FilterConfig):
    """See :class:`StackedFilter`."""

    n_layers: int = 16
    init: float | Literal["uniform"] = 0.5
    names: ClassVar[Mapping[str, Collection[str]]] = {"init": ("uniform",)}

    def build(self, seed: int = 0) -> StackedFilter:
        return StackedFilter(self.n_layers, self.init, seed)


class StackedFilter(Filter, config=StackedFilterConfig):
    r"""K stacked linear filters with two learnable scalars each (section 4).

    .. math:: H_\ell = \alpha_\ell P H_{\ell-1} + \beta_\ell H_0, \quad \ell = 1 \dots K

    which is the polynomial (equation 8, with :math:`\beta_0 = 1`)

    .. math:: \theta_0 = \beta_K, \qquad
              \theta_k = (\alpha_{K-k+1} \cdots \alpha_K)\, \beta_{K-k} .

    Parameters
    ----------
    n_layers : int
        K, the number of layers and the degree of the polynomial.
    init : float or 'uniform'
        Initial value of every :math:`\alpha_\ell` and :math:`\beta_\ell`; 'uniform' draws them
        from [-1, 1].
    seed : int
        For 'uniform'.

    Shapes
    ------
    alpha, beta : (K,);  x, output : (n_vertices, n_columns)

    Examples
    --------
    >>> StackedFilter(n_layers=2, init=0.5).coefficients().tolist()
    [0.5, 0.25, 0.25]
    """

    def __init__(
        self, n_layers: int = 16, init: float | Literal["uniform"] = 0.5, seed: int = 0
    ) -> None:
        super().__init__(StackedFilterConfig(n_layers, init))
        self.degree = n_layers
        self.init: float | Literal["uniform"] = init
        self.seed = seed
        self.alpha = nn.Parameter(torch.empty(n_layers))
        self.beta = nn.Parameter(torch.empty(n_layers))
        self.reset_parameters()

    @classmethod
    def from_polynomial(cls, theta: Sequence[float] | Tensor) -> Self:
        r"""Represent any polynomial :math:`\sum_k \theta_k \lambda^k` (Proposition 1).

        :math:`\alpha_j = 1` for :math:`j \ge 2`, :math:`\alpha_1 = \theta_K` and
        :math:`\beta_i = \theta_{K-i}`. The filter has the precision of ``theta``.
        """
        theta = torch.as_tensor(theta)
        if theta.ndim != 1 or len(theta) < 2:
            raise ConfigError("a polynomial must have at least two coefficients, degree 1.")
        if not theta.is_floating_point():
            theta = theta.to(torch.get_default_dtype())
        made = cls(len(theta) - 1).to(theta.dtype)
        with torch.no_grad():
            made.alpha.fill_(1.0)
            made.alpha[0] = theta[-1]
            made.beta.copy_(theta[:-1].flip(0))
        return made

    def reset_parameters(self) -> None:
        with torch.no_grad():
            if self.init == "uniform":
                generator = torch.Generator().manual_seed(self.seed)
                for scalars in (self.alpha, self.beta):
                    scalars.copy_(2 * torch.rand(self.degree, generator=generator) - 1)
            else:
                # A whole number may be too large for torch; as a float it is not.
                self.alpha.fill_(float(self.init))
                self.beta.fill_(float(self.init))

    def weights(self) -> Tensor:
        return self.weights_side_by_side([self])[:, 0]

    @classmethod
    def weights_side_by_side(cls, filters: Sequence[Any]) -> Tensor:
        alpha = torch.stack([f.alpha for f in filters])
        beta = torch.stack([f.beta for f in filters])
        return _Coefficients.apply(alpha.double(), beta.double()).T

    def forward(self, operator: Operator, x: Tensor, dropout: Dropout | None = None) -> Tensor:
        if dropout is None:
            return super().forward(operator, x)
        h = x
        for alpha, beta in zip(self.alpha, self.beta, strict=True):
            h = alpha * (operator @ dropout(h)) + beta * x
        return h


class _Coefficients(torch.autograd.Function):
    """θ of α and β, for R filters at once: (R, K), (R, K) give (R, K + 1).

    The gradient is written out: that of torch's cumulative product looks for zeros and waits
    for the device.
    """

    @staticmethod
    def forward(ctx: Any, alpha: Tensor, beta: Tensor) -> Tensor:
        one = alpha.new_ones(len(alpha), 1)
        tails = torch.cat([one, alpha.flip(1).cumprod(1)], dim=1)
        starts = torch.cat([beta.flip(1), one], dim=1)
        ctx.save_for_backward(alpha, tails, starts)
        return tails * starts

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        alpha, tails, starts = ctx.saved_tensors
        factors = alpha.flip(1)
        n_layers = factors.shape[1]
        # between[i, k]: the product of the factors after i, up to k.
        later = torch.ones(n_layers, n_layers, dtype=torch.bool, device=grad.device).triu(1)
        between = torch.where(later, factors[:, None], 1.0).cumprod(2).triu()
        rest = (between * (grad * starts)[:, None, 1:]).sum(2)
        grad_alpha = (tails[:, :-1] * rest).flip(1)
        return grad_alpha, (grad * tails)[:, :-1].flip(1)
