"""Table 5: α and β started at random in [−1, 1] beside 0.5 (appendix A.3)."""

from __future__ import annotations

from pathlib import Path

from graphfilter.paper.accuracy_tables import SHARED
from graphfilter.paper.forms import Block, Rendered, Row
from graphfilter.paper.matrix import OnStep, Options, at_hand, pairs_of, run_matrix
from graphfilter.paper.published_accuracy import (
    DATASET_TITLES,
    LOW,
    MIDDLE_AND_HIGH,
    RANDOM_TITLES,
    TABLE_5,
)
from graphfilter.paper.records import known_records, open_records, read_target_records
from graphfilter.paper.versus import select, versus

NAME = "table5"
GROUPS = (LOW, MIDDLE_AND_HIGH)
QUICK = (("cora",), ("wisconsin",))


def collect(folder: Path, options: Options, on_step: OnStep | None) -> list[str]:
    """Run what is not on record; return notes on what was left out."""
    groups = QUICK if options.quick else GROUPS
    datasets, notes = at_hand([dataset for group in groups for dataset in reversed(group)])
    known = {} if options.quick else known_records(folder, SHARED)
    file = open_records(folder, f"{NAME}-quick" if options.quick else NAME)
    pairs = pairs_of(datasets, RANDOM_TITLES, options)
    run_matrix(pairs, file, known=known, jobs=options.jobs, on_step=on_step)
    return notes


def render(folder: Path, options: Options) -> Rendered:
    """Build the table from the records of a folder."""
    records = read_target_records(folder, f"{NAME}-quick" if options.quick else NAME)
    there = {record.dataset for record in records}
    blocks = []
    for group in QUICK if options.quick else GROUPS:
        datasets = [d for d in group if d in there]
        rows = [
            Row(
                title,
                tuple(versus(select(records, d, system), TABLE_5[system].get(d)) for d in datasets),
            )
            for system, title in RANDOM_TITLES.items()
        ]
        heading = "Average over runs of stratified 0.6/0.2/0.2 splits"
        if datasets:
            titles = tuple(DATASET_TITLES.get(d, d) for d in datasets)
            blocks.append(Block(heading, titles, tuple(rows)))
    return Rendered("Table 5: accuracy when α and β start at random", tuple(blocks))
