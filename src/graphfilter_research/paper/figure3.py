"""Figure 3: accuracy when a growing share of the edges is swapped at random (section 6.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphfilter.systems import get_system
from graphfilter.util.pictures import unframe
from graphfilter_research.bench.pair import Pair
from graphfilter_research.bench.record import Record
from graphfilter_research.paper.accuracy_table import EVERY_LAYER
from graphfilter_research.paper.collect import pairs_of
from graphfilter_research.paper.comparison import ComparedAccuracy
from graphfilter_research.paper.lines import draw_line
from graphfilter_research.paper.options import Options
from graphfilter_research.paper.published_accuracy import DATASET_TITLES
from graphfilter_research.paper.rewired_table import (
    RewiredGraph,
    RewiredTable,
    Shares,
    cell,
    rewired_name,
    share_block,
)
from graphfilter_research.paper.tables import Rendered

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SYSTEMS = ("sgf", "gcnii", "appnp-0.2", "appnp-0.8", "sgc", "mlp")
# The second reading of dropout is run where a run takes seconds.
BOTH_READINGS = ("citeseer", "cora")
# With --variants, beyond the paper; at few shares where a run takes a minute.
COMMITTEE = "committee"
COMMITTEE_SHARES = {"photo_lcc": (0.0, 0.5, 0.9), "pubmed": (0.0, 0.5, 0.9)}
NOTE = (
    "Rewired once a share (seed 0), every degree kept; all runs of a share see the same graph. "
    "SGF is run with the second reading of dropout too on Cora and Citeseer. "
    "The committee is not the paper's: graphfilter's default, in its one setting. "
    "The paper prints no numbers for this figure: it says that SGF and GCNII end at least as well "
    "as the MLP, that SGC and APPNP (0.2) fall alike, and that APPNP (0.8) is robust."
)


def systems_of(dataset: str) -> tuple[str, ...]:
    """Return the systems that are run on the rewired graphs of a dataset."""
    return (*SYSTEMS, EVERY_LAYER) if dataset in BOTH_READINGS else SYSTEMS


def systems_on_record(records: Sequence[Record], dataset: str) -> tuple[str, ...]:
    """Return the systems that are shown of a dataset: with the committee where it was run."""
    names = {rewired_name(dataset, share) for share in SHARES}
    there = any(r.model == COMMITTEE and r.dataset in names for r in records)
    return (*systems_of(dataset), COMMITTEE) if there else systems_of(dataset)


def pairs(graph: RewiredGraph, options: Options) -> list[Pair]:
    systems = systems_of(graph.dataset)
    if options.variants and graph.share in COMMITTEE_SHARES.get(graph.dataset, SHARES):
        systems = (*systems, COMMITTEE)
    return pairs_of([graph.name], systems, options, file=graph.file)


def show(records: Sequence[Record], shares: Shares) -> Rendered:
    """Draw the figure, and show its numbers as tables."""
    blocks = [
        share_block(records, dataset, at, systems_on_record(records, dataset))
        for dataset, at in shares.items()
    ]
    return Rendered(
        "Figure 3: accuracy for each amount of edge perturbation",
        tuple(blocks),
        draw(records, shares) if shares else None,
        (NOTE,),
    )


def draw(records: Sequence[Record], shares: Shares) -> Figure:
    """Draw one panel per dataset: accuracy by share, one line per system, deviations as bands."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(0.6 + 3.7 * len(shares), 4.1), layout="constrained")
    panels = figure.subplots(1, len(shares), squeeze=False)[0]
    for axes, (dataset, at) in zip(panels, shares.items(), strict=True):
        for system in systems_on_record(records, dataset):
            _draw_line(axes, at, [cell(records, dataset, x, system) for x in at], system)
        axes.set_title(DATASET_TITLES.get(dataset, dataset))
        axes.set_xlabel("edges swapped in %")
        axes.grid(axis="y", color="0.9")
        unframe(axes)
    panels[0].set_ylabel("test accuracy in %")
    handles, labels = panels[0].get_legend_handles_labels()
    n_columns = min(len(handles), 2 * len(shares))
    figure.legend(
        handles, labels, loc="outside lower center", ncols=n_columns, frameon=False, handlelength=3
    )
    return figure


def _draw_line(
    axes: Axes, shares: Sequence[float], cells: Sequence[ComparedAccuracy], system: str
) -> None:
    second = system == EVERY_LAYER
    place = (*SYSTEMS, COMMITTEE).index("sgf" if second else system)
    title, bold = get_system(system).title, system in ("sgf", COMMITTEE)
    draw_line(axes, shares, cells, place, title, bold=bold, dashed=second)


TARGET = RewiredTable(
    name="fig-noise",
    summary="accuracy when edges are swapped at random (Figure 3)",
    datasets=("photo_lcc", "pubmed", "citeseer", "cora"),
    quick=("cora",),
    shares=SHARES,
    quick_shares=(0.0, 0.9),
    # One graph for all runs of a share.
    seeds=lambda options: (0,),
    pairs=pairs,
    show=show,
)
