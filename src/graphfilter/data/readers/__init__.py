"""Readers, one file per format. Each takes a path and gives a :class:`~graphfilter.graph.Graph`.

:mod:`.formats` registers by suffix those that need nothing but a path, and the readers of tables;
the others are for public datasets of a fixed layout.
"""

from __future__ import annotations

from graphfilter.data.readers.edge_list import read_edge_list
from graphfilter.data.readers.formats import read_graph
from graphfilter.data.readers.geom_gcn import (
    read_geom_gcn,
    read_geom_gcn_edges,
    read_geom_gcn_splits,
)
from graphfilter.data.readers.gnn_benchmark import read_gnn_benchmark
from graphfilter.data.readers.graphdata import read_graphdata
from graphfilter.data.readers.heterophilous import read_heterophilous
from graphfilter.data.readers.matrix_market import read_matrix_market
from graphfilter.data.readers.networkx_files import read_networkx
from graphfilter.data.readers.npz import read_npz
from graphfilter.data.readers.npz_writer import write_npz
from graphfilter.data.readers.planetoid import read_planetoid
from graphfilter.data.readers.sgf import read_sgf

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
