"""graphfilter reproduce: the paper's tables and figures, measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from graphfilter.cli import sources
from graphfilter.cli.screen import complain, runs_bar, say, show_table, tell, waiting
from graphfilter.data import load_dataset, locate
from graphfilter.errors import ConfigError, DataFileError, check_name
from graphfilter.graph import Graph
from graphfilter.paper.forms import Rendered, text_rows, to_csv, to_latex, to_markdown
from graphfilter.paper.frequency import FrequencyRecord, draw, frequency_estimates
from graphfilter.paper.matrix import Options, Step
from graphfilter.paper.records import pack, read_json_lines
from graphfilter.paper.table1 import PUBLISHED_AS, Row, table1
from graphfilter.paper.targets import TARGETS, Target
from graphfilter.paper.versus import NOISE
from graphfilter.report.figures import save_figure
from graphfilter.storage import whole_file, write_json

FREQUENCY_DATASETS = (
    "cora", "citeseer", "pubmed", "photo_lcc", "computers_lcc",
    "wisconsin", "cornell", "texas", "chameleon", "squirrel", "actor", "bipartite",
)  # fmt: skip
OUT, RUNNING = "What to leave", "How to run"


def reproduce(
    target: Annotated[str, typer.Argument(help="See --list; all does one after the other.")] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for records, tables and figures; it goes on from records there.",
            rich_help_panel=OUT,
        ),
    ] = None,
    from_records: Annotated[
        Path | None,
        typer.Option(
            help="Rebuild from the records (.jsonl or .jsonl.gz) of this folder; nothing is run.",
            rich_help_panel=OUT,
        ),
    ] = None,
    gzip: Annotated[
        bool,
        typer.Option("--gzip", help="Leave the records compressed.", rich_help_panel=OUT),
    ] = False,
    runs: Annotated[
        int, typer.Option(help="Run r has seed r and split r.", min=1, rich_help_panel=RUNNING)
    ] = 10,
    jobs: Annotated[
        int,
        typer.Option(help="Processes, a dataset and model each.", min=1, rich_help_panel=RUNNING),
    ] = 1,
    device: Annotated[
        str, typer.Option(help="auto, cpu or cuda.", rich_help_panel=RUNNING)
    ] = "auto",
    literature: Annotated[
        bool,
        typer.Option(
            "--literature",
            help="Tables 2 and 3: run the Literature rows too; they take longer.",
            rich_help_panel=RUNNING,
        ),
    ] = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Few runs, epochs and datasets: not to be published.",
            rich_help_panel=RUNNING,
        ),
    ] = False,
    show_list: Annotated[bool, typer.Option("--list", help="Name the targets.")] = False,
    quiet: sources.Quiet = False,
) -> None:
    """Measure a table or figure of the paper again, beside the published values.

    Stop it and start it again as you like: it goes on where it was.

    Example:  graphfilter reproduce table2 --out results --jobs 8
    """  # fmt: skip
    names = [*MEASURED, *TARGETS]
    if show_list:
        summaries = {name: summary for name, (summary, _) in MEASURED.items()}
        for name in names:
            say(f"{name:<20} {summaries.get(name) or TARGETS[name].summary}")
        return
    if target != "all":
        names = [check_name("target", target, [*names, "all"])]
    if out is None:
        raise ConfigError("give a folder for the results with --out.")
    out.mkdir(parents=True, exist_ok=True)
    options = Options(runs, quick, device, jobs, literature)
    failed = 0
    for name in names:
        try:
            if name in MEASURED:
                MEASURED[name][1](out, from_records, quick, quiet)
            else:
                failed += _one(TARGETS[name], out, from_records, options, gzip, quiet)
        except (ConfigError, DataFileError) as error:
            if target != "all":
                raise
            complain(f"{name}: {error}")
            failed += 1
    if failed:
        raise typer.Exit(1)


def _one(
    target: Target, out: Path, source: Path | None, options: Options, gzip: bool, quiet: bool
) -> int:
    """Run a target unless its records are given, then write and print it; count failed runs."""
    failed = 0
    if source is None:
        with _bar(quiet=quiet) as report:

            def on_step(step: Step) -> None:
                nonlocal failed
                failed = step.failed
                report(step)

            notes = target.collect(out, options, on_step)
        tell(notes, quiet=quiet)
    rendered = target.render(source or out, options)
    written = _write(rendered, out, target.records(options))
    if source is None and gzip:
        written.append(pack(out, target.records(options)).name)
    _show(rendered)
    say(f"Written to {out}: {', '.join(written)}.")
    if failed:
        complain(f"{failed} runs failed: their reasons are in the records. Start again to retry.")
    return failed


def _write(rendered: Rendered, out: Path, name: str) -> list[str]:
    files = {}
    if rendered.blocks:
        files = {
            f"{name}.md": to_markdown(rendered),
            f"{name}.csv": to_csv(rendered),
            f"{name}.tex": to_latex(rendered),
        }
    for file, text in files.items():
        with whole_file(out / file) as temporary:
            temporary.write_text(text, encoding="utf-8")
    if rendered.figure is not None:
        save_figure(rendered.figure, out / f"{name}.png")
        files[f"{name}.png"] = ""
    return list(files)


def _show(rendered: Rendered) -> None:
    say(rendered.title)
    for block in rendered.blocks:
        heads, rows = text_rows(block)
        show_table(heads, rows, title=block.heading)
    for note in rendered.notes:
        say(note)
    if "≈" in to_markdown(rendered):
        say(f"In brackets ours less the paper's. {NOISE}")


@contextmanager
def _bar(*, quiet: bool) -> Iterator[Callable[[Step], None]]:
    """Give a callback that moves a bar."""
    with runs_bar(quiet=quiet) as bar:

        def report(step: Step) -> None:
            note = f", {step.failed} failed" if step.failed else ""
            bar(step.what, step.done, step.total, note)

        yield report


def _table1(out: Path, source: Path | None, quick: bool, quiet: bool) -> None:
    graphs = _load(list(PUBLISHED_AS), quiet)
    with waiting("measuring frequencies", quiet=quiet):
        rows = table1(graphs)
    heads = [
        "dataset",
        "|V|",
        "|E|",
        "paper",
        "r(Y)",
        "paper",
        "encoding",
        "r(X)",
        "paper",
        "as printed",
    ]
    show_table(heads, map(_cells, rows), title="Table 1, measured beside the paper's values")
    write_json(out / "table1.json", [asdict(row) for row in rows])
    say(f"Written to {out / 'table1.json'}.")


def _cells(row: Row) -> list[str]:
    measured = row.signed if row.published.encoding == "signed" else row.onehot
    return [
        row.dataset,
        f"{row.n_vertices:,}",
        f"{row.n_edges:,}",
        f"{row.published.n_edges:,}",
        "{:.2f} ± {:.2f}".format(*measured),
        str(row.published.label_frequency),
        row.published.encoding,
        "{:.2f} ± {:.2f}".format(*row.features),
        str(row.published.feature_frequency),
        "yes" if not row.differs else f"not {', '.join(row.differs)}",
    ]


def _fig_frequency(out: Path, source: Path | None, quick: bool, quiet: bool) -> None:
    if source is not None:
        lines = read_json_lines(source, "fig-frequency")
        save_figure(draw([FrequencyRecord(**x) for x in lines]), out / "fig-frequency.png")
        say(f"Written to {out}: fig-frequency.png.")
        return
    graphs = _load(list(FREQUENCY_DATASETS), quiet)
    records = []
    for name, graph in graphs.items():
        whole = graph if graph.labels is None else graph.subgraph(graph.labels >= 0)
        with waiting(f"sampling {name}", quiet=quiet):
            records += frequency_estimates(
                whole.replace(name=name), n_samples=3 if quick else 10, seed=0
            )
    with whole_file(out / "fig-frequency.jsonl") as temporary:
        temporary.write_text("".join(json.dumps(asdict(r)) + "\n" for r in records))
    save_figure(draw(records), out / "fig-frequency.png")
    say(f"Written to {out}: fig-frequency.png and fig-frequency.jsonl.")


def _load(names: list[str], quiet: bool) -> dict[str, Graph]:
    """Load the datasets that can be had; say which cannot."""
    graphs, missing = {}, []
    for name in names:
        try:
            with waiting(f"loading {name}", quiet=quiet):
                graphs[name] = load_dataset(name)
        except DataFileError as error:
            if locate(name) is not None:
                raise
            missing.append(f"{name} left out: {error}")
    tell(missing, quiet=quiet)
    if not graphs:
        raise ConfigError("none of the datasets is at hand; see graphfilter data list.")
    return graphs


# Measured in seconds from the datasets alone: there are no runs to keep.
MEASURED: dict[str, tuple[str, Callable[[Path, Path | None, bool, bool], None]]] = {
    "table1": ("datasets and their frequencies (Table 1)", _table1),
    "fig-frequency": ("label frequency estimated from few labels (Figures 6, 7)", _fig_frequency),
}
