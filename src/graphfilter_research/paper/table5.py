"""Table 5: α and β started at random in [−1, 1] beside 0.5 (appendix A.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphfilter_research.bench.pair import Pair
from graphfilter_research.bench.record import Record
from graphfilter_research.paper.accuracy_table import GEOM_GCN_SPLITS
from graphfilter_research.paper.collect import Options
from graphfilter_research.paper.published import LOW, MIDDLE_AND_HIGH, RANDOM_TITLES, TABLE_5
from graphfilter_research.paper.tables import Block, Rendered, Row, compare_runs, select
from graphfilter_research.paper.target import RunTable, titles_of, with_authors_splits

ALPHA_NOTE = (
    "Section 4 says that the learned α likely satisfy |α| < 1, so that high powers vanish; the "
    "last block counts those that do not."
)
HEADINGS = {
    "stratified": "Average over runs of stratified 0.6/0.2/0.2 splits",
    "fixed": f"Average over runs; {GEOM_GCN_SPLITS}",
}


def pairs(datasets: Sequence[str], options: Options) -> list[Pair]:
    return with_authors_splits(datasets, RANDOM_TITLES, options)


def show(records: Sequence[Record], datasets: Sequence[str]) -> Rendered:
    """Show the accuracies of low and of higher frequency, and how large α are."""
    high = [d for d in MIDDLE_AND_HIGH if d in datasets]
    low = [d for d in dict.fromkeys((*LOW, *datasets)) if d in datasets and d not in high]
    blocks = [_block(records, group, "stratified") for group in (low, high)]
    blocks.append(_block(records, high, "fixed"))
    blocks = [block for block in blocks if block.columns]
    blocks.append(_large_alphas(records, [*low, *high]))
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
    return Block(HEADINGS[split_rule], titles_of(datasets), tuple(rows))


def _large_alphas(records: Sequence[Record], datasets: Sequence[str]) -> Block:
    """Count the learned α beyond ±1, which the paper says is unlikely."""
    rows = []
    for system, title in RANDOM_TITLES.items():
        cells = []
        for dataset in datasets:
            runs = select(records, dataset, system)
            learned = [a for r in runs for a in r.filter.get("alpha", []) if a is not None]
            sizes = np.abs(np.array(learned, dtype=float))
            text = f"{np.mean(sizes > 1):.0%}, at most {sizes.max():.2f}" if len(sizes) else ""
            cells.append(text)
        rows.append(Row(title, tuple(cells)))
    heading = "Learned α with |α| > 1, of all layers and runs"
    return Block(heading, titles_of(datasets), tuple(rows))


TARGET = RunTable(
    name="table5",
    summary="α and β started at random (Table 5)",
    datasets=(*reversed(LOW), *reversed(MIDDLE_AND_HIGH)),
    quick=("cora", "wisconsin"),
    pairs=pairs,
    show=show,
)
