"""No filter: the graph is ignored."""

from __future__ import annotations

from graphfilter.filters.power import PowerFilter


class IdentityFilter(PowerFilter):
    r"""Leave every column as it is, :math:`f(\lambda) = 1`: the network is an MLP."""

    def __init__(self) -> None:
        super().__init__(k=0)

    def extra_repr(self) -> str:
        return ""
