"""graphfilter bench: models × datasets × splits on record, and tables from the records."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphfilter.cli.column_options import FitOptions
from graphfilter.cli.options import (
    QUICK_EPOCHS,
    Command,
    Device,
    Group,
    Quiet,
    Scaling,
    SplitRule,
    argument,
    given_words,
    limit_epochs,
    listed,
    option,
    option_field,
    takes,
)
from graphfilter.cli.progress import progress
from graphfilter.cli.screen import complain, end_stopped, say, show_table, tell
from graphfilter.util.errors import ConfigError, check_name
from graphfilter_research.commands.progress import mover
from graphfilter_research.commands.table import (
    Metric,
    read_benchmark,
    show_tables,
    summary_tables,
    table,
)

if TYPE_CHECKING:
    from graphfilter.data.graph import Graph
    from graphfilter_research.bench.record import Record

app = typer.Typer(
    rich_markup_mode="markdown",
    invoke_without_command=True,
    cls=Group,
)


@dataclass(frozen=True)
class BenchOptions:
    """Name what to run, and how."""

    datasets: str = option_field(
        "", "Datasets: names or npz files, separated by commas.", "NAME,NAME"
    )
    models: str = option_field(
        "",
        "Models: names (see graphfilter bench models) separated by commas, or all. "
        "sgf@weight_decay=5e-5 is another setting, sgf*5 the average of five seeds.",
        "NAME,NAME",
    )
    out: Path | None = option_field(
        None,
        "File of records (.jsonl), one line per run; extended if it exists. The report "
        "is written beside it: records.html.",
        "FILE",
    )
    runs: int = option_field(10, "Number of runs; run r has seed r and split r.", "N", min=1)
    split_rule: SplitRule = "stratified"
    scaling: Scaling = "auto"
    metric: Metric = "accuracy"
    device: Device = "auto"
    jobs: int = option_field(1, "Number of processes.", "N", min=1)
    max_epochs: int | None = option_field(None, "Maximum number of epochs.", "N", min=1)
    quick: bool = option_field(False, f"At most {QUICK_EPOCHS} epochs, for a quick look.")


@app.callback()
@takes(FitOptions, BenchOptions, first="datasets models out runs edges vertices label quick")
def bench(given: FitOptions, how: BenchOptions, context: typer.Context) -> None:
    """Run models on datasets or on your own tables, and record every run.

    The same command resumes: runs on record are not repeated, and failed ones are retried. A column
    named split is used with --split-rule public.

    Example:  graphfilter bench --datasets cora,texas --models sgf,mlp --out records.jsonl
    """
    if context.invoked_subcommand is not None:
        for word in given_words(context):
            raise ConfigError(
                f"{word} is for running models; give options of bench "
                f"{context.invoked_subcommand} after its name."
            )
        return
    own = any((given.edges, given.vertices, given.graph, given.dataset))
    if not (how.datasets or own) or not how.models or how.out is None:
        raise ConfigError(
            "name what to run: --datasets A,B (or --edges and --vertices) --models M,N "
            "--out records.jsonl."
        )
    from graphfilter.training.scores import METRICS

    check_name("metric", how.metric, METRICS)
    failures = _failures(_run(given, how, how.out))
    for line in failures:
        complain(line)
    if failures:
        raise typer.Exit(1)


def _run(given: FitOptions, how: BenchOptions, out: Path) -> list[Record]:
    """Run what is not on record, write the report and show the table; return the records."""
    from graphfilter.systems import SYSTEMS
    from graphfilter_research.bench.benchmark import run_benchmark
    from graphfilter_research.bench.benchmark_page import page_of, write_benchmark
    from graphfilter_research.bench.record import read_records

    max_epochs = limit_epochs(how.max_epochs, quick=how.quick)
    page = page_of(out)
    _check_out(out, page)
    names = list(SYSTEMS) if how.models == "all" else list(listed(how.models))
    named = [*listed(how.datasets), *([given.dataset] if given.dataset else [])]
    own = (given.vertices or given.graph or given.edges) and not given.dataset
    graphs = _own_graph(given) if own else {}
    try:
        with progress("{done}/{total} runs", show=not given.quiet) as move:
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


def _own_graph(given: FitOptions) -> dict[str, Graph]:
    """Read the user's own graph, under the name of its file; its split column is its public one."""
    from graphfilter.runs.plan import check_classes, with_features
    from graphfilter.splits import Split

    graph, notes = with_features(given.read().graph)
    notes += check_classes(graph)
    splits = [Split(s.train, s.val, s.test, rule="public") for s in graph.splits]
    tell(notes, quiet=given.quiet)
    path = given.vertices or given.graph
    assert path is not None
    return {path.name: graph.replace(splits=splits)}


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


def _failures(records: list[Record]) -> list[str]:
    """Print what failed, one line per reason."""
    found: dict[str, int] = {}
    for record in records:
        if not record.ok:
            line = f"{record.dataset}, {record.model}: {record.reason}"
            found[line] = found.get(line, 0) + 1
    return [f"{n} failed: {line}" for line, n in found.items()]
