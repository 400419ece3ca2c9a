"""The graph: edges, features and labels, validated once and immutable.

Whatever a user passes (pairs, scipy, networkx, PyTorch Geometric) becomes a :class:`Graph` here.
"""

from graphfilter.graph.checksum import links_checksum as links_checksum
from graphfilter.graph.edge_kinds import EdgeKinds as EdgeKinds
from graphfilter.graph.edges import (
    Cleaned as Cleaned,
    check_real as check_real,
    check_weights as check_weights,
    index_type as index_type,
    on_host as on_host,
)
from graphfilter.graph.from_tables import read_tables as read_tables
from graphfilter.graph.graph import Graph as Graph
from graphfilter.graph.growing import grow as grow
from graphfilter.graph.joining import Joined as Joined, join_tables as join_tables
from graphfilter.graph.links import align_arcs as align_arcs
from graphfilter.graph.merging import check_merge as check_merge, reduce_repeats as reduce_repeats
from graphfilter.graph.names import holds_names as holds_names
from graphfilter.graph.notes import say_arcs as say_arcs
from graphfilter.graph.reach import is_wide as is_wide
from graphfilter.graph.sparse_checks import check_sparse as check_sparse
from graphfilter.tables import Features as Features
