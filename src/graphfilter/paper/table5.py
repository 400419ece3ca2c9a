"""Table 5: α and β started at random in [−1, 1] beside 0.5 (appendix A.3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from graphfilter.bench import OnProgress, Record
from graphfilter.paper.accuracy_table import GEOM_GCN_SPLITS
from graphfilter.paper.collect import at_hand, collect_runs, pairs_of
from graphfilter.paper.comparison import FIXED, compare_runs, select
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
ALPHA_NOTE = (
    "Section 4 says that the learned α likely satisfy |α| < 1, so that high powers vanish; the "
    "last block counts those that do not."
)
GROUPS = (LOW, MIDDLE_AND_HIGH)
QUICK = (("cora",), ("wisconsin",))
HEADINGS = {
    "stratified": "Average over runs of stratified 0.6/0.2/0.2 splits",
    "fixed": f"Average over runs; {GEOM_GCN_SPLITS}",
}


def collect(folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
    """Run what is not on record; return notes on what was left out."""
    groups = QUICK if options.quick else GROUPS
    datasets, notes = at_hand([dataset for group in groups for dataset in reversed(group)])
    pairs = pairs_of(datasets, RANDOM_TITLES, options)
    if options.variants:
        authors = [d for d in datasets if d in FIXED]
        pairs += pairs_of(authors, RANDOM_TITLES, options, split_rule="fixed")
    collect_runs(folder, NAME, pairs, options, on_progress)
    return notes


def build(folder: Path, options: Options) -> Rendered:
    """Build the table from the records of a folder."""
    records = read_target_records(folder, options.file_name(NAME))
    there = {record.dataset for record in records}
    groups = QUICK if options.quick else GROUPS
    blocks = [_block(records, group, "stratified") for group in groups]
    blocks.append(_block(records, MIDDLE_AND_HIGH, "fixed"))
    blocks = [block for block in blocks if block.columns]
    blocks.append(_large_alphas(records, [d for group in GROUPS for d in group if d in there]))
    title = "Table 5: accuracy when α and β start at random"
    return Rendered(title, tuple(blocks), notes=(ALPHA_NOTE,))


def _block(records: Sequence[Record], group: Sequence[str], split_rule: str) -> Block:
    there = {record.dataset for record in records if record.split_rule == split_rule}
    datasets = [d for d in group if d in there]
    rows = [
        Row(
            title,
            tuple(
                compare_runs(records, d, system, TABLE_5[system].get(d), split_rule=split_rule)
                for d in datasets
            ),
        )
        for system, title in RANDOM_TITLES.items()
    ]
    titles = tuple(DATASET_TITLES.get(d, d) for d in datasets)
    return Block(HEADINGS[split_rule], titles, tuple(rows))


def _large_alphas(records: Sequence[Record], datasets: Sequence[str]) -> Block:
    """Count the learned α beyond ±1, which the paper says is unlikely."""
    rows = []
    for system, title in RANDOM_TITLES.items():
        cells = []
        for dataset in datasets:
            runs = select(records, dataset, system)
            learned = [a for r in runs for a in r.filter.get("alpha", []) if a is not None]
            sizes = np.abs(np.array(learned, dtype=float))
            said = f"{np.mean(sizes > 1):.0%}, at most {sizes.max():.2f}" if len(sizes) else ""
            cells.append(said)
        rows.append(Row(title, tuple(cells)))
    titles = tuple(DATASET_TITLES.get(d, d) for d in datasets)
    return Block("Learned α with |α| > 1, of all layers and runs", titles, tuple(rows))


TARGET = Target(NAME, "α and β started at random (Table 5)", collect, build)
