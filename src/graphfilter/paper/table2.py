"""Table 2: accuracy on low-frequency data."""

from __future__ import annotations

from graphfilter.paper.accuracy_table import AccuracyTable
from graphfilter.paper.published_accuracy import LITERATURE_2, LOW, TABLE_2
from graphfilter.paper.target import Target

TABLE = AccuracyTable(
    "table2",
    "Table 2: vertex classification accuracy for low-frequency datasets",
    LOW,
    TABLE_2,
    LITERATURE_2,
    quick=("cora",),
)
TARGET = Target(TABLE.name, "accuracy on low-frequency data (Table 2)", TABLE.collect, TABLE.build)
