"""The graph: edges, features and labels, validated once and immutable.

Whatever a user passes (pairs, scipy, networkx, PyTorch Geometric) becomes a :class:`Graph` here.
"""

from graphfilter.graph.graph import Features, Graph

__all__ = ["Features", "Graph"]
