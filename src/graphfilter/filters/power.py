"""The fixed low-pass filter of SGC."""

from __future__ import annotations

import torch
from torch import Tensor

from graphfilter.errors import ConfigError
from graphfilter.filters.base import Filter


class PowerFilter(Filter):
    r"""Nothing to learn: :math:`f(\lambda) = \lambda^k`, the filter of SGC (Wu et al. 2019)."""

    def __init__(self, k: int = 2) -> None:
        super().__init__()
        if k < 0:
            raise ConfigError(f"the power must not be negative; got {k}.")
        self.degree = k
        theta = torch.zeros(k + 1)
        theta[k] = 1.0
        self.register_buffer("theta", theta, persistent=False)

    def weights(self) -> Tensor:
        return self.get_buffer("theta")

    def extra_repr(self) -> str:
        return f"k={self.degree}"
