"""Tables 2 and 3: accuracy of ours and the Literature's systems by label frequency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from graphfilter.systems import get_system
from graphfilter_research.bench.pair import Pair
from graphfilter_research.bench.record import Record
from graphfilter_research.paper.collect import Options, pairs_of
from graphfilter_research.paper.published import (
    DATASET_TITLES,
    LITERATURE_2,
    LITERATURE_3,
    LITERATURE_TITLES,
    LOW,
    MIDDLE_AND_HIGH,
    ROW_TITLES,
    SAME_ROW,
    TABLE_2,
    TABLE_3,
    Published,
)
from graphfilter_research.paper.tables import (
    Block,
    ComparedAccuracy,
    Rendered,
    Row,
    compare_chosen,
    compare_runs,
)
from graphfilter_research.paper.target import RunTable, titles_of

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
CHEBY_CODE = tuple(system for system in CODE if "cheby" in system)
CHEBY_TITLE = f"SGF-Cheby as its authors coded it, {SCALINGS['row']}; stratified splits"
LITERATURE = tuple(system for system in LITERATURE_TITLES if system not in VARIANTS)
# What is run on the splits of the paper's authors.
OURS = tuple(dict.fromkeys((*SYSTEMS, *CODE)))


@dataclass(frozen=True)
class AccuracyTable:
    """What is run and shown of the two; a :class:`RunTable` takes its ``pairs`` and ``show``.

    Attributes
    ----------
    datasets : tuple of str
        The paper's columns.
    fixed : tuple of str
        Columns that the paper's authors ran on the Geom-GCN splits.
    systems, ours : tuples of str
        What is run on stratified splits, and on those.
    others, variants : tuples of str
        What is run of the Literature, and of its variants.
    """

    title: str
    datasets: tuple[str, ...]
    published: Published
    literature: Published
    fixed: tuple[str, ...] = ()
    systems: tuple[str, ...] = SYSTEMS
    ours: tuple[str, ...] = OURS
    others: tuple[str, ...] = LITERATURE
    variants: tuple[str, ...] = VARIANTS

    def pairs(self, datasets: Sequence[str], options: Options) -> list[Pair]:
        """List what to run."""
        # The large ones first: the last process to end is then a short one.
        datasets = sorted(datasets, key=_weight, reverse=True)
        fixed = [d for d in datasets if d in self.fixed]
        pairs = []
        for scaling in SCALINGS:
            pairs += pairs_of(datasets, self.systems, options, scaling=scaling)
            if options.variants:
                pairs += pairs_of(fixed, self.ours, options, scaling=scaling, split_rule="fixed")
        reported = [d for d in datasets if self._is_reported_on(d)]
        if options.literature:
            pairs += pairs_of(reported, self.others, options, split_rule="fixed")
        if options.variants:
            pairs += pairs_of(reported, self.variants, options, split_rule="fixed")
        return pairs

    def show(self, records: Sequence[Record], datasets: Sequence[str]) -> Rendered:
        """Show our experiments beside what is printed, and the Literature rows."""
        ours = "Our experiments, {}; stratified 0.6/0.2/0.2 splits"
        cells = partial(self._block, records, datasets)
        blocks = [cells(ours.format(CHOSEN_TITLE), self.systems, self.published)]
        blocks += [
            cells(ours.format(text), self.systems, self.published, scaling=scaling)
            for scaling, text in SCALINGS.items()
        ]
        heading = f"Our experiments, {CHOSEN_TITLE}; {GEOM_GCN_SPLITS}, the authors' on these"
        fixed = cells(heading, self.ours, self.published, split_rule="fixed")
        coded = cells(CHEBY_TITLE, CHEBY_CODE, self.published, scaling="row")
        blocks += [block for block in (fixed, coded) if block.columns]
        return Rendered(self.title, (*blocks, *self._literature(records, datasets)))

    def _literature(self, records: Sequence[Record], datasets: Sequence[str]) -> list[Block]:
        """Return the Literature rows: as printed, and run where they were."""
        theirs = [d for d in datasets if d in self.datasets]
        printed = [
            Row(title, tuple(self.literature[system].get(d, "(not avail.)") for d in theirs))
            for system, title in LITERATURE_TITLES.items()
        ]
        blocks = [Block("Literature, as printed in the paper", titles_of(theirs), tuple(printed))]
        heading = f"Literature, run here, features divided by their row's sum; {GEOM_GCN_SPLITS}"
        block = self._block(
            records,
            datasets,
            heading,
            (*self.others, *self.variants),
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
        datasets: Sequence[str],
        heading: str,
        systems: tuple[str, ...],
        published: Published,
        *,
        scaling: str = "",
        split_rule: str = "stratified",
    ) -> Block:
        """Make a block; without a scaling each cell has the one that validation chose."""
        there = {r.dataset for r in records if r.model in systems and r.split_rule == split_rule}
        datasets = [d for d in datasets if d in there]
        if systems == self.ours:
            datasets = [d for d in datasets if d in self.fixed]
        rows = []
        always = {*self.systems, *self.others}
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


TABLE_OF_LOW = AccuracyTable(
    "Table 2: vertex classification accuracy for low-frequency datasets", LOW, TABLE_2, LITERATURE_2
)
TARGET_2 = RunTable(
    name="table2",
    summary="accuracy on low-frequency data (Table 2)",
    datasets=LOW,
    quick=("cora",),
    pairs=TABLE_OF_LOW.pairs,
    show=TABLE_OF_LOW.show,
)


# The authors' own bipartite graphs, of 50,182 and of 6,018 edges.
AUTHORS_BIPARTITE = ("bipartite_paper", "bipartite_sparse")

TABLE_OF_HIGH = AccuracyTable(
    "Table 3: vertex classification accuracy for midrange and high frequency datasets",
    MIDDLE_AND_HIGH,
    TABLE_3,
    LITERATURE_3,
    # A class of one vertex cannot be stratified: their code takes these splits there.
    fixed=("cornell_geomgcn", "texas"),
)
TARGET_3 = RunTable(
    name="table3",
    summary="accuracy on middle- and high-frequency data (Table 3)",
    # With the corrected Cornell; the paper's carries the features and labels of Texas.
    datasets=(*MIDDLE_AND_HIGH, *AUTHORS_BIPARTITE, "cornell"),
    variants=AUTHORS_BIPARTITE,
    quick=("wisconsin", "texas"),
    pairs=TABLE_OF_HIGH.pairs,
    show=TABLE_OF_HIGH.show,
)
