"""The fixed low-pass filter of SGC."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from graphfilter.filters.base import Filter, FilterConfig
from graphfilter.util.errors import check_count


@dataclass(frozen=True)
class PowerFilterConfig(FilterConfig):
    """See :class:`PowerFilter`."""

    k: int = 2

    def __post_init__(self) -> None:
        check_count("k", self.k, least=0)


class PowerFilter(Filter, config=PowerFilterConfig):
    r"""Nothing to learn: :math:`f(\lambda) = \lambda^k`, the filter of SGC (Wu et al. 2019).

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.filters.PowerFilter(k=2).response([1.0, 0.0, -1.0]).round(3).tolist()
    [1.0, 0.0, 1.0]
    """

    def __init__(self, k: int = 2) -> None:
        super().__init__(PowerFilterConfig(k))
        self.degree = k
        theta = torch.zeros(k + 1)
        theta[k] = 1.0
        self.register_buffer("theta", theta, persistent=False)

    def weights(self) -> Tensor:
        return self.get_buffer("theta")
