"""graphfilter bench: models × datasets × splits on record, and tables from the records."""

# Annotations of fields are evaluated here: typer reads them.
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from graphfilter.cli.app import Command, Device, Group, Quiet, argument, option, option_field
from graphfilter.cli.screen import (
    Move,
    complain,
    duration,
    end_stopped,
    progress,
    say,
    show_table,
    tell,
)
from graphfilter.cli.sources import FitOptions, option_words, split_commas
from graphfilter.util.errors import ConfigError, check_name
from graphfilter_research.commands.table import (
    Metric,
    read_benchmark,
    show_tables,
    summary_tables,
    table,
)

if TYPE_CHECKING:
    from graphfilter.data.graph import Graph
    from graphfilter_research.bench.matrix import BenchProgress
    from graphfilter_research.bench.record import Record

# With --quick.
QUICK_EPOCHS = 100
Scaling = Annotated[str, option("Feature scaling: auto, none, row or standardise.", "NAME")]
SplitRule = Annotated[
    str, option("Split rule: stratified, per_class, fixed, public, or fraction:0.1.", "RULE")
]

app = typer.Typer(rich_markup_mode="markdown", invoke_without_command=True, cls=Group)


@app.callback()
@dataclass(frozen=True, kw_only=True)
class Bench(FitOptions):
    """Run models on datasets or on your own tables, and record every run.

    The same command resumes: runs on record are not repeated, and failed ones are retried. A column
    named split is used with --split-rule public.

    Example:  graphfilter bench --datasets cora,texas --models sgf,mlp --out records.jsonl

    Attributes
    ----------
    datasets : NAME,NAME
        Datasets: names or npz files, separated by commas.
    models : NAME,NAME
        Models: names (see graphfilter bench models) separated by commas, or all.
        sgf@weight_decay=5e-5 is another setting, sgf*5 the average of five seeds.
    out : FILE
        File of records (.jsonl), one line per run; extended if it exists. The report is written
        beside it: records.html.
    runs : N
        Number of runs; run r has seed r and split r.
    jobs : N
        Number of processes.
    max_epochs : N
        Maximum number of epochs.
    quick
        At most 100 epochs, for a quick look.
    """

    first: ClassVar[str] = "datasets models out runs edges vertices label quick"
    datasets: str = ""
    models: str = ""
    out: Path | None = None
    runs: int = option_field(10, min=1)
    split_rule: SplitRule = "stratified"
    scaling: Scaling = "auto"
    metric: Metric = "accuracy"
    device: Device = "auto"
    jobs: int = option_field(1, min=1)
    max_epochs: int | None = option_field(None, min=1)
    quick: bool = False
    context: typer.Context

    def __call__(self) -> None:
        """Run what is not on record; refuse options that are before a command of the group."""
        if self.context.invoked_subcommand is not None:
            for word in option_words(self.context):
                raise ConfigError(
                    f"{word} is for running models; give options of bench "
                    f"{self.context.invoked_subcommand} after its name."
                )
            return
        graph = any((self.edges, self.vertices, self.graph, self.dataset))
        if not (self.datasets or graph) or not self.models or self.out is None:
            raise ConfigError(
                "name what to run: --datasets A,B (or --edges and --vertices) --models M,N "
                "--out records.jsonl."
            )
        from graphfilter.training.scores import METRICS

        check_name("metric", self.metric, METRICS)
        failures = _failures(_run(self, self.out))
        for line in failures:
            complain(line)
        if failures:
            raise typer.Exit(1)


def limit_epochs(max_epochs: int | None, *, quick: bool) -> int | None:
    """Return the limit of epochs that --max-epochs or --quick sets."""
    if quick and max_epochs is not None:
        raise ConfigError("--quick and --max-epochs both limit the epochs: choose one.")
    return QUICK_EPOCHS if quick else max_epochs


