"""The polynomial whose coefficients are learned directly."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphfilter.errors import ConfigError
from graphfilter.filters.base import Filter


class HorizontalFilter(Filter):
    r"""Learn the coefficients themselves: :math:`f(\lambda) = \sum_k \theta_k \lambda^k`.

    The paper's *horizontal stacking* (appendix A.1); with :math:`\theta` started at APPNP's
    :math:`\alpha(1-\alpha)^k` it is the filter of GPR-GNN (Chien et al. 2021).

    Parameters
    ----------
    degree : int
    init : float or sequence of float
        Initial value of every coefficient, or the ``degree + 1`` values.
    """

    def __init__(self, degree: int = 16, init: float | Tensor | list[float] = 0.5) -> None:
        super().__init__()
        if degree < 0:
            raise ConfigError(f"degree must not be negative; got {degree}.")
        self.degree = degree
        start = torch.as_tensor(init, dtype=torch.float32)
        if start.ndim > 0 and start.shape != (degree + 1,):
            raise ConfigError(
                f"init must be one number or degree + 1 = {degree + 1} of them; "
                f"got shape {tuple(start.shape)}."
            )
        self.register_buffer("start", start.expand(degree + 1).clone(), persistent=False)
        self.theta = nn.Parameter(torch.empty(degree + 1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        with torch.no_grad():
            self.theta.copy_(self.get_buffer("start"))

    def weights(self) -> Tensor:
        return self.theta

    def extra_repr(self) -> str:
        return f"degree={self.degree}"
