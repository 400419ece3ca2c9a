"""No filter: the graph is ignored."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from graphfilter.filters.base import Filter, FilterConfig


@dataclass(frozen=True)
class IdentityFilterConfig(FilterConfig):
    """See :class:`IdentityFilter`."""


class IdentityFilter(Filter, config=IdentityFilterConfig):
    r"""Leave every column as it is, :math:`f(\lambda) = 1`: the network is an MLP.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.filters.IdentityFilter().response([1.0, 0.0, -1.0]).round(3).tolist()
    [1.0, 1.0, 1.0]
    """

    degree = 0

    def __init__(self) -> None:
        super().__init__(IdentityFilterConfig())
        self.register_buffer("theta", torch.ones(1), persistent=False)

    def weights(self) -> Tensor:
        return self.get_buffer("theta")
