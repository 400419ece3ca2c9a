"""Tables 2 and 3: accuracy on low-, and on middle- and high-frequency data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphfilter.bench import Record
from graphfilter.paper.forms import Block, Rendered, Row
from graphfilter.paper.matrix import OnStep, Options, at_hand, pairs_of, run_matrix
from graphfilter.paper.published_accuracy import (
    DATASET_TITLES,
    LITERATURE_2,
    LITERATURE_3,
    LITERATURE_TITLES,
    LOW,
    MIDDLE_AND_HIGH,
    ROW_TITLES,
    TABLE_2,
    TABLE_3,
    Published,
)
from graphfilter.paper.records import known_records, open_records, read_target_records
from graphfilter.paper.versus import Versus, select, versus
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
# What targets share with each other: runs of one are not made again for another.
SHARED = ("table2", "table3", "table4", "table5", "fig-filters")


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

    def collect(self, folder: Path, options: Options, on_step: OnStep | None) -> list[str]:
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
        name = f"{self.name}-quick" if options.quick else self.name
        known = {} if options.quick else known_records(folder, SHARED)
        run_matrix(
            pairs, open_records(folder, name), known=known, jobs=options.jobs, on_step=on_step
        )
        return notes

    def render(self, folder: Path, options: Options) -> Rendered:
        """Build the table from the records of a folder."""
        name = f"{self.name}-quick" if options.quick else self.name
        records = read_target_records(folder, name)
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
            if any(isinstance(c, Versus) and c.n for row in block.rows for c in row.cells):
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
            # Both readings of dropout are held to the one number that the paper prints.
            printed = published.get("sgf" if system == EVERY_LAYER else system, {})
            cells = [
                versus(
                    select(records, d, system, scaling=scaling, split_rule=split_rule),
                    printed.get(d),
                )
                for d in datasets
            ]
            latex = {**ROW_TITLES, **LITERATURE_TITLES}.get(system, "")
            rows.append(Row(get_system(system).title, tuple(cells), latex))
        titles = [DATASET_TITLES.get(d, f"{d} (not the paper's)") for d in datasets]
        return Block(heading, tuple(titles), tuple(rows))

    def _is_reported_on(self, dataset: str) -> bool:
        """Say whether the literature has a number for a dataset, on the splits that it has."""
        return dataset in self.beside or any(dataset in row for row in self.literature.values())


def _weight(dataset: str) -> int:
    order = ("computers_lcc", "photo_lcc", "pubmed", "chameleon", "bipartite", "citeseer", "cora")
    return len(order) - order.index(dataset) if dataset in order else 0


TABLE2 = AccuracyTable(
    "table2",
    "Table 2: vertex classification accuracy for low-frequency datasets",
    LOW,
    TABLE_2,
    LITERATURE_2,
    quick=("cora",),
)
TABLE3 = AccuracyTable(
    "table3",
    "Table 3: vertex classification accuracy for midrange and high frequency datasets",
    MIDDLE_AND_HIGH,
    TABLE_3,
    LITERATURE_3,
    quick=("wisconsin", "texas"),
    # The corrected Cornell; the paper's carries the features and labels of Texas.
    beside=("cornell",),
)
