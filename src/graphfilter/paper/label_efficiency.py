"""Label efficiency, beyond the paper: accuracy with few labels, for validation too.

The paper leaves it open whether a filter can be adaptive and need few labels.
"""

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

SHARES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6)
QUICK_SHARES = (0.01,)
PUBLIC = ("cora", "citeseer", "pubmed")
SYSTEMS = ("committee", "sgf", "mlp", "gcn", "appnp", "gpr-gnn", "gcnii")
SCALING = "auto"
TITLES = {**DATASET_TITLES, "actor": "Actor"}
NOTE = (
    "Of every class a share of the vertices is trained on and as many (at most 20 %) validated on, "
    "at least one each; the rest is tested on. Public: the Planetoid split, ten seeds."
)


def rules_of(dataset: str, *, quick: bool = False) -> list[str]:
    """Return the split rules a dataset is run with."""
    shares = [f"few:{share:g}" for share in (QUICK_SHARES if quick else SHARES)]
    return [*shares, "public"] if dataset in PUBLIC and not quick else shares


def pairs(datasets: Sequence[str], options: Options) -> list[Pair]:
    return [
        pair
        for dataset in datasets
        for rule in rules_of(dataset, quick=options.quick)
        for pair in pairs_of([dataset], SYSTEMS, options, scaling=SCALING, split_rule=rule)
    ]


def show(records: Sequence[Record], datasets: Sequence[str]) -> Rendered:
    """Draw the figure, and show its numbers as tables."""
    blocks = []
    for dataset in datasets:
        present = {r.split_rule for r in records if r.dataset == dataset}
        rules = [rule for rule in rules_of(dataset) if rule in present]
        rows = [
            Row(get_system(s).title, tuple(_cell(records, dataset, rule, s) for rule in rules))
            for s in SYSTEMS
        ]
        heading = f"{TITLES.get(dataset, dataset)}, by the share of training vertices"
        blocks.append(Block(heading, tuple(map(_rule_title, rules)), tuple(rows)))
    return Rendered(
        "Label efficiency: accuracy by the share of training vertices",
        tuple(blocks),
        draw(records, datasets) if datasets else None,
        (NOTE,),
    )


def draw(records: Sequence[Record], datasets: Sequence[str]) -> Figure:
    """Draw one panel per dataset: accuracy by share, one line per system, deviations as bands."""
    from matplotlib.figure import Figure

    n_columns = min(3, len(datasets))
    n_rows = -(-len(datasets) // n_columns)
    size = (0.6 + 3.7 * n_columns, 0.7 + 3.2 * n_rows)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axes in panels[len(datasets) :]:
        axes.set_visible(False)
    for axes, dataset in zip(panels, datasets, strict=False):
        for system in SYSTEMS:
            _draw_line(axes, records, dataset, system)
        axes.set_title(TITLES.get(dataset, dataset))
        axes.set_xscale("log")
        axes.set_xticks([100 * share for share in SHARES])
        axes.set_xticklabels([f"{100 * share:g}" for share in SHARES])
        axes.minorticks_off()
        axes.set_xlabel("vertices trained on in %")
        axes.set_ylabel("test accuracy in %")
        axes.grid(axis="y", color="0.9")
        unframe(axes)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(SYSTEMS), frameon=False)
    return figure


def _draw_line(axes: Axes, records: Sequence[Record], dataset: str, system: str) -> None:
    cells = [(share, _cell(records, dataset, f"few:{share:g}", system)) for share in SHARES]
    good = [(100 * share, cell) for share, cell in cells if cell.n]
    i = SYSTEMS.index(system)
    colour = COLOURS[i % len(COLOURS)]
    axes.plot(
        [x for x, _ in good],
        [cell.mean for _, cell in good],
        color=colour,
        marker=MARKERS[i % len(MARKERS)],
        markersize=4.5,
        linewidth=2.4 if system == "committee" else 1.4,
        zorder=10 - i,
        label=get_system(system).title,
    )
    low = [max(c.mean - c.deviation, 0.0) for _, c in good]
    high = [min(c.mean + c.deviation, 100.0) for _, c in good]
    axes.fill_between([x for x, _ in good], low, high, color=colour, alpha=0.1, linewidth=0)


def _rule_title(rule: str) -> str:
    return "public" if rule == "public" else f"{100 * float(rule.partition(':')[2]):g} %"


def _cell(records: Sequence[Record], dataset: str, rule: str, system: str) -> ComparedAccuracy:
    return compare_runs(records, dataset, system, split_rule=rule, scaling=SCALING)


TABLE = RunTable(
    name="label-efficiency",
    summary="accuracy with few labels (beyond the paper)",
    # Low, middle and high label frequency.
    datasets=("cora", "citeseer", "pubmed", "actor", "chameleon", "bipartite_sparse"),
    quick=("cora",),
    pairs=pairs,
    show=show,
    is_variant=True,
)
TARGET = TABLE.target
