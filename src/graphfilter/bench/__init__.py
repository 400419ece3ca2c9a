"""Systems side by side, on the same graphs, splits and loop; every run on record."""

from graphfilter.bench.matrix import BenchProgress, run_benchmark
from graphfilter.bench.protocol import draw_split
from graphfilter.bench.record import Record, RecordFile, read_records
from graphfilter.bench.table import Cell, Summary, summarise
from graphfilter.bench.writers import text_table, to_csv, to_latex, to_markdown
from graphfilter.systems.pipeline import Comparison, compare

__all__ = [
    "BenchProgress",
    "Cell",
    "Comparison",
    "Record",
    "RecordFile",
    "Summary",
    "compare",
    "draw_split",
    "read_records",
    "run_benchmark",
    "summarise",
    "text_table",
    "to_csv",
    "to_latex",
    "to_markdown",
]
