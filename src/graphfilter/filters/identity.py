"""No filter: the graph is ignored."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from graphfilter.filters.base import FilterConfig, FixedFilter

__all__ = ["IdentityFilter", "IdentityFilterConfig"]


@dataclass(frozen=True)
class IdentityFilterConfig(FilterConfig):
    """See :class:`IdentityFilter`."""


class IdentityFilter(FixedFilter, config=IdentityFilterConfig):
    r"""Leave every column as it is, :math:`f(\lambda) = 1`: the network is an MLP.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.filters.IdentityFilter().response([1.0, 0.0, -1.0]).round(3).tolist()
    [1.0, 1.0, 1.0]
    """

    def __init__(self) -> None:
        super().__init__(IdentityFilterConfig(), torch.ones(1))
