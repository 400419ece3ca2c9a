"""The graph: edges, features and labels, validated once and immutable.

Whatever a user passes (pairs, scipy, networkx, PyTorch Geometric) becomes a :class:`Graph` here.
"""

from graphfilter.graph.arrays import (
    is_wide as is_wide,
    links_checksum as links_checksum,
    say_arcs as say_arcs,
)
from graphfilter.graph.attributes import check_sparse as check_sparse, holds_names as holds_names
from graphfilter.graph.edge_attributes import EdgeKinds as EdgeKinds
from graphfilter.graph.edges import (
    Cleaned as Cleaned,
    align_arcs as align_arcs,
    check_merge as check_merge,
    check_real as check_real,
    check_weights as check_weights,
    index_type as index_type,
    on_host as on_host,
    reduce_repeats as reduce_repeats,
)
from graphfilter.graph.from_tables import (
    Joined as Joined,
    grow as grow,
    join_tables as join_tables,
    read_tables as read_tables,
)
from graphfilter.graph.graph import Graph as Graph
from graphfilter.tables import Features as Features
