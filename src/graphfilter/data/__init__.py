"""Where graphs come from: named datasets, files of many formats, tables, synthetic graphs."""

from graphfilter.data import readers
from graphfilter.data.columns import Columns
from graphfilter.data.encoding import TableEncoder
from graphfilter.data.export import write_tables
from graphfilter.data.registry import dataset_names, describe, load_dataset, locate
from graphfilter.data.synthetic import make_bipartite, make_csbm, make_digits, make_karate
from graphfilter.data.tables import read_tables

__all__ = [
    "Columns",
    "TableEncoder",
    "dataset_names",
    "describe",
    "load_dataset",
    "locate",
    "make_bipartite",
    "make_csbm",
    "make_digits",
    "make_karate",
    "read_tables",
    "readers",
    "write_tables",
]
