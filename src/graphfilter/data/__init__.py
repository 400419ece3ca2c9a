"""Where graphs come from: named datasets, files of many formats, tables, synthetic graphs."""

from graphfilter.data import readers
from graphfilter.data.export import write_tables
from graphfilter.data.readers.text_format import TextOptions
from graphfilter.data.registry import dataset_names, describe, load_dataset, locate
from graphfilter.data.store import build_store, open_store, write_store
from graphfilter.data.synthetic import make_bipartite, make_csbm, make_digits, make_karate
from graphfilter.data.tables import read_tables
from graphfilter.graph.tables.columns import Columns
from graphfilter.graph.tables.encoding import TableEncoder

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
