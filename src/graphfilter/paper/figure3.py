"""Figure 3: accuracy when a growing share of the edges is swapped at random (section 6.4)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphfilter.bench import GraphLoader, OnProgress, Pair, Record
from graphfilter.data import write_npz
from graphfilter.drawing import COLOURS, MARKERS, unframe
from graphfilter.paper.accuracy_table import EVERY_LAYER
from graphfilter.paper.collect import at_hand, collect_runs, pairs_of, report
from graphfilter.paper.comparison import ComparedAccuracy, compare_runs
from graphfilter.paper.options import Options
from graphfilter.paper.published_accuracy import DATASET_TITLES
from graphfilter.paper.records import read_target_records
from graphfilter.paper.rewiring import rewire
from graphfilter.paper.tables import Block, Rendered, Row
from graphfilter.paper.target import Target
from graphfilter.storage import scratch_folder
from graphfilter.systems import get_system

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "fig-noise"
DATASETS = ("photo_lcc", "pubmed", "citeseer", "cora")
QUICK = ("cora",)
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
QUICK_SHARES = (0.0, 0.9)
SYSTEMS = ("sgf", "gcnii", "appnp-0.2", "appnp-0.8", "sgc", "mlp")
# The second reading of dropout is run where a run takes seconds.
BOTH_READINGS = ("citeseer", "cora")
# With --variants, beyond the paper; at few shares where a run takes a minute.
COMMITTEE = "committee"
COMMITTEE_SHARES = {"photo_lcc": (0.0, 0.5, 0.9), "pubmed": (0.0, 0.5, 0.9)}
SEED = 0
NOTE = (
    "Rewired once a share (seed 0), every degree kept; all runs of a share see the same graph. "
    "SGF is run with the second reading of dropout too on Cora and Citeseer. "
    "The committee is not the paper's: graphfilter's default, in its one setting. "
    "The paper prints no numbers for this figure: it says that SGF and GCNII end at least as well "
    "as the MLP, that SGC and APPNP (0.2) fall alike, and that APPNP (0.8) is robust."
)


def rewired_name(dataset: str, share: float) -> str:
    """Return the name a rewired dataset is recorded under.

    >>> rewired_name("cora", 0.3)
    'cora~0.3'
    """
    return f"{dataset}~{share:g}"


def split_name(name: str) -> tuple[str, float | None]:
    """Return the dataset and the share of a rewired one's name; no share for any other name.

    >>> split_name("cora~0.3"), split_name("cora")
    (('cora', 0.3), ('cora', None))
    """
    dataset, _, share = name.rpartition("~")
    try:
        return dataset, float(share)
    except ValueError:
        return name, None


def systems_of(dataset: str) -> tuple[str, ...]:
    """Return the systems that are run on the rewired graphs of a dataset."""
    return (*SYSTEMS, EVERY_LAYER) if dataset in BOTH_READINGS else SYSTEMS


def systems_on_record(records: Sequence[Record], dataset: str) -> tuple[str, ...]:
    """Return the systems that are shown of a dataset: with the committee where it was run."""
    names = {rewired_name(dataset, share) for share in SHARES}
    there = any(r.model == COMMITTEE and r.dataset in names for r in records)
    return (*systems_of(dataset), COMMITTEE) if there else systems_of(dataset)


def collect(folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
    """Run what is not on record; return notes on what was left out."""
    datasets, notes = at_hand(QUICK if options.quick else DATASETS)
    shares = QUICK_SHARES if options.quick else SHARES
    load = GraphLoader()
    # Processes get the rewired graphs as files, which nobody needs afterwards: the seed does.
    with scratch_folder("graphfilter-rewired-") as place:
        pairs: list[Pair] = []
        for dataset in datasets:
            graph, _ = load(dataset)
            for share in shares:
                name = rewired_name(dataset, share)
                report(on_progress, 0, 0, f"rewiring {name}")
                file = place / f"{name}.npz"
                write_npz(rewire(graph, share, SEED).replace(name=name), file)
                pairs += pairs_of([name], systems_of(dataset), options, file=file)
                if options.variants and share in COMMITTEE_SHARES.get(dataset, shares):
                    pairs += pairs_of([name], [COMMITTEE], options, file=file)
        collect_runs(folder, NAME, pairs, options, on_progress)
    return notes


def build(folder: Path, options: Options) -> Rendered:
    """Draw the figure, and its numbers as tables, from the records of a folder."""
    records = read_target_records(folder, options.file_name(NAME))
    shares: dict[str, list[float]] = {}
    for record in records:
        dataset, share = split_name(record.dataset)
        if share is not None:
            shares.setdefault(dataset, []).append(share)
    known = [d for d in reversed(DATASETS) if d in shares]
    found = {d: sorted({*shares[d]}) for d in (*known, *(d for d in shares if d not in known))}
    blocks = []
    for dataset, at in found.items():
        rows = [
            Row(get_system(s).title, tuple(_cell(records, dataset, x, s) for x in at))
            for s in systems_on_record(records, dataset)
        ]
        heading = f"{DATASET_TITLES.get(dataset, dataset)}, by the share of edges swapped"
        blocks.append(Block(heading, tuple(f"{x:.0%}" for x in at), tuple(rows)))
    return Rendered(
        "Figure 3: accuracy for each amount of edge perturbation",
        tuple(blocks),
        draw(records, found) if found else None,
        (NOTE,),
    )


def draw(records: Sequence[Record], shares: dict[str, list[float]]) -> Figure:
    """Draw one panel per dataset: accuracy by share, one line per system, deviations as bands."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(0.6 + 3.7 * len(shares), 4.1), layout="constrained")
    panels = figure.subplots(1, len(shares), squeeze=False)[0]
    for axes, (dataset, at) in zip(panels, shares.items(), strict=True):
        for system in systems_on_record(records, dataset):
            _draw_line(axes, at, [_cell(records, dataset, x, system) for x in at], system)
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
    i = (*SYSTEMS, COMMITTEE).index("sgf" if second else system)
    x = [100 * share for share, cell in zip(shares, cells, strict=True) if cell.n]
    good = [cell for cell in cells if cell.n]
    colour = COLOURS[i % len(COLOURS)]
    axes.plot(
        x,
        [cell.mean for cell in good],
        color=colour,
        marker=MARKERS[i % len(MARKERS)],
        markersize=4.5,
        markerfacecolor="white" if second else colour,
        linewidth=2.4 if system in ("sgf", COMMITTEE) else 1.4,
        linestyle="--" if second else "-",
        zorder=10 - i,
        label=get_system(system).title,
    )
    low, high = ([c.mean + sign * c.deviation for c in good] for sign in (-1, 1))
    axes.fill_between(x, low, high, color=colour, alpha=0.12, linewidth=0)


def _cell(records: Sequence[Record], dataset: str, share: float, system: str) -> ComparedAccuracy:
    return compare_runs(records, rewired_name(dataset, share), system)


TARGET = Target(NAME, "accuracy when edges are swapped at random (Figure 3)", collect, build)
