"""Readers of other projects' formats, one per file, beside those of the core.

Each takes a path and gives a :class:`~graphfilter.Graph`.
"""

from graphfilter.data.files import (
    read_edge_list,
    read_graph,
    read_matrix_market,
    read_networkx,
)
from graphfilter.data.npz import read_npz, write_npz
from graphfilter_research.datasets.readers.geom_gcn import (
    read_geom_gcn,
    read_geom_gcn_edges,
    read_geom_gcn_splits,
)
from graphfilter_research.datasets.readers.gnn_benchmark import read_gnn_benchmark
from graphfilter_research.datasets.readers.graphdata import read_graphdata
from graphfilter_research.datasets.readers.heterophilous import read_heterophilous
from graphfilter_research.datasets.readers.planetoid import read_planetoid
from graphfilter_research.datasets.readers.sgf import read_sgf

__all__ = [
    "read_edge_list",
    "read_geom_gcn",
    "read_geom_gcn_edges",
    "read_geom_gcn_splits",
    "read_gnn_benchmark",
    "read_graph",
    "read_graphdata",
    "read_heterophilous",
    "read_matrix_market",
    "read_networkx",
    "read_npz",
    "read_planetoid",
    "read_sgf",
    "write_npz",
]
