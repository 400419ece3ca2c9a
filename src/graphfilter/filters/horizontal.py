"""The polynomial whose coefficients are learned directly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from graphfilter.filters.base import Filter, FilterConfig
from graphfilter.util.errors import ConfigError

__all__ = ["HorizontalFilter", "HorizontalFilterConfig"]


@dataclass(frozen=True)
class HorizontalFilterConfig(FilterConfig):
    """See :class:`HorizontalFilter`."""

    degree: int = 16
    init: float | tuple[float, ...] = 0.5
    least: ClassVar[Mapping[str, int]] = {"degree": 0}


class HorizontalFilter(Filter, config=HorizontalFilterConfig):
    r"""Learn the coefficients themselves: :math:`f(\lambda) = \sum_k \theta_k \lambda^k`.

    The paper's *horizontal stacking* (appendix A.1); with :math:`\theta` started at APPNP's
    :math:`\alpha(1-\alpha)^k` it is the filter of GPR-GNN (Chien et al. 2021).

    Parameters
    ----------
    degree : int
    init : float or sequence of float
        Initial value of every coefficient, or the ``degree + 1`` values.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.filters.HorizontalFilter(degree=2).response([1.0, 0.0, -1.0]).round(3).tolist()
    [1.5, 0.5, 0.5]
    """

    def __init__(self, degree: int = 16, init: float | Sequence[float] | Tensor = 0.5) -> None:
        start = torch.as_tensor(init, dtype=torch.float32)
        if start.shape not in ((), (degree + 1,)):
            raise ConfigError(
                f"init must be one number or degree + 1 = {degree + 1} of them; "
                f"got shape {tuple(start.shape)}."
            )
        values = init.tolist() if isinstance(init, Tensor) else init
        values = float(values) if isinstance(values, int | float) else tuple(map(float, values))
        super().__init__(HorizontalFilterConfig(degree, values))
        self.degree = degree
        self.register_buffer("start", start.expand(degree + 1).clone(), persistent=False)
        self.theta = nn.Parameter(torch.empty(degree + 1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        with torch.no_grad():
            self.theta.copy_(self.get_buffer("start"))

    def weights(self) -> Tensor:
        return self.theta
