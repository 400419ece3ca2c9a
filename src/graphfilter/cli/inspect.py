"""graphfilter inspect: what frequencies the labels have, and whether the graph will help."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from graphfilter.cli.options import option, takes
from graphfilter.cli.predicted_options import PredictedOptions
from graphfilter.cli.screen import say, show_table, tell, waiting
from graphfilter.util.errors import ConfigError, GraphError

if TYPE_CHECKING:
    from graphfilter.data.graph import Graph
    from graphfilter.spectral import Diagnosis


@takes(PredictedOptions, first="edges vertices label dataset picture")
def inspect(
    given: PredictedOptions,
    picture: Annotated[
        Path | None, option("Draw label energy and spectral density to this .png file.", "FILE")
    ] = None,
) -> None:
    """Show the frequencies of the labels, and which type of model they need.

    A label's frequency runs from 0 (neighbours share it) over 1 (neighbours are unrelated) to 2
    (neighbours never share it). Low-pass models such as GCN need low frequencies; an adaptive
    filter fits any. --number and --multilabel show the same for numbers and for several labels.

    Example:  graphfilter inspect --dataset texas --picture texas.png
    """
    if picture is not None and (picture.is_dir() or not picture.parent.is_dir()):
        raise ConfigError(f"{picture}: cannot be written; its folder must exist.")
    if given.of_values:
        _inspect_values(given, picture)
        return
    from graphfilter.report.pictures import draw_spectrum, save_figure
    from graphfilter.spectral import diagnose, label_energy, spectral_density

    found, quiet = given.read().graph, given.quiet
    if found.labels is None:
        raise GraphError("there are no labels to inspect; name their column with --label.")
    from graphfilter.runs.plan import check_classes

    tell(check_classes(found), quiet=quiet)
    with waiting("measuring frequencies", quiet=quiet):
        diagnosis = diagnose(found)
    _show(diagnosis, found.name)
    _show_cost(found, diagnosis.n_labelled)
    if picture is not None:
        with waiting("drawing the spectrum", quiet=quiet):
            figure = draw_spectrum(
                spectral_density(found),
                label_energy(found, "onehot"),
                found.classes.tolist(),
                f"{found.name}: where the labels are in the graph's spectrum",
            )
            save_figure(figure, picture)
        say(f"Picture written to {picture}.")


def _inspect_values(given: PredictedOptions, picture: Path | None) -> None:
    """Show what frequencies numbers, or several labels, have."""
    word = "--number" if given.number else "--multilabel"
    if picture is not None or given.label or (given.number and given.multilabel):
        other = "--picture" if picture is not None else "--label" if given.label else "--multilabel"
        raise ConfigError(f"{other} is for one class per vertex; leave it out with {word}.")
    if given.vertices is None:
        raise ConfigError(f"{word} names columns of a table (--vertices); there is none.")
    from graphfilter.spectral import diagnose_values

    graph, target = given.read().graph, given.read_target()
    assert target.values is not None  # it is of numbers, or of several labels
    with waiting("measuring frequencies", quiet=given.quiet):
        found = diagnose_values(graph, target.values, [str(name) for name in target.names])
    sizes = f"{graph.n_vertices:,} vertices, {graph.n_edges:,} edges, {graph.n_features:,} features"
    heading = "frequency" if found.steps == 1 else "frequency at two steps"
    rows = [
        [
            name, f"{found.n_known:,}", _frequency(found.frequency.value[i]),
            f"{found.frequency.low[i]:.2f} to {found.frequency.high[i]:.2f}", found.ranges[i],
            _number(found.correlation[i]),
        ]
        for i, name in enumerate(found.names)
    ]  # fmt: skip
    show_table(
        ["column", "known", heading, "95 % interval", "range", "correlation of neighbours"],
        rows,
        title=f"{graph.name}: {sizes}",
    )
    say(found.advice)


def _show(d: Diagnosis, name: str) -> None:
    sizes = f"{d.n_vertices:,} vertices, {d.n_edges:,} edges, {d.n_features:,} features"
    rows = []
    for i, (class_name, n) in enumerate(d.class_counts.items()):
        rows.append([
            str(class_name),
            f"{n:,}",
            _frequency(d.label_frequency.value[i]),
            _interval(d, d.label_frequency.low[i], d.label_frequency.high[i]),
            d.ranges[i],
        ])  # fmt: skip
    heading = "label frequency" if d.steps == 1 else "frequency at two steps"
    mean = d.label_frequency
    overall = _interval(d, mean.mean_low, mean.mean_high)
    rows.append(["all classes", f"{d.n_labelled:,}", _frequency(mean.mean), overall, d.range])
    show_table(
        ["class", "labelled", heading, "95 % interval", "range"],
        rows,
        title=f"{name}: {sizes}",
    )
    pairs = "Edges between vertices" if d.steps == 1 else "Pairs that share a neighbour and are"
    say(f"{pairs} of one class: {_percent(d.edge_homophily)} "
        f"(adjusted for class sizes: {_number(d.adjusted_homophily)}).")  # fmt: skip
    if d.feature_frequency is not None:
        average, deviation = d.feature_frequency
        say(f"Feature frequency: {average:.2f} ± {deviation:.2f}.")
    if d.n_isolated:
        say(f"Isolated vertices: {d.n_isolated:,}.")
    say()
    say(d.advice)


def _show_cost(graph: Graph, n_labelled: int) -> None:
    """Say what training takes, on the usual share of the labels."""
    from graphfilter.runs.plan import with_features
    from graphfilter.systems import get_system
    from graphfilter.systems.costs import estimate_cost
    from graphfilter.util.machine import memory_of_process
    from graphfilter.util.words import say_bytes

    available, n_train = memory_of_process(), 3 * n_labelled // 5
    cost = estimate_cost(get_system("committee"), with_features(graph)[0], n_train, available)
    say(
        f"Training the committee takes about {say_bytes(cost.memory.peak)} of memory, of "
        f"{say_bytes(available)}; graphfilter fit --dry-run shows more."
    )


def _interval(d: Diagnosis, low: float, high: float) -> str:
    if d.confidence == "exact":
        return "exact"
    return f"{low:.2f} to {high:.2f}" if isfinite(low) else "unknown"


def _frequency(value: float) -> str:
    """Show a frequency; an unbiased estimate from few labels may fall outside 0 to 2."""
    return f"{value:.2f}" if 0 <= value <= 2 else "unknown"


def _number(value: float) -> str:
    return f"{value:.2f}" if isfinite(value) else "unknown"


def _percent(value: float) -> str:
    return f"{value:.0%}" if isfinite(value) else "unknown"
