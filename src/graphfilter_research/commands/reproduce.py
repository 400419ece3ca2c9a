"""graphfilter reproduce: the paper's tables and figures, measured."""

# Annotations of fields are evaluated here: typer reads them.
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphfilter.cli.app import Quiet, argument, option_field
from graphfilter.cli.screen import complain, end_stopped, progress, say, show_table, tell
from graphfilter.cli.sources import option_words
from graphfilter.util.errors import ConfigError, GraphFilterError, check_name
from graphfilter_research.commands.bench import mover

if TYPE_CHECKING:
    from graphfilter_research.bench.matrix import BenchProgress
    from graphfilter_research.paper.collect import Options
    from graphfilter_research.paper.tables import Rendered
    from graphfilter_research.paper.target import Target

REPORT_FILE = "report.html"
OUT, RUNNING = "Output", "Running"
# The target that is given a folder of graphs.
CONFIRM = "confirm"
# Options of running, refused with --from-records.
RUN_OPTIONS = ("--runs", "--jobs", "--device", "--gzip")


@dataclass(frozen=True, kw_only=True)
class Reproduce:
    """Measure a table or figure of the paper again, beside the published values.

    The same command resumes an interrupted one.

    Example:  graphfilter reproduce table2 --out results --jobs 8

    Attributes
    ----------
    out : FOLDER
        Folder for records, tables, figures and report.html; resumes from its records.
    from_records : FOLDER
        Rebuild from the records (.jsonl or .jsonl.gz) of this folder; run nothing.
    gzip
        Compress the records.
    runs : N
        Number of runs; run r has seed r and split r.
    jobs : N
        Number of processes.
    device : NAME
        Device: auto, cpu or cuda.
    literature
        Tables 2 and 3: run the Literature rows too, where they have a number; they take longer.
    variants
        Run what goes beyond the paper's rows too: other splits, graphs and settings.
    quick
        Few runs, epochs and datasets, for a quick look.
    show_list
        List the targets.
    """

    target: Annotated[str, argument("Table or figure: see --list; all for every one.")] = ""
    graphs: Annotated[Path | None, argument("Of confirm: a folder of graphs (.npz).")] = None
    out: Path | None = option_field(None, OUT)
    from_records: Path | None = option_field(None, OUT)
    gzip: bool = option_field(False, OUT)
    runs: int = option_field(10, RUNNING, min=1)
    jobs: int = option_field(1, RUNNING, min=1)
    device: str = option_field("auto", RUNNING)
    literature: bool = option_field(False, RUNNING)
    variants: bool = option_field(False, RUNNING)
    quick: bool = option_field(False, RUNNING)
    show_list: bool = option_field(False, name="--list")
    quiet: Quiet = False
    context: typer.Context

    def __call__(self) -> None:
        """Check, then run and show the target."""
        for word in option_words(self.context):
            if self.from_records is not None and word in RUN_OPTIONS:
                raise ConfigError(
                    f"{word} is for running, and --from-records runs nothing: leave one of them "
                    "out."
                )
        from graphfilter_research.paper.targets import TARGETS

        if self.show_list:
            for name, known in TARGETS.items():
                say(f"{name:<20} {known.summary}")
            return
        if not self.target:
            raise ConfigError("name a target; graphfilter reproduce --list shows them.")
        check_name("target", self.target, [*TARGETS, "all"])
        if self.out is None:
            raise ConfigError("give a folder for the results with --out.")
        if self.graphs is not None and self.target != CONFIRM:
            raise ConfigError(f"a folder of graphs is for {CONFIRM}; {self.target} has its own.")
        if _reproduce(self, self.out, self.target, self.quiet):
            raise typer.Exit(1)


# What the entry point names.
reproduce = Reproduce


