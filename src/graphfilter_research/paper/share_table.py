"""Accuracy by a share of the vertices, beyond the paper: with few labels, and on new vertices.

The paper leaves it open whether a filter can be adaptive and need few labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphfilter.systems import get_system
from graphfilter.util.pictures import unframe
from graphfilter_research.bench.pair import Pair
from graphfilter_research.bench.record import Record
from graphfilter_research.paper.collect import Options, pairs_of
from graphfilter_research.paper.published import DATASET_TITLES
from graphfilter_research.paper.tables import (
    Block,
    ComparedAccuracy,
    Rendered,
    Row,
    compare_runs,
    draw_line,
)
from graphfilter_research.paper.target import RunTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


SCALING = "auto"
TITLES = DATASET_TITLES | {
    name: name.capitalize() for name in ("actor", "squirrel", "photo", "computers", "cornell")
}
RUNS = 10


@dataclass(frozen=True, kw_only=True)
class ShareTable:
    """What is run and shown by shares; a :class:`RunTable` takes its ``pairs`` and ``show``.

    Attributes
    ----------
    title, by, note : str
        What the table says of itself; ``by`` is what a share is of.
    x_label : str
        Of the panels.
    shares, quick_shares : tuples of float
    protocols : tuple of str
        Split rules without their share. All systems are drawn by the last one, the first system
        by the others too, dashed.
    systems : tuple of str
    also : mapping of str to tuple of str
        Further split rules of a dataset, as columns.
    """

    title: str
    by: str
    note: str
    x_label: str
    shares: tuple[float, ...]
    quick_shares: tuple[float, ...]
    protocols: tuple[str, ...]
    systems: tuple[str, ...]
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def rules_of(self, dataset: str, *, quick: bool = False) -> list[str]:
        """Return the split rules a dataset is run with."""
        shares = self.quick_shares if quick else self.shares
        rules = [f"{protocol}:{share:g}" for share in shares for protocol in self.protocols]
        return rules if quick else [*rules, *self.also.get(dataset, ())]

    def pairs(self, datasets: Sequence[str], options: Options) -> list[Pair]:
        """List what to run."""
        return [
            pair
            for dataset in datasets
            for rule in self.rules_of(dataset, quick=options.quick)
            for pair in pairs_of([dataset], self.systems, options, scaling=SCALING, split_rule=rule)
        ]

    def show(self, records: Sequence[Record], datasets: Sequence[str]) -> Rendered:
        """Draw the figure, and show its numbers as tables."""
        blocks = []
        for dataset in datasets:
            there = {r.split_rule for r in records if r.dataset == dataset}
            rules = [rule for rule in self.rules_of(dataset) if rule in there]
            rows = [
                Row(get_system(s).title, tuple(_cell(records, dataset, rule, s) for rule in rules))
                for s in self.systems
            ]
            heading = f"{TITLES.get(dataset, dataset)}, by {self.by}"
            blocks.append(Block(heading, tuple(map(self._rule_title, rules)), tuple(rows)))
        figure = self.draw(records, datasets) if datasets else None
        counts = {cell.n for block in blocks for row in block.rows for cell in row.cells if cell.n}
        note = self.note
        if counts and min(counts) < RUNS:
            note += f" Cells are means of {min(counts)} to {max(counts)} runs."
        return Rendered(self.title, tuple(blocks), figure, (note,))

    def _rule_title(self, rule: str) -> str:
        protocol, _, share = rule.partition(":")
        shown = f"{100 * float(share):g} %" if share else rule
        return f"{shown}, {protocol}" if share and len(self.protocols) > 1 else shown

    def draw(self, records: Sequence[Record], datasets: Sequence[str]) -> Figure:
        """Draw one panel per dataset: one line per system, deviations as bands."""
        from matplotlib.figure import Figure

        n_columns = min(3, len(datasets))
        n_rows = -(-len(datasets) // n_columns)
        size = (0.6 + 3.7 * n_columns, 0.7 + 3.2 * n_rows)
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
        *others, last = self.protocols
        for axes in panels[len(datasets) :]:
            axes.set_visible(False)
        for axes, dataset in zip(panels, datasets, strict=False):
            for system in self.systems:
                self._draw_line(axes, records, dataset, system, last)
            for protocol in others:
                self._draw_line(axes, records, dataset, self.systems[0], protocol)
            axes.set_title(TITLES.get(dataset, dataset))
            axes.set_xscale("log")
            axes.set_xlim(90 * self.shares[0], 110 * self.shares[-1])
            axes.set_xticks([100 * share for share in self.shares])
            axes.set_xticklabels([f"{100 * share:g}" for share in self.shares])
            axes.minorticks_off()
            axes.set_xlabel(self.x_label)
            axes.set_ylabel("test accuracy in %")
            axes.grid(axis="y", color="0.9")
            unframe(axes)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        return figure

    def _draw_line(
        self, axes: Axes, records: Sequence[Record], dataset: str, system: str, protocol: str
    ) -> None:
        cells = [_cell(records, dataset, f"{protocol}:{x:g}", system) for x in self.shares]
        place, is_main = self.systems.index(system), protocol == self.protocols[-1]
        title = get_system(system).title + ("" if is_main else f", {protocol}")
        bold = place == 0 and is_main
        draw_line(axes, self.shares, cells, place, title, bold=bold, dashed=not is_main)


def _cell(records: Sequence[Record], dataset: str, rule: str, system: str) -> ComparedAccuracy:
    return compare_runs(records, dataset, system, split_rule=rule, scaling=SCALING)


FEW_LABELS = ShareTable(
    title="Label efficiency: accuracy by the share of training vertices",
    by="the share of training vertices",
    note=(
        "Of every class a share of the vertices is trained on and as many (at most 20 %) validated "
        "on, at least one each; the rest is tested on. Public: the Planetoid split, ten seeds."
        " The committee is the default of when it was run."
    ),
    x_label="vertices trained on in %",
    shares=(0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6),
    quick_shares=(0.01,),
    protocols=("few",),
    systems=("committee", "sgf", "mlp", "gcn", "appnp", "gpr-gnn", "gcnii"),
    also=dict.fromkeys(("cora", "citeseer", "pubmed"), ("public",)),
)
FEW_LABELS_TARGET = RunTable(
    name="label-efficiency",
    summary="accuracy with few labels (beyond the paper)",
    # Low, middle and high label frequency.
    datasets=("cora", "citeseer", "pubmed", "actor", "chameleon", "bipartite_sparse"),
    quick=("cora",),
    pairs=FEW_LABELS.pairs,
    show=FEW_LABELS.show,
    is_variant=True,
)


NEW_VERTICES = ShareTable(
    title="New vertices: accuracy on vertices that were not there in training",
    by="the share of vertices that are tested on",
    note=(
        "A share of the vertices is tested on, and three quarters of the others are trained on, "
        "the rest validated on. Seen: the test vertices are in the graph, without labels. New: the "
        "system is trained without them, and asked on the graph with them; the committee knows the "
        "other vertices by their ids, and is the default of its day. Run r has split and seed r."
    ),
    x_label="new vertices in %",
    shares=(0.05, 0.2, 0.5),
    quick_shares=(0.2,),
    protocols=("seen", "new"),
    systems=("committee", "sgf", "gcn", "graphsage", "trees"),
)
NEW_VERTICES_TARGET = RunTable(
    name="new-vertices",
    summary="accuracy on vertices that were not there in training (beyond the paper)",
    datasets=(
        "cora", "citeseer", "pubmed", "photo", "computers", "chameleon", "squirrel", "actor",
        "wisconsin", "cornell",
    ),
    quick=("texas",),
    pairs=NEW_VERTICES.pairs,
    show=NEW_VERTICES.show,
    is_variant=True,
)  # fmt: skip
