"""graphfilter demo: one setting on a low-, a middle- and a high-frequency graph."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, pstdev
from typing import TYPE_CHECKING, Annotated, Any

from graphfilter.cli.app import Quiet, flag, option
from graphfilter.cli.screen import say, show_table, training_bar
from graphfilter.util.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from graphfilter.data.graph import Graph
    from graphfilter.filters import Filter
    from graphfilter.spectral.plot import FilterView
    from graphfilter.systems import System

GRAPHS = {"digits": "low", "csbm": "middle", "bipartite": "high"}
RESULTS_FILE = "results.json"
SYSTEMS = ("committee", "sgf", "mlp", "sgc", "appnp")
# A demo is not to be waited for: members of the committee are trained this long at most.
SHORT = {"max_epochs": 100, "patience": 20}
# Probability of an edge across the bipartite graph, near the authors' choice. At the 0.05 that
# the paper describes two steps of averaging are enough, and nothing could be told apart.
ACROSS = 0.008


def demo(
    out: Annotated[Path, option("Folder for the pictures and results.", "FOLDER")],
    runs: Annotated[int, option("Number of splits, with seeds from 0.", "N", min=1)] = 1,
    overwrite: Annotated[
        bool, flag("--overwrite", "Replace an earlier demo in the folder.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Watch one setting adapt to three kinds of graph, beside an MLP and fixed low-pass filters.

    First the committee that fit trains, for at most 100 epochs; then SGF, whose filter is drawn.

    The graphs are embedded, nothing is downloaded: handwritten digits joined to their nearest
    neighbours (neighbours agree), a random graph that says nothing about its labels, and a
    bipartite graph (neighbours always disagree) whose features say nothing.

    Example:  graphfilter demo --out demo
    """
    from graphfilter.util.files import files_in, make_folder
    from graphfilter.util.records import write_json

    if files_in(out, "*.png", RESULTS_FILE) and not overwrite:
        raise ConfigError(f"{out}: exists and is not empty; pass --overwrite, or another --out.")
    from graphfilter.report.pictures import save_figure
    from graphfilter.systems import get_system
    from graphfilter.systems.system import Committee

    make_folder(out)
    named = [get_system(name) for name in SYSTEMS]
    systems = {s.title: s.with_(**SHORT) if isinstance(s, Committee) else s for s in named}
    started = time.perf_counter()
    learned = [_learn(name, systems, runs, out, quiet=quiet) for name in GRAPHS]
    save_figure(_draw_filters([one.view for one in learned]), out / "filters.png")
    write_json(out / RESULTS_FILE, [record for one in learned for record in one.records])
    _show(learned, list(systems), runs)
    say(f"Pictures in {out} (start with filters.png), {time.perf_counter() - started:.0f} s.")


@dataclass(frozen=True, eq=False)
class _Learned:
    """What the systems learned of a graph: a row of the table, and of SGF its filter and shape."""

    name: str
    row: list[str]
    records: list[dict[str, Any]]
    view: FilterView
    shape: str


def _learn(
    name: str, systems: Mapping[str, System], runs: int, out: Path, *, quiet: bool
) -> _Learned:
    """Train the systems on a graph, and draw the filter of SGF."""
    from graphfilter.data.datasets import load_dataset, make_bipartite
    from graphfilter.report.filter import describe_shape, mean_response
    from graphfilter.report.pictures import draw_filter, save_figure
    from graphfilter.spectral import label_frequency, spectral_density
    from graphfilter.splits import stratified
    from graphfilter.systems import Prepared, train_system
    from graphfilter.systems.networks import learned_filters
    from graphfilter.training import Callback
    from graphfilter.training.scores import score_parts

    graph = make_bipartite(probability=ACROSS) if name == "bipartite" else load_dataset(name)
    prepared = Prepared.of(graph)
    splits = [stratified(graph.labels, seed) for seed in range(runs)]
    cells: list[str] = []
    records: list[dict[str, Any]] = []
    view, shape = None, ""
    for label, system in systems.items():
        with training_bar(show=not quiet, titles=[f"{name}: {label}"]) as bar:
            outcomes = train_system(prepared, system, splits, range(runs), callback=Callback(bar))
        accuracies = [
            score_parts(outcome.probabilities, prepared.labels, split)["test"]["accuracy"]
            for outcome, split in zip(outcomes, splits, strict=True)
        ]
        spread = f" ± {100 * pstdev(accuracies):.1f}" if runs > 1 else ""
        cells.append(f"{100 * mean(accuracies):.1f}{spread}")
        records.append({
            "graph": name,
            "system": system.name,
            "split_rule": splits[0].rule,
            "accuracies": accuracies,
            "epochs": [outcome.result.n_epochs for outcome in outcomes],
        })  # fmt: skip
        if system.name == "sgf":
            title = f"{name} ({GRAPHS[name]} frequency)"
            learned = learned_filters([outcome.network for outcome in outcomes])
            view = _view(graph, system, learned, title, f"{mean(accuracies):.1%}")
            save_figure(draw_filter(view), out / f"filter_{name}.png")
            curve = mean_response(learned, system.operator)
            shape = describe_shape(curve, spectral_density(graph))
    assert view is not None  # SGF is among the systems
    row = [name, GRAPHS[name], f"{label_frequency(graph).mean():.2f}", *cells]
    return _Learned(name, row, records, view, shape)


def _show(learned: Sequence[_Learned], titles: Sequence[str], runs: int) -> None:
    show_table(
        ["graph", "frequency", "r(Y)", *titles],
        [one.row for one in learned],
        title="Test accuracy in %, "
        + ("on a" if runs == 1 else f"mean ± deviation over {runs}")
        + f" stratified 60/20/20 split{'' if runs == 1 else 's'}",
        text_columns=2,
    )
    say(f"Networks of the committee are trained for at most {SHORT['max_epochs']} epochs here.")
    say("SGF has one setting for all of them. What it learned, the mean of the runs:")
    for one in learned:
        say(f"- {one.name}: {one.shape}.")
    say(
        "MLP ignores the graph. SGC and APPNP are fixed low-pass filters; SGC's is an even power "
        "of the adjacency, which lets some of the highest frequency through: on a denser "
        "bipartite graph (graphfilter bench --datasets bipartite) that is enough."
    )


def _view(
    graph: Graph, system: System, learned: Sequence[Filter], title: str, corner: str
) -> FilterView:
    from graphfilter.filters import StackedFilter
    from graphfilter.spectral import label_frequency
    from graphfilter.spectral.plot import FilterView

    frequencies = zip(graph.classes.tolist(), label_frequency(graph), strict=True)
    return FilterView(
        operator=system.operator,
        start=StackedFilter(),
        learned=learned,
        label_frequency=dict(frequencies),
        title=title,
        corner=corner,
    )


def _draw_filters(views: Sequence[FilterView]) -> Figure:
    """Draw several filters side by side."""
    from matplotlib.figure import Figure

    from graphfilter.spectral.plot import draw_view
    from graphfilter.util.pictures import FREQUENCY_AXIS

    figure = Figure(figsize=(4.2 * len(views), 3.9), layout="constrained")
    panels = figure.subplots(1, len(views), squeeze=False)[0]
    for axes, view in zip(panels, views, strict=True):
        draw_view(axes, view)
    panels[len(views) // 2].set_xlabel(FREQUENCY_AXIS)
    panels[0].set_ylabel("response f")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure
