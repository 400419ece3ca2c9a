"""Where graphs come from: named datasets, files of many formats, tables, synthetic graphs."""

from graphfilter.data import readers
from graphfilter.data.catalogue import DATASETS as DATASETS
from graphfilter.data.export import write_tables
from graphfilter.data.packing import (
    pack_datasets as pack_datasets,
    unpack_datasets as unpack_datasets,
)
from graphfilter.data.readers.formats import read_graph as read_graph
from graphfilter.data.readers.npz import read_npz as read_npz
from graphfilter.data.readers.npz_writer import write_npz as write_npz
from graphfilter.data.registry import (
    cache_folder as cache_folder,
    dataset_names,
    describe,
    load_dataset,
    locate,
)
from graphfilter.data.synthetic import make_bipartite, make_csbm, make_digits, make_karate
from graphfilter.graph import read_tables
from graphfilter.store import build_store, open_store, write_store
from graphfilter.tables import Columns, TableEncoder, TextOptions

__all__ = [
    "Columns",
    "TableEncoder",
    "TextOptions",
    "build_store",
    "dataset_names",
    "describe",
    "load_dataset",
    "locate",
    "make_bipartite",
    "make_csbm",
    "make_digits",
    "make_karate",
    "open_store",
    "read_tables",
    "readers",
    "write_store",
    "write_tables",
]
