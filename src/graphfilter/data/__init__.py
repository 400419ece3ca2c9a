"""Where graphs come from: tables of edges and vertices, and makers of synthetic graphs."""

from graphfilter.data.encoding import TableEncoder
from graphfilter.data.export import write_tables
from graphfilter.data.synthetic import make_bipartite, make_csbm, make_digits, make_karate
from graphfilter.data.tables import Columns, read_tables

__all__ = [
    "Columns",
    "TableEncoder",
    "make_bipartite",
    "make_csbm",
    "make_digits",
    "make_karate",
    "read_tables",
    "write_tables",
]
