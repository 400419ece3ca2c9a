"""What commands say: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

# A pipe or file has no width to fit: there, tables are not broken into narrow columns.
out = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
err = Console(stderr=True, highlight=False)


def complain(message: str) -> None:
    """Say what went wrong, in one line that is never wrapped."""
    err.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)


def tell(lines: Iterable[str], *, quiet: bool = False) -> None:
    """Say what the user should know, a line each."""
    if not quiet:
        for line in lines:
            err.print(f"[dim]note:[/] {escape(line)}", soft_wrap=True)


def say(text: str = "") -> None:
    """Print a result."""
    out.print(escape(text), soft_wrap=True)


def show_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str = "",
    text_columns: int = 1,
) -> None:
    """Print a table; the first ``text_columns`` are aligned left, the others right."""
    table = Table(
        title=escape(title) or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD
    )
    for i, name in enumerate(columns):
        table.add_column(escape(name), justify="left" if i < text_columns else "right")
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    out.print(table)


@contextmanager
def waiting(message: str, *, quiet: bool = False) -> Iterator[None]:
    """Show that something is being done that has no end to count towards."""
    if quiet:
        yield
        return
    with err.status(escape(message)):
        yield


@contextmanager
def runs_bar(*, quiet: bool = False) -> Iterator[Callable[[str, int, int, str], None]]:
    """Give a callback ``(what, done, total, note)`` that moves a bar over many runs."""
    if quiet:
        yield lambda what, done, total, note: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs{task.fields[note]}"),
        TimeElapsedColumn(),
    )
    bar = Progress(*columns, console=err)

    def report(what: str, done: int, total: int, note: str) -> None:
        # Started with the first run: what goes wrong before it leaves no bar behind.
        if not bar.tasks:
            bar.start()
            bar.add_task("", total=total, note="")
        bar.update(
            bar.tasks[0].id, description=escape(what), completed=done, total=total, note=note
        )

    try:
        yield report
    finally:
        bar.stop()
