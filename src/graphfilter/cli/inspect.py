"""graphfilter inspect: what frequencies the labels have, and whether the graph will help."""

# Annotations of fields are evaluated here: typer reads them.
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from graphfilter.cli.screen import say, show_table, tell, waiting
from graphfilter.cli.sources import PredictedOptions
from graphfilter.util.errors import ConfigError, GraphError
from graphfilter.util.machine import memory_of_process
from graphfilter.util.words import say_bytes

if TYPE_CHECKING:
    from graphfilter.data.graph import Graph
    from graphfilter.spectral import Diagnosis


@dataclass(frozen=True, kw_only=True)
class Inspect(PredictedOptions):
    """Show the frequencies of the labels, and which type of model they need.

    A label's frequency runs from 0 (neighbours share it) over 1 (neighbours are unrelated) to 2
    (neighbours never share it). Low-pass models such as GCN need low frequencies; an adaptive
    filter fits any. --number and --multilabel show the same for numbers and for several labels.

    Example:  graphfilter inspect --dataset texas --picture texas.png

    Attributes
    ----------
    picture : FILE
        Draw label energy and spectral density to this .png file.
    """

    first: ClassVar[str] = "edges vertices label dataset picture"
    picture: Path | None = None

    def __call__(self) -> None:
        """Measure the frequencies of the classes, or of what --number and --multilabel name."""
        path, word = self.picture, self.values_word
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise ConfigError(f"{path}: cannot be written; its folder must exist.")
        if word:
            if path is not None or self.label or (self.number and self.multilabel):
                other = "--label" if self.label else "--multilabel"
                other = "--picture" if path is not None else other
                raise ConfigError(f"{other} is for one class per vertex; leave it out with {word}.")
            if self.vertices is None:
                raise ConfigError(f"{word} names columns of a table (--vertices); there is none.")
            self._show_values()
            return
        from graphfilter.report.pictures import save_figure
        from graphfilter.spectral import diagnose, plot_spectrum

        source, quiet = self.read(), self.quiet
        graph = source.graph
        if source.encoder is not None:
            rows = [
                [one.name, one.kind, f"{one.n_features:,}", ", ".join(one.examples)]
                for one in source.encoder.describe()
            ]
            heads = ["column", "read as", "features", "such as"]
            show_table(heads, rows, title=f"{graph.name}: what its columns became")
        if graph.labels is None:
            raise GraphError("there are no labels to inspect; name their column with --label.")
        from graphfilter.runs.plan import check_classes

        tell(check_classes(graph), quiet=quiet)
        with waiting("measuring frequencies", quiet=quiet):
            diagnosis = diagnose(graph)
        _show(diagnosis, graph)
        if path is not None:
            with waiting("drawing the spectrum", quiet=quiet):
                from matplotlib.figure import Figure

                figure = Figure(figsize=(8, 4.2), layout="constrained")
                axes = plot_spectrum(graph, figure.subplots(), encoding="onehot")
                axes.set_title(f"{graph.name}: where the labels are in the graph's spectrum")
                save_figure(figure, path)
            say(f"Picture written to {path}.")

    def _show_values(self) -> None:
        """Show what frequencies numbers, or several labels, have."""
        from graphfilter.spectral import diagnose_values

        graph, target = self.read().graph, self.read_target()
        assert target.values is not None  # it is of numbers, or of several labels
        with waiting("measuring frequencies", quiet=self.quiet):
            d = diagnose_values(graph, target.values, [str(name) for name in target.names])
        rows = [
            [
                name, f"{d.n_known:,}", _frequency(d.frequency.value[i]),
                f"{d.frequency.low[i]:.2f} to {d.frequency.high[i]:.2f}", d.ranges[i],
                _number(d.correlation[i]),
            ]
            for i, name in enumerate(d.names)
        ]  # fmt: skip
        heading = "frequency" if d.steps == 1 else "frequency at two steps"
        heads = ["column", "known", heading, "95 % interval", "range", "correlation of neighbours"]
        show_table(heads, rows, title=f"{graph.name}: {_sizes(graph)}")
        say(d.advice)


def _show(d: "Diagnosis", graph: "Graph") -> None:
    """Print the frequency of every class, homophily, advice, and what training takes."""
    from graphfilter.runs.plan import with_features
    from graphfilter.systems import get_system
    from graphfilter.systems.system import estimate_cost

    def interval(low: float, high: float) -> str:
        if d.confidence == "exact":
            return "exact"
        return f"{low:.2f} to {high:.2f}" if isfinite(low) else "unknown"

    frequency = d.label_frequency
    rows = [
        [
            str(name), f"{n:,}", _frequency(frequency.value[i]),
            interval(frequency.low[i], frequency.high[i]), d.ranges[i],
        ]
        for i, (name, n) in enumerate(d.class_counts.items())
    ]  # fmt: skip
    overall = interval(frequency.mean_low, frequency.mean_high)
    rows.append(["all classes", f"{d.n_labelled:,}", _frequency(frequency.mean), overall, d.range])
    heading = "label frequency" if d.steps == 1 else "frequency at two steps"
    heads = ["class", "labelled", heading, "95 % interval", "range"]
    show_table(heads, rows, title=f"{graph.name}: {_sizes(graph)}")
    pairs = "Edges between vertices" if d.steps == 1 else "Pairs that share a neighbour and are"
    share = f"{d.edge_homophily:.0%}" if isfinite(d.edge_homophily) else "unknown"
    adjusted = _number(d.adjusted_homophily)
    say(f"{pairs} of one class: {share} (adjusted for class sizes: {adjusted}).")
    if d.feature_frequency is not None:
        average, deviation = d.feature_frequency
        say(f"Feature frequency: {average:.2f} ± {deviation:.2f}.")
    if d.n_isolated:
        say(f"Isolated vertices: {d.n_isolated:,}.")
    say()
    say(d.advice)
    # On the usual share of the labels.
    available, n_train = memory_of_process(), 3 * d.n_labelled // 5
    cost = estimate_cost(get_system("committee"), with_features(graph)[0], n_train)
    say(
        f"Training the committee takes about {say_bytes(cost.peak)} of memory, of "
        f"{say_bytes(available)}; graphfilter fit --dry-run shows more."
    )


def _sizes(graph: "Graph") -> str:
    return f"{graph.n_vertices:,} vertices, {graph.n_edges:,} edges, {graph.n_features:,} features"


def _frequency(value: float) -> str:
    """Show a frequency; an unbiased estimate from few labels may fall outside 0 to 2."""
    return f"{value:.2f}" if 0 <= value <= 2 else "unknown"


def _number(value: float) -> str:
    return f"{value:.2f}" if isfinite(value) else "unknown"
