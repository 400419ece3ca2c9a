"""What Tables 2 and 3 share: systems by datasets, next to the paper's accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphfilter.bench import OnProgress, Record
from graphfilter.paper.collect import at_hand, collect_runs, pairs_of
from graphfilter.paper.comparison import ComparedAccuracy, compare_chosen, compare_runs
from graphfilter.paper.options import Options
from graphfilter.paper.published_accuracy import (
    DATASET_TITLES,
    LITERATURE_TITLES,
    ROW_TITLES,
    SAME_ROW,
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
# What a cell says where the scaling was chosen.
CHOSEN = {"row": "row", "none": "raw"}
CHOSEN_TITLE = "features row-normalised or raw, by validation accuracy"
GEOM_GCN_SPLITS = "the Geom-GCN splits (48/32/20)"
# The paper prints one number for whichever bipartite graph it was.
BIPARTITE = ("bipartite", "bipartite_paper", "bipartite_sparse")
VARIANTS = ("geom-gcn", *SAME_ROW)
# SGF as its authors' code trains it, and the printed row each belongs to.
CODE = {
    EVERY_LAYER: "sgf",
    "sgf-authors": "sgf",
    "sgf-cheby-authors": "sgf-cheby",
    "sgf-cheby-authors-1.5": "sgf-cheby-1.5",
}
LITERATURE = tuple(system for system in LITERATURE_TITLES if system not in VARIANTS)
# What is run on the splits of the paper's authors.
OURS = tuple(dict.fromkeys((*SYSTEMS, *CODE)))


@dataclass(frozen=True)
class AccuracyTable:
    """One of the two tables.

    Attributes
    ----------
    datasets : tuple of str
        The paper's columns.
    beside : tuple of str
        Further columns, which the paper does not have.
    variants : tuple of str
        Further columns still, of --variants.
    fixed : tuple of str
        Columns that the paper's authors ran on the Geom-GCN splits.
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
    variants: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()

    def columns(self, options: Options) -> tuple[str, ...]:
        if options.quick:
            return self.quick
        return (*self.datasets, *self.beside, *(self.variants if options.variants else ()))

    def collect(self, folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
        """Run what is not on record; return notes on what was left out."""
        datasets, notes = at_hand(self.columns(options))
        # The large ones first: the last process to end is then a short one.
        datasets = sorted(datasets, key=_weight, reverse=True)
        fixed = [d for d in datasets if d in self.fixed]
        pairs = []
        for scaling in SCALINGS:
            pairs += pairs_of(datasets, SYSTEMS, options, scaling=scaling)
            if options.variants:
                pairs += pairs_of(fixed, OURS, options, scaling=scaling, split_rule="fixed")
        reported = [d for d in datasets if self._is_reported_on(d)]
        if options.literature:
            pairs += pairs_of(reported, LITERATURE, options, split_rule="fixed")
        if options.variants:
            pairs += pairs_of(reported, VARIANTS, options, split_rule="fixed")
        collect_runs(folder, self.name, pairs, options, on_progress)
        return notes

    def build(self, folder: Path, options: Options) -> Rendered:
        """Build the table from the records of a folder."""
        records = read_target_records(folder, options.file_name(self.name))
        ours = "Our experiments, {}; stratified 0.6/0.2/0.2 splits"
        blocks = [self._block(records, ours.format(CHOSEN_TITLE), SYSTEMS, self.published)]
        blocks += [
            self._block(records, ours.format(text), SYSTEMS, self.published, scaling=scaling)
            for scaling, text in SCALINGS.items()
        ]
        heading = f"Our experiments, {CHOSEN_TITLE}; {GEOM_GCN_SPLITS}, the authors' on these"
        fixed = self._block(records, heading, OURS, self.published, split_rule="fixed")
        blocks += [fixed] if fixed.columns else []
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
        heading = f"Literature, run here, features divided by their row's sum; {GEOM_GCN_SPLITS}"
        block = self._block(
            records,
            heading,
            (*LITERATURE, *VARIANTS),
            self.literature,
            scaling="row",
            split_rule="fixed",
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
        scaling: str = "",
        split_rule: str = "stratified",
    ) -> Block:
        """Make a block; without a scaling each cell has the one that validation chose."""
        there = {r.dataset for r in records if r.model in systems and r.split_rule == split_rule}
        known = (*self.datasets, *self.variants, *self.beside)
        datasets = [d for d in known if d in there]
        if systems == OURS:
            datasets = [d for d in datasets if d in self.fixed]
        rows = []
        always = {*SYSTEMS, *LITERATURE}
        for system in systems:
            # Both readings of dropout, and all variants, are compared with the one number printed.
            same = {**CODE, **SAME_ROW}.get(system, system)
            row = published.get(same, {})
            printed = {d: row.get("bipartite" if d in BIPARTITE else d) for d in datasets}
            if scaling:
                cells = [
                    compare_runs(
                        records, d, system, printed.get(d), scaling=scaling, split_rule=split_rule
                    )
                    for d in datasets
                ]
            else:
                cells = [
                    compare_chosen(
                        records, d, system, printed.get(d), scalings=CHOSEN, split_rule=split_rule
                    )
                    for d in datasets
                ]
            latex = {**ROW_TITLES, **LITERATURE_TITLES}.get(system, "")
            if system in always or any(cell.n for cell in cells):
                rows.append(Row(get_system(system).title, tuple(cells), latex))
        titles = [DATASET_TITLES.get(d, f"{d} (not the paper's)") for d in datasets]
        return Block(heading, tuple(titles), tuple(rows))

    def _is_reported_on(self, dataset: str) -> bool:
        """Return whether the literature has a number for a dataset, on the splits that it has."""
        return dataset == "cornell" or any(dataset in row for row in self.literature.values())


def _weight(dataset: str) -> int:
    order = ("computers_lcc", "photo_lcc", "pubmed", "chameleon", "bipartite", "citeseer", "cora")
    return len(order) - order.index(dataset) if dataset in order else 0
