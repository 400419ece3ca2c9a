"""What commands say: results to standard output, everything else to standard error."""

from __future__ import annotations

import ast
import os
import re
import shlex
import signal
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from math import isfinite

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

# Escape sequences, then what else moves the cursor, hides text or reverses it.
_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -~])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

# The arguments that messages of other rooms name in backticks, with a value where that matters:
# `weight`, `overwrite=True`, `drop=('age',)`. A user of Python reads them so; the command line says
# its options, which have the same names but for two.
ARGUMENTS = (
    "against", "allow_missing", "as_of", "categorical", "clean_ids", "cost", "delimiter", "device",
    "directed", "drop", "drop_duplicates", "edge_kind", "edge_time", "embeddings", "encoding",
    "features", "forget_ids", "hidden_size", "id", "keep_graph", "kinds", "label", "label_anyway",
    "link", "memory", "merge", "model", "no_link", "number", "output", "overwrite", "resume",
    "same_label", "source", "split", "split_by", "start_from", "target", "threshold", "unlabelled",
    "vertex_kind", "weight",
)  # fmt: skip
_RENAMED = {
    "hidden_size": "hidden", "kinds": "column", "source": "from", "target": "to",
    "split_by": "split COLUMN=time", "drop": "column NAME=drop",
    "categorical": "column NAME=category", "features": "column NAME=only",
}  # fmt: skip
_ARGUMENT = re.compile(rf"`({'|'.join(ARGUMENTS)})(?:=([^`]+))?`")


class _Console(Console):
    """A console whose reader may close the pipe: the work is finished without output."""

    def on_broken_pipe(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())
        os.close(nowhere)


# A pipe or file has no width to fit: there, tables are not broken into narrow columns.
out = _Console(
    highlight=False, width=None if sys.stdout is not None and sys.stdout.isatty() else 200
)
err = _Console(stderr=True, highlight=False)


def prepare_streams() -> None:
    """Keep output from failing on its characters or on closed streams."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115
        stream = getattr(sys, name)
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def word_of(argument: str) -> str:
    """Return the option of the command line for an argument of Python."""
    return f"--{_RENAMED.get(argument, argument).replace('_', '-')}"


def in_options(message: str) -> str:
    """Return a message with the options that set the arguments it names.

    >>> in_options("Name another column with `edge_kind`, or pass `allow_missing=True`.")
    'Name another column with --edge-kind, or pass --allow-missing.'
    >>> in_options("to change this: `kinds=(('first name', 'text'),)`")
    "to change this: --column 'first name=text'"
    """

    def option(match: re.Match[str]) -> str:
        word, value = word_of(match[1]), match[2]
        if value is None or value == "True":
            return word
        if value == "False":
            return word.replace("--", "--no-", 1)
        try:
            value = ast.literal_eval(value)
        except (SyntaxError, ValueError):  # A name with a backtick in it.
            return match[0]
        if not isinstance(value, tuple):
            return f"{word} {shlex.quote(str(value))}"
        word, _, kind = word.partition(" NAME=")
        parts = [part if isinstance(part, str) else "=".join(part) for part in value]
        if not kind:
            return f"{word} {shlex.quote(','.join(parts))}"
        return " ".join(f"{word} {shlex.quote(f'{part}={kind}')}" for part in parts)

    return _ARGUMENT.sub(option, message)


def printable(text: str) -> str:
    r"""Return text without what a terminal would take for a command, ready for rich.

    >>> printable("\x1b[31mred\x1b[0m \x1b]0;title\x07[b]")
    'red \\[b]'
    """
    return escape(_CONTROLS.sub("", _SEQUENCES.sub("", text)))


def share(value: float) -> str:
    """Write a share in percent; a dash where it is not known, as of no vertices.

    >>> share(0.8868), share(float("nan"))
    ('88.7%', '–')
    """
    return f"{value:.1%}" if isfinite(value) else "–"


def complain(message: str) -> None:
    """Print an error in one line that is never wrapped."""
    line = " ".join(printable(in_options(message)).splitlines())
    err.print(f"[bold red]error:[/] {line}", soft_wrap=True)


def end_stopped(stop: KeyboardInterrupt, kept: str = "") -> int:
    """Say that a signal ended the work, and what is left of it; return the exit code."""
    number = stop.args[0] if stop.args else signal.SIGINT
    word = "terminated" if number == signal.SIGTERM else "interrupted"
    complain(f"{word}; {kept}" if kept else f"{word}.")
    return 128 + number


def tell(lines: Iterable[str], *, quiet: bool = False) -> None:
    """Print notes for the user, one per line."""
    if not quiet:
        for line in lines:
            err.print(f"[dim]note:[/] {printable(in_options(line))}", soft_wrap=True)


def say(text: str = "") -> None:
    """Print a result."""
    out.print(printable(text), soft_wrap=True)


def show_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str = "",
    text_columns: int = 1,
) -> None:
    """Print a table; the first ``text_columns`` are aligned left, the others right."""
    table = Table(
        title=printable(title) or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
    )
    for i, name in enumerate(columns):
        table.add_column(printable(name), justify="left" if i < text_columns else "right")
    for row in rows:
        table.add_row(*(printable(cell) for cell in row))
    out.print(table)


@contextmanager
def waiting(message: str, *, quiet: bool = False) -> Generator[None]:
    """Show that something is being done that has no end to count towards."""
    if quiet:
        yield
        return
    spinner = "dots" if err.encoding.startswith("utf") else "line"
    with err.status(printable(message), spinner=spinner):
        yield