def _run(how: Bench, out: Path) -> "list[Record]":
    """Run what is not on record, write the report and show the table; return the records."""
    from graphfilter.systems import SYSTEMS
    from graphfilter_research.bench.benchmark import run_benchmark
    from graphfilter_research.bench.benchmark_page import page_of, write_benchmark
    from graphfilter_research.bench.record import read_records

    max_epochs = limit_epochs(how.max_epochs, quick=how.quick)
    page = page_of(out)
    _check_out(out, page)
    names = list(SYSTEMS) if how.models == "all" else list(split_commas(how.models))
    named = [*split_commas(how.datasets), *([how.dataset] if how.dataset else [])]
    own = (how.vertices or how.graph or how.edges) and not how.dataset
    graphs = _own_graph(how) if own else {}
    try:
        with progress("{done}/{total} runs", show=not how.quiet) as move:
            records = run_benchmark(
                named, names, out=out, graphs=graphs, split_rule=how.split_rule, runs=how.runs,
                scaling=how.scaling, device=how.device, jobs=how.jobs, max_epochs=max_epochs,
                on_progress=mover(move),
            )  # fmt: skip
    except KeyboardInterrupt as stop:
        kept = f"every finished run is in {out}. The same command resumes."
        raise typer.Exit(end_stopped(stop, kept)) from None
    write_benchmark(page, read_records(out), name=out.name, metric=how.metric)
    show_tables(summary_tables(records, how.metric), "text")
    say(
        f"Records in {out}, report in {page} (open it in a browser); other forms: "
        f"graphfilter table {out} --format latex"
    )
    return records


def _own_graph(how: Bench) -> "dict[str, Graph]":
    """Read the user's own graph, under the name of its file; its split column is its public one."""
    from graphfilter.runs.plan import check_classes, with_features
    from graphfilter.splits import Split

    graph, notes = with_features(how.read().graph)
    notes += check_classes(graph)
    splits = [Split(s.train, s.val, s.test, rule="public") for s in graph.splits]
    tell(notes, quiet=how.quiet)
    path = how.vertices[0] if how.vertices else how.graph
    assert path is not None
    return {Path(path).name: graph.replace(splits=splits)}


def _check_out(out: Path, page: Path) -> None:
    """Raise where records cannot be written, before anything is trained."""
    from graphfilter.util.files import check_target, make_folder

    if out.suffix == ".gz":
        raise ConfigError(f"{out}: records are written unpacked; give a name ending in .jsonl.")
    make_folder(out.parent)
    check_target(page)
    if not os.access(out if out.exists() else out.parent, os.W_OK):
        raise ConfigError(f"{out}: cannot be written there; give another --out.")


app.command("table", cls=Command)(table)


@app.command("report", cls=Command)
def report(
    records: Annotated[Path, argument("A file that graphfilter bench wrote.")],
    out: Annotated[
        Path | None, option("Page to write. Default: beside the records.", "FILE")
    ] = None,
    metric: Metric = "accuracy",
    quiet: Quiet = False,
) -> None:
    """Write the report of a file of records, as bench does when it ends.

    Example:  graphfilter bench report records.jsonl
    """
    from graphfilter_research.bench.benchmark_page import page_of, write_benchmark

    page = page_of(records) if out is None else out
    write_benchmark(page, read_benchmark(records, quiet), name=records.name, metric=metric)
    say(f"Report in {page} (open it in a browser).")


@app.command("models", cls=Command)
def models() -> None:
    """List the models, with their settings and references.

    Example:  graphfilter bench models
    """
    from graphfilter.systems import SYSTEMS

    rows = [[s.name, s.title, s.setting, s.reference] for s in SYSTEMS.values()]
    show_table(["name", "model", "setting", "reference"], rows, text_columns=4)


def _failures(records: "list[Record]") -> list[str]:
    """Print what failed, one line per reason."""
    found: dict[str, int] = {}
    for record in records:
        if not record.ok:
            line = f"{record.dataset}, {record.model}: {record.reason}"
            found[line] = found.get(line, 0) + 1
    return [f"{n} failed: {line}" for line, n in found.items()]


def mover(move: Move) -> "Callable[[BenchProgress], None]":
    """Return a callback for a matrix of runs that says what runs and how long it will take."""

    def report(told: "BenchProgress") -> None:
        what = told.what
        if told.epoch:
            what += f", epoch {told.epoch}/{told.max_epochs}"
        move(what, told.done, told.total, _note(told))

    return report


def _note(told: "BenchProgress") -> str:
    notes = [f"{told.skipped} already recorded"] if told.skipped else []
    notes += [f"{told.failed} failed"] if told.failed else []
    if told.seconds_left is not None and told.done < told.total:
        notes.append(f"about {duration(told.seconds_left)} left")
    return "".join(f", {note}" for note in notes)
