"""Systems side by side, on the same graphs, splits and training loop; every run on record.

``matrix`` runs pairs of a system and a dataset and writes a ``record`` per run, ``summary`` turns
records into means and tests, ``tables`` writes tables in every form, ``search`` tunes a system.
A new split rule goes into ``protocol``.
"""

from graphfilter.bench.averages import divide_name as divide_name
from graphfilter.bench.benchmark import run_benchmark
from graphfilter.bench.line_table import holds_benchmarks, read_line_table
from graphfilter.bench.matrix import BenchProgress, OnProgress, run_matrix
from graphfilter.bench.pair import Pair
from graphfilter.bench.protocol import GraphLoader, dataset_name, draw_split
from graphfilter.bench.record import A_RECORD, Record, RecordFile, current_versions, read_records
from graphfilter.bench.search import Found, SearchProgress, SearchResult, search
from graphfilter.bench.summary import CellSummary, Summary, summarise
from graphfilter.bench.summary_table import (
    CUT,
    legend as legend,
    make_table,
    mean_and_deviation as mean_and_deviation,
    title as title,
)
from graphfilter.bench.tables import (
    Block,
    Cell,
    Legend,
    Numbers,
    Row,
    Table,
    text_rows,
    to_csv,
    to_latex,
    to_markdown,
)

__all__ = [
    "A_RECORD",
    "CUT",
    "BenchProgress",
    "Block",
    "Cell",
    "CellSummary",
    "Found",
    "GraphLoader",
    "Legend",
    "Numbers",
    "OnProgress",
    "Pair",
    "Record",
    "RecordFile",
    "Row",
    "SearchProgress",
    "SearchResult",
    "Summary",
    "Table",
    "current_versions",
    "dataset_name",
    "draw_split",
    "holds_benchmarks",
    "make_table",
    "read_line_table",
    "read_records",
    "run_benchmark",
    "run_matrix",
    "search",
    "summarise",
    "text_rows",
    "to_csv",
    "to_latex",
    "to_markdown",
]
