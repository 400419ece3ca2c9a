"""What Tables 2 and 3 share: systems by datasets, next to the paper's accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphfilter.bench import OnProgress, Record
from graphfilter.paper.collect import at_hand, collect_runs, pairs_of
from graphfilter.paper.comparison import ComparedAccuracy, compare_runs
from graphfilter.paper.options import Options
from graphfilter.paper.published_accuracy import (
    DATASET_TITLES,
    LITERATURE_TITLES,
    ROW_TITLES,
    Published,
)
from graphfilter.paper.records import read_target_records
from graphfilter.paper.tables import Block, Rendered, Row
from graphfilter.systems import get_system

# The paper says "dropout rate for linear layers"; its authors' code drops every layer's input.
EVERY_LAYER = "sgf-every-layer"
SYSTEMS = (*ROW_TITLES, EVERY_LAYER)
SCALINGS = {
    "row": "features divided by their row's sum (the paper's setting)",
    "none": "features as they are",
}
# The literature's own splits, and the paper's.
LITERATURE_SPLITS = {"fixed": "the Geom-GCN splits", "stratified": "stratified splits"}


@dataclass(frozen=True)
class AccuracyTable:
    """One of the two tables.

    Attributes
    ----------
    datasets : tuple of str
        The paper's columns.
    beside : tuple of str
        Further columns, which the paper does not have.
    quick : tuple of str
        The columns of a quick look.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    published: Published
    literature: Published
    quick: tuple[str, ...]
    beside: tuple[str, ...] = ()

    def columns(self, quick: bool) -> tuple[str, ...]:
        return self.quick if quick else (*self.datasets, *self.beside)

    def collect(self, folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
        """Run what is not on record; return notes on what was left out."""
        datasets, notes = at_hand(self.columns(options.quick))
        # The large ones first: the last process to end is then a short one.
        datasets = sorted(datasets, key=_weight, reverse=True)
        pairs = []
        for scaling in SCALINGS:
            pairs += pairs_of(datasets, SYSTEMS, options, scaling=scaling)
        if options.literature:
            reported = [d for d in datasets if self._is_reported_on(d)]
            for rule in LITERATURE_SPLITS:
                pairs += pairs_of(reported, LITERATURE_TITLES, options, split_rule=rule)
        collect_runs(folder, self.name, pairs, options, on_progress)
        return notes

    def build(self, folder: Path, options: Options) -> Rendered:
        """Build the table from the records of a folder."""
        records = read_target_records(folder, options.file_name(self.name))
        blocks = [
            self._block(
                records,
                f"Our experiments, {text}; stratified 0.6/0.2/0.2 splits",
                SYSTEMS,
                self.published,
                scaling=scaling,
            )
            for scaling, text in SCALINGS.items()
        ]
        return Rendered(self.title, (*blocks, *self._literature(records)))

    def _literature(self, records: Sequence[Record]) -> list[Block]:
        """Return the Literature rows: as printed, and run where they were."""
        there = {record.dataset for record in records}
        datasets = [d for d in self.datasets if d in there]
        printed = [
            Row(title, tuple(self.literature[system].get(d, "(not avail.)") for d in datasets))
            for system, title in LITERATURE_TITLES.items()
        ]
        titles = tuple(DATASET_TITLES.get(d, d) for d in datasets)
        blocks = [Block("Literature, as printed in the paper", titles, tuple(printed))]
        for rule, text in LITERATURE_SPLITS.items():
            heading = f"Literature, run here, features divided by their row's sum; {text}"
            block = self._block(
                records, heading, tuple(LITERATURE_TITLES), self.literature, split_rule=rule
            )
            cells = [cell for row in block.rows for cell in row.cells]
            if any(isinstance(cell, ComparedAccuracy) and cell.n for cell in cells):
                blocks.append(block)
        return blocks

    def _block(
        self,
        records: Sequence[Record],
        heading: str,
        systems: tuple[str, ...],
        published: Published,
        *,
        scaling: str = "row",
        split_rule: str = "stratified",
    ) -> Block:
        there = {r.dataset for r in records if r.model in systems and r.split_rule == split_rule}
        datasets = [d for d in (*self.datasets, *self.beside) if d in there]
        rows = []
        for system in systems:
            # Both readings of dropout are compared with the one number that the paper prints.
            printed = published.get("sgf" if system == EVERY_LAYER else system, {})
            cells = [
                compare_runs(
                    records, d, system, printed.get(d), scaling=scaling, split_rule=split_rule
                )
                for d in datasets
            ]
            latex = {**ROW_TITLES, **LITERATURE_TITLES}.get(system, "")
            rows.append(Row(get_system(system).title, tuple(cells), latex))
        titles = [DATASET_TITLES.get(d, f"{d} (not the paper's)") for d in datasets]
        return Block(heading, tuple(titles), tuple(rows))

    def _is_reported_on(self, dataset: str) -> bool:
        """Return whether the literature has a number for a dataset, on the splits that it has."""
        return dataset in self.beside or any(dataset in row for row in self.literature.values())


def _weight(dataset: str) -> int:
    order = ("computers_lcc", "photo_lcc", "pubmed", "chameleon", "bipartite", "citeseer", "cora")
    return len(order) - order.index(dataset) if dataset in order else 0
