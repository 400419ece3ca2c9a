"""What is connected: the immutable Graph, and where graphs come from.

Edges, features and labels are validated once. Graphs come from tables, scipy, networkx, PyTorch
Geometric, files of many formats, folders that are mapped into memory, and datasets by name.
"""

from importlib import import_module
from typing import Any

from graphfilter.data.datasets import dataset_names, describe, load_dataset, locate
from graphfilter.data.files import (
    read_edge_list,
    read_graph,
    read_matrix_market,
    read_networkx,
    write_tables,
)
from graphfilter.data.from_tables import read_tables
from graphfilter.data.makers import make_bipartite, make_csbm, make_digits, make_karate
from graphfilter.data.npz import read_npz, write_npz
from graphfilter.data.store import open_store, write_store
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.roles import Columns
from graphfilter.tables.text_files import TextOptions

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

# Where 0.2 had them; gone with 0.4.
_MOVED = {"build_store": "graphfilter.large.build", "readers": "graphfilter_research.datasets"}


def __getattr__(name: str) -> Any:
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MOVED[name]), name)