def _reproduce(how: Reproduce, out: Path, target: str, quiet: bool) -> int:
    """Reproduce a target, or all; return how many runs, or targets of all, failed."""
    from graphfilter.util.files import make_folder
    from graphfilter.util.machine import pick_device
    from graphfilter_research.paper.collect import Options
    from graphfilter_research.paper.reproduction_page import write_reproduction
    from graphfilter_research.paper.targets import TARGETS

    device = pick_device(how.device)
    options = Options(
        how.runs, how.quick, device, how.jobs, how.literature, how.variants, how.graphs
    )
    make_folder(out)
    # What goes beyond the paper is built from what is on record, and not run any further.
    only_built = target == "all" and not how.variants
    place = how.from_records or out
    failed = 0
    built: dict[str, Rendered] = {}
    for name, wanted in TARGETS.items():
        is_extra = only_built and wanted.is_variant
        if target == "all" and name == CONFIRM and how.from_records is None:
            continue  # It needs a folder of graphs.
        if target not in (name, "all") or (is_extra and not wanted.is_on_record(place, options)):
            continue
        try:
            packed = how.gzip and wanted.is_trained
            source = how.from_records or (out if is_extra else None)
            rendered, n_failed = _one(wanted, out, source, options, packed, quiet)
            built[wanted.records(options)] = rendered
            failed += n_failed
        except KeyboardInterrupt as stop:
            kept = f"every finished run is in {out}. The same command resumes."
            raise typer.Exit(end_stopped(stop, kept)) from None
        except GraphFilterError as error:
            if target != "all":
                raise
            complain(f"{name}: {error}")
            failed += 1
    write_reproduction(out / REPORT_FILE, place, built)
    say(f"Report in {out / REPORT_FILE} (open it in a browser).")
    return failed


def _one(
    target: "Target", out: Path, source: Path | None, options: "Options", gzip: bool, quiet: bool
) -> "tuple[Rendered, int]":
    """Run a target unless its records are given, write and print it; count failed runs."""
    from graphfilter_research.lines import pack_lines
    from graphfilter_research.paper.collect import QUICK_EPOCHS, QUICK_RUNS

    failed = 0
    if source is None:
        with progress("{done}/{total} runs", show=not quiet) as move:
            report = mover(move)

            def on_progress(told: "BenchProgress") -> None:
                nonlocal failed
                failed = told.failed
                report(told)

            notes = target.collect(out, options, on_progress)
        tell(notes, quiet=quiet)
    rendered = target.render(source or out, options)
    shown = rendered
    if options.quick:
        quick_note = (
            f"Made with --quick, at most {QUICK_RUNS} runs of {QUICK_EPOCHS} epochs: it shows "
            "that everything works, and nothing else."
        )
        title = f"{rendered.title} (--quick: not to be published)"
        shown = replace(rendered, title=title, notes=(*rendered.notes, quick_note))
    written = _write(shown, rendered.picture, out, target.records(options))
    if source is None and gzip:
        written.append(pack_lines(out, target.records(options)).name)
    _show(shown)
    say(f"Written to {out}: {', '.join(written)}.")
    if failed:
        complain(f"{failed} runs failed: their reasons are in the records. Start again to retry.")
    return rendered, failed


def _write(rendered: "Rendered", picture: bytes, out: Path, name: str) -> list[str]:
    from graphfilter.util.files import atomic_file
    from graphfilter_research.paper.tables import make_table
    from graphfilter_research.tables import to_csv, to_latex, to_markdown

    files = {}
    if rendered.blocks:
        table = make_table(rendered)
        files = {
            f"{name}.md": to_markdown(table),
            f"{name}.csv": to_csv([table]),
            f"{name}.tex": to_latex(table),
        }
    for file, text in files.items():
        with atomic_file(out / file) as temporary:
            temporary.write_text(text, encoding="utf-8")
    if picture:
        with atomic_file(out / f"{name}.png") as temporary:
            temporary.write_bytes(picture)
        files[f"{name}.png"] = ""
    return list(files)


def _show(rendered: "Rendered") -> None:
    from graphfilter_research.paper.tables import make_table
    from graphfilter_research.tables import text_rows

    table = make_table(rendered)
    say(table.title)
    for block in table.blocks:
        heads, rows = text_rows(block)
        show_table(heads, rows, title=block.heading)
    for note in table.notes:
        say(note)
    if table.legend.text:
        say(table.legend.text)
