"""The graph: edges, features and labels, validated once and immutable.

Whatever a user passes (pairs, scipy, networkx, PyTorch Geometric) becomes a :class:`Graph` here.
"""

from graphfilter.graph.checksum import links_checksum
from graphfilter.graph.edge_kinds import EdgeKinds
from graphfilter.graph.edges import Cleaned, check_real, check_weights, index_type, on_host
from graphfilter.graph.from_tables import read_tables
from graphfilter.graph.graph import Graph
from graphfilter.graph.growing import grow
from graphfilter.graph.joining import Joined as Joined, join_tables as join_tables
from graphfilter.graph.links import align_arcs
from graphfilter.graph.merging import check_merge, reduce_repeats
from graphfilter.graph.names import holds_names
from graphfilter.graph.notes import say_arcs
from graphfilter.graph.sparse_checks import check_sparse
from graphfilter.tables import Features

__all__ = [
    "Cleaned",
    "EdgeKinds",
    "Features",
    "Graph",
    "align_arcs",
    "check_merge",
    "check_real",
    "check_sparse",
    "check_weights",
    "grow",
    "holds_names",
    "index_type",
    "links_checksum",
    "on_host",
    "read_tables",
    "reduce_repeats",
    "say_arcs",
]
