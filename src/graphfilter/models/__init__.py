"""Networks: FilterNetwork, and what it is made of."""

from graphfilter.models.layers import Linear, drop
from graphfilter.models.network import FilterNetwork, forward_side_by_side

__all__ = ["FilterNetwork", "Linear", "drop", "forward_side_by_side"]
