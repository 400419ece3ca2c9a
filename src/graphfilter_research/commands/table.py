"""graphfilter table: records and run folders as tables for a page or a paper."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from graphfilter.cli.app import Quiet, argument, flag, option
from graphfilter.cli.screen import out as console, say, show_table, tell
from graphfilter.util.errors import ConfigError, DataFileError, check_name

if TYPE_CHECKING:
    from graphfilter_research.bench.record import Record
    from graphfilter_research.tables import Table

FORMATS = ("text", "markdown", "csv", "latex")
SHORT = {"md": "markdown", "tex": "latex", "txt": "text"}

Metric = Annotated[
    str,
    option(
        "Score: accuracy, balanced_accuracy, macro_f1, log_loss or calibration_error; for two "
        "classes also roc_auc and average_precision.",
        "NAME",
    ),
]


def table(
    sources: Annotated[
        list[Path],
        argument("Files of records (.jsonl, .jsonl.gz), which are combined, or folders of fits."),
    ],
    format: Annotated[
        str,
        option(
            "Format: text, markdown (md), csv or latex (tex). Default: by the name of --out.",
            "NAME",
        ),
    ] = "",
    metric: Metric = "accuracy",
    out: Annotated[Path | None, option("Write to this file instead of printing.", "FILE")] = None,
    overwrite: Annotated[bool, flag("--overwrite", "Replace the file.")] = False,
    quiet: Quiet = False,
) -> None:
    """Make a table of records: of benchmarks, of the paper, or of fits.

    Runs of a benchmark are summarised in one table per split rule and feature scaling; other
    records have a row each.

    Example:  graphfilter table records.jsonl --format latex
    """
    chosen = format or (out.suffix[1:] if out is not None else "text")
    chosen = check_name("format", SHORT.get(chosen, chosen), FORMATS)
    if out is not None:
        from graphfilter.util.files import check_file

        check_file(out, overwrite=overwrite)
    tables = _read_tables(sources, metric, quiet)
    if out is None:
        show_tables(tables, chosen)
        return
    from graphfilter.util.files import atomic_file

    if chosen == "text":
        raise ConfigError("a file must be markdown, csv or latex; text is for the terminal.")
    with atomic_file(out) as temporary:
        temporary.write_text(_written(tables, chosen), encoding="utf-8")
    say(f"Written to {out}.")


def read_benchmark(path: Path, quiet: bool) -> list[Record]:
    """Read records of ``bench``; a line that was cut is left out, and said."""
    from graphfilter_research.bench.record import RecordFile

    if not path.is_file():
        raise DataFileError(path, "there is no such file; graphfilter bench --out writes one.")
    file = RecordFile(path)
    if file.n_cut:
        tell([f"{file.n_cut} incomplete line left out; bench will repeat its run."], quiet=quiet)
    return file.records


def summary_tables(records: Sequence[Record], metric: str) -> list[Table]:
    """Return the tables of benchmark records."""
    from graphfilter_research.bench.summary import summarise
    from graphfilter_research.bench.tables import make_table

    return [make_table(summary) for summary in summarise(records, metric)]


def show_tables(tables: Sequence[Table], format: str) -> None:
    """Print tables in one of the formats."""
    if format != "text":
        # For another program: nothing wrapped, nothing taken for markup.
        console.out(_written(tables, format).rstrip("\n"))
        return
    from graphfilter_research.tables import text_rows

    for table in tables:
        say(table.title)
        for block in table.blocks:
            if block.heading:
                say(block.heading)
            show_table(*text_rows(block))
        for note in table.notes:
            say(note)
    if tables[0].legend.text:
        say(tables[0].legend.text)


def _written(tables: Sequence[Table], format: str) -> str:
    from graphfilter_research.tables import to_csv, to_latex, to_markdown

    if format == "csv":
        alike = groupby(tables, key=lambda table: table.numbers.heads)
        return "\n".join(to_csv(list(group)) for _, group in alike)
    write = to_markdown if format == "markdown" else to_latex
    return "\n".join(write(table) for table in tables)


def _read_tables(sources: Sequence[Path], metric: str, quiet: bool) -> list[Table]:
    """Read what is on record: benchmarks together, folders together, other lines file by file."""
    from graphfilter.training.scores import METRICS
    from graphfilter_research.bench.tables import holds_benchmarks, read_line_table
    from graphfilter_research.tables import make_score_table

    check_name("metric", metric, METRICS)
    folders = [source for source in sources if source.is_dir()]
    files = [source for source in sources if source not in folders]
    others = [path for path in files if path.is_file() and not holds_benchmarks(path)]
    records = [r for path in files if path not in others for r in read_benchmark(path, quiet)]
    tables = summary_tables(records, metric) if len(files) > len(others) else []
    tables += [read_line_table(path) for path in others]
    return [*tables, make_score_table(folders)] if folders else tables
