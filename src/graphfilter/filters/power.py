"""The fixed low-pass filter of SGC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch

from graphfilter.filters.base import FilterConfig, FixedFilter

__all__ = ["PowerFilter", "PowerFilterConfig"]


@dataclass(frozen=True)
class PowerFilterConfig(FilterConfig):
    """See :class:`PowerFilter`."""

    k: int = 2
    least: ClassVar[Mapping[str, int]] = {"k": 0}


class PowerFilter(FixedFilter, config=PowerFilterConfig):
    r"""Nothing to learn: :math:`f(\lambda) = \lambda^k`, the filter of SGC (Wu et al. 2019).

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.filters.PowerFilter(k=2).response([1.0, 0.0, -1.0]).round(3).tolist()
    [1.0, 0.0, 1.0]
    """

    def __init__(self, k: int = 2) -> None:
        config = PowerFilterConfig(k)
        theta = torch.zeros(k + 1)
        theta[k] = 1.0
        super().__init__(config, theta)
