"""Table 5: α and β started at random in [−1, 1] beside 0.5 (appendix A.3)."""

from __future__ import annotations

from pathlib import Path

from graphfilter.bench import OnProgress
from graphfilter.paper.collect import at_hand, collect_runs, pairs_of
from graphfilter.paper.comparison import compare_runs
from graphfilter.paper.options import Options
from graphfilter.paper.published_accuracy import (
    DATASET_TITLES,
    LOW,
    MIDDLE_AND_HIGH,
    RANDOM_TITLES,
    TABLE_5,
)
from graphfilter.paper.records import read_target_records
from graphfilter.paper.tables import Block, Rendered, Row
from graphfilter.paper.target import Target

NAME = "table5"
GROUPS = (LOW, MIDDLE_AND_HIGH)
QUICK = (("cora",), ("wisconsin",))


def collect(folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
    """Run what is not on record; return notes on what was left out."""
    groups = QUICK if options.quick else GROUPS
    datasets, notes = at_hand([dataset for group in groups for dataset in reversed(group)])
    pairs = pairs_of(datasets, RANDOM_TITLES, options)
    collect_runs(folder, NAME, pairs, options, on_progress)
    return notes


def build(folder: Path, options: Options) -> Rendered:
    """Build the table from the records of a folder."""
    records = read_target_records(folder, options.file_name(NAME))
    there = {record.dataset for record in records}
    blocks = []
    for group in QUICK if options.quick else GROUPS:
        datasets = [d for d in group if d in there]
        rows = [
            Row(
                title,
                tuple(compare_runs(records, d, system, TABLE_5[system].get(d)) for d in datasets),
            )
            for system, title in RANDOM_TITLES.items()
        ]
        heading = "Average over runs of stratified 0.6/0.2/0.2 splits"
        if datasets:
            titles = tuple(DATASET_TITLES.get(d, d) for d in datasets)
            blocks.append(Block(heading, titles, tuple(rows)))
    return Rendered("Table 5: accuracy when α and β start at random", tuple(blocks))


TARGET = Target(NAME, "α and β started at random (Table 5)", collect, build)
