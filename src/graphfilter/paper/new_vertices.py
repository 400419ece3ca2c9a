"""New vertices, beyond the paper: accuracy on vertices that were not there in training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphfilter.bench import Pair, Record
from graphfilter.drawing import COLOURS, MARKERS, unframe
from graphfilter.paper.collect import pairs_of
from graphfilter.paper.comparison import ComparedAccuracy, compare_runs
from graphfilter.paper.options import Options
from graphfilter.paper.published_accuracy import DATASET_TITLES
from graphfilter.paper.run_table import RunTable
from graphfilter.paper.tables import Block, Rendered, Row
from graphfilter.systems import get_system

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHARES = (0.05, 0.2, 0.5)
QUICK_SHARES = (0.2,)
SYSTEMS = ("committee", "sgf", "gcn", "graphsage", "trees")
PROTOCOLS = ("seen", "new")
SCALING = "auto"
TITLES = {**DATASET_TITLES, "actor": "Actor", "squirrel": "Squirrel"}
NOTE = (
    "A share of the vertices is tested on, and three quarters of the others are trained on, the "
    "rest validated on. Seen: the test vertices are in the graph, without labels. New: the system "
    "is trained without them, and asked on the graph with them; the committee knows the other "
    "vertices by their ids. Run r has split r and seed r."
)


def pairs(datasets: Sequence[str], options: Options) -> list[Pair]:
    return [
        pair
        for dataset in datasets
        for share in (QUICK_SHARES if options.quick else SHARES)
        for protocol in PROTOCOLS
        for pair in pairs_of(
            [dataset], SYSTEMS, options, scaling=SCALING, split_rule=f"{protocol}:{share:g}"
        )
    ]


def show(records: Sequence[Record], datasets: Sequence[str]) -> Rendered:
    """Show seen and new side by side for every share, and draw them."""
    blocks = []
    for dataset in datasets:
        there = {r.split_rule for r in records if r.dataset == dataset}
        rules = [
            rule
            for share in SHARES
            for protocol in PROTOCOLS
            if (rule := f"{protocol}:{share:g}") in there
        ]
        rows = [
            Row(get_system(s).title, tuple(_cell(records, dataset, rule, s) for rule in rules))
            for s in SYSTEMS
        ]
        heading = f"{TITLES.get(dataset, dataset)}, by the share of vertices that are tested on"
        blocks.append(Block(heading, tuple(map(_rule_title, rules)), tuple(rows)))
    return Rendered(
        "New vertices: accuracy on vertices that were not there in training",
        tuple(blocks),
        draw(records, datasets) if datasets else None,
        (NOTE,),
    )


def draw(records: Sequence[Record], datasets: Sequence[str]) -> Figure:
    """Draw one panel per dataset: accuracy on new vertices by share, one line per system."""
    from matplotlib.figure import Figure

    n_columns = min(3, len(datasets))
    n_rows = -(-len(datasets) // n_columns)
    figure = Figure(figsize=(0.6 + 3.7 * n_columns, 0.7 + 3.2 * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axes in panels[len(datasets) :]:
        axes.set_visible(False)
    for axes, dataset in zip(panels, datasets, strict=False):
        for system in SYSTEMS:
            _draw_line(axes, records, dataset, system, "new")
        _draw_line(axes, records, dataset, SYSTEMS[0], "seen")
        axes.set_title(TITLES.get(dataset, dataset))
        axes.set_xticks([100 * share for share in SHARES])
        axes.set_xlabel("new vertices in %")
        axes.set_ylabel("test accuracy in %")
        axes.grid(axis="y", color="0.9")
        unframe(axes)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw_line(
    axes: Axes, records: Sequence[Record], dataset: str, system: str, protocol: str
) -> None:
    cells = [(share, _cell(records, dataset, f"{protocol}:{share:g}", system)) for share in SHARES]
    good = [(100 * share, cell.mean) for share, cell in cells if cell.n]
    i, seen = SYSTEMS.index(system), protocol == "seen"
    axes.plot(
        [x for x, _ in good],
        [y for _, y in good],
        color=COLOURS[i % len(COLOURS)],
        marker=MARKERS[i % len(MARKERS)],
        markersize=4.5,
        linestyle="--" if seen else "-",
        linewidth=2.4 if system == SYSTEMS[0] and not seen else 1.4,
        label=f"{get_system(system).title}{', seen' if seen else ''}",
    )


def _rule_title(rule: str) -> str:
    protocol, _, share = rule.partition(":")
    return f"{100 * float(share):g} %, {protocol}"


def _cell(records: Sequence[Record], dataset: str, rule: str, system: str) -> ComparedAccuracy:
    return compare_runs(records, dataset, system, split_rule=rule, scaling=SCALING)


TABLE = RunTable(
    name="new-vertices",
    summary="accuracy on vertices that were not there in training (beyond the paper)",
    datasets=(
        "cora", "citeseer", "pubmed", "photo", "computers", "chameleon", "squirrel", "actor",
        "wisconsin", "cornell",
    ),
    quick=("texas",),
    pairs=pairs,
    show=show,
    is_variant=True,
)  # fmt: skip
TARGET = TABLE.target
