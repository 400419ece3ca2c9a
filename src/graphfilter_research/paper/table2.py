"""Table 2: accuracy on low-frequency data."""

from __future__ import annotations

from graphfilter_research.paper.accuracy_table import AccuracyTable
from graphfilter_research.paper.published_accuracy import LITERATURE_2, LOW, TABLE_2
from graphfilter_research.paper.run_table import RunTable

TABLE = AccuracyTable(
    "Table 2: vertex classification accuracy for low-frequency datasets",
    LOW,
    TABLE_2,
    LITERATURE_2,
)
TARGET = RunTable(
    name="table2",
    summary="accuracy on low-frequency data (Table 2)",
    datasets=LOW,
    quick=("cora",),
    pairs=TABLE.pairs,
    show=TABLE.show,
)
