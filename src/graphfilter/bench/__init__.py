"""Systems side by side, on the same graphs, splits and training loop; every run on record.

``matrix`` runs pairs of a system and a dataset and writes a ``record`` per run, ``summary`` turns
records into means and tests, ``tables`` writes tables in every form, ``search`` tunes a system.
A new split rule goes into ``protocol``. Imports from ``systems``, ``metrics`` and the rooms before
them; knows nothing of any paper.
"""

from graphfilter.bench.benchmark import run_benchmark
from graphfilter.bench.matrix import BenchProgress, OnProgress, run_matrix
from graphfilter.bench.pair import Pair
from graphfilter.bench.protocol import draw_split
from graphfilter.bench.record import Record, RecordFile, read_records
from graphfilter.bench.summary import CellSummary, Summary, summarise
from graphfilter.bench.summary_table import make_table
from graphfilter.bench.tables import text_rows, to_csv, to_latex, to_markdown

__all__ = [
    "BenchProgress",
    "CellSummary",
    "OnProgress",
    "Pair",
    "Record",
    "RecordFile",
    "Summary",
    "draw_split",
    "make_table",
    "read_records",
    "run_benchmark",
    "run_matrix",
    "summarise",
    "text_rows",
    "to_csv",
    "to_latex",
    "to_markdown",
]
