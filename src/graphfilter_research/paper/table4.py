"""Table 4: vertical and horizontal stacking at 16, 32 and 64 filters (appendix A.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from graphfilter.systems import System, get_system
from graphfilter_research.bench.pair import Pair
from graphfilter_research.bench.record import Record
from graphfilter_research.paper.accuracy_table import GEOM_GCN_SPLITS
from graphfilter_research.paper.collect import Options
from graphfilter_research.paper.published import DATASET_TITLES, DEPTHS, TABLE_4
from graphfilter_research.paper.tables import Block, Rendered, Row, compare_accuracy, select
from graphfilter_research.paper.target import RunTable, with_authors_splits

HEADINGS = {"stratified": "stratified 0.6/0.2/0.2 splits", "fixed": GEOM_GCN_SPLITS}
TIME_NOTE = (
    "#Iteration and Time are those of 64 filters. Time is an epoch's, evaluation included, as a "
    "run's share of the runs trained side by side with it, on {devices}; the paper trained one "
    "run at a time on an RTX Titan."
)


def stacking_system(base: str, n_filters: int) -> System | str:
    """Return SGF or SGF-Horizontal with this many filters; 16 is that of the registry."""
    if n_filters == DEPTHS[0]:
        return base
    known = get_system(base)
    depth = "degree" if base == "sgf-horizontal" else "n_layers"
    return replace(
        known.with_(**{depth: n_filters}),
        name=f"{base}-{n_filters}",
        title=f"{known.title} ({n_filters})",
        setting=known.setting,
    )


def pairs(datasets: Sequence[str], options: Options) -> list[Pair]:
    systems = [stacking_system(base, depth) for depth in reversed(DEPTHS) for base in TABLE_4]
    return with_authors_splits(datasets, systems, options)


def show(records: Sequence[Record], datasets: Sequence[str]) -> Rendered:
    """Show the accuracies by the number of filters, of each way of stacking and splitting."""
    devices = ", ".join(sorted({record.device for record in records}))
    rules = [r for r in HEADINGS if any(record.split_rule == r for record in records)]
    return Rendered(
        "Table 4: accuracy of vertical and horizontal stacking by the number of filters",
        tuple(_block(records, datasets, base, rule) for rule in rules for base in TABLE_4),
        notes=(TIME_NOTE.format(devices=devices),),
    )


def _block(records: Sequence[Record], datasets: Sequence[str], base: str, split_rule: str) -> Block:
    records = [record for record in records if record.split_rule == split_rule]
    there = {record.dataset for record in records}
    columns = (*(str(depth) for depth in DEPTHS), "#Iteration", "Time")
    rows = []
    # In the paper's order.
    for dataset in dict.fromkeys([*TABLE_4[base], *datasets]):
        if dataset not in there:
            continue
        printed = TABLE_4[base].get(dataset)
        cells = []
        for depth in DEPTHS:
            runs = _runs(records, dataset, base, depth, split_rule)
            cells.append(compare_accuracy(runs, printed and printed.accuracies[depth]))
        deepest = [r for r in _runs(records, dataset, base, DEPTHS[-1], split_rule) if r.ok]
        epochs = [r.epochs for r in deepest]
        times = [1000 * r.seconds_per_epoch for r in deepest if r.seconds_per_epoch is not None]
        cells.append(_beside(epochs, "", printed and printed.iterations))
        cells.append(_beside(times, " ms", printed and printed.milliseconds))
        rows.append(Row(DATASET_TITLES.get(dataset, dataset), tuple(cells)))
    heading = f"{get_system(base).title}, {HEADINGS[split_rule]}"
    return Block(heading, columns, tuple(rows), first_column="Datasets")


def _runs(
    records: Sequence[Record], dataset: str, base: str, depth: int, split_rule: str
) -> list[Record]:
    system = stacking_system(base, depth)
    name = system if isinstance(system, str) else system.name
    return select(records, dataset, name, split_rule=split_rule)


def _beside(values: Sequence[float], unit: str, printed: float | None) -> str:
    if not values:
        return ""
    paper = "" if printed is None else f" (paper {printed:.1f})"
    return f"{np.mean(values):.1f}{unit}{paper}"


TARGET = RunTable(
    name="table4",
    summary="vertical and horizontal stacking (Table 4)",
    datasets=("pubmed", "cora", "wisconsin", "cornell_geomgcn"),
    quick=("wisconsin",),
    pairs=pairs,
    show=show,
)
