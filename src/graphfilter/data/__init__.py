"""What is connected: the immutable Graph, and where graphs come from.

Edges, features and labels are validated once. Graphs come from tables, scipy, networkx, PyTorch
Geometric, files of many formats, folders that are mapped into memory, and datasets by name.
"""

from typing import Any

from graphfilter.data.datasets import (
    dataset_names,
    describe,
    load_dataset,
    locate,
    make_bipartite,
    make_csbm,
    make_digits,
    make_karate,
)
from graphfilter.data.files import (
    read_edge_list,
    read_graph,
    read_matrix_market,
    read_networkx,
    read_npz,
    write_npz,
    write_tables,
)
from graphfilter.data.from_tables import read_tables
from graphfilter.data.store import open_store, write_store
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.roles import Columns
from graphfilter.tables.text_files import TextOptions
from graphfilter.util.plugins import DATASETS as PLUG_INS, moved

__all__ = [
    "Columns",
    "TableEncoder",
    "TextOptions",
    "dataset_names",
    "describe",
    "load_dataset",
    "locate",
    "make_bipartite",
    "make_csbm",
    "make_digits",
    "make_karate",
    "open_store",
    "read_edge_list",
    "read_graph",
    "read_matrix_market",
    "read_networkx",
    "read_npz",
    "read_tables",
    "write_npz",
    "write_store",
    "write_tables",
]


def __getattr__(name: str) -> Any:
    """Return what 0.2 had here: ``build_store`` and readers. They go with 0.4."""
    return moved(__name__, name, PLUG_INS, {"build_store": "graphfilter"})
