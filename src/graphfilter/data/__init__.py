"""Where graphs come from: named datasets, files of many formats, tables, synthetic graphs."""

from graphfilter.data import readers
from graphfilter.data.export import write_tables
from graphfilter.data.registry import dataset_names, describe, load_dataset, locate
from graphfilter.data.synthetic import make_bipartite, make_csbm, make_digits, make_karate
from graphfilter.graph.from_tables import read_tables
from graphfilter.store import build_store, open_store, write_store
from graphfilter.tables.columns import Columns
from graphfilter.tables.encoding import TableEncoder
from graphfilter.tables.text_format import TextOptions

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
