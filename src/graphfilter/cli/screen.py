"""What commands say: results to standard output, all else and progress to standard error."""

from __future__ import annotations

import ast
import math
import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from graphfilter.training import Progress


# Escape sequences, then what else moves the cursor, hides text or reverses it.
_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -~])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

# The arguments that messages of other rooms name in backticks, with a value where that matters:
# `weight`, `overwrite=True`, `drop=('age',)`. A user of Python reads them so; the command line says
# its options, which have the same names but for two.
ARGUMENTS = (
    "against", "allow_missing", "as_of", "categorical", "clean_ids", "cost", "delimiter", "device",
    "directed", "drop", "drop_duplicates", "edge_kind", "edge_time", "encoding",
    "feature_scaling", "features", "forget_ids", "hidden_size", "id", "keep_graph", "kinds",
    "label", "label_anyway",
    "link", "memory", "merge", "model", "near", "no_link", "number", "output", "overwrite",
    "resume", "same_label", "source", "split", "split_by", "target", "threshold",
    "unlabelled", "vertex_kind", "weight",
)  # fmt: skip
_RENAMED = {
    **{name: f"set {name}" for name in (
        "clean_ids", "delimiter", "drop_duplicates", "encoding", "excel_safe", "feature_scaling",
        "forget_ids", "hidden_size", "keep_graph", "label_anyway", "merge", "no_link", "positive",
        "vertex_kind", "device",
    )},
    "kinds": "column", "source": "from", "target": "to",
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
    return f"--{_RENAMED.get(argument) or argument.replace('_', '-')}"


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
            return f"{word}=no" if " " in word else word.replace("--", "--no-", 1)
        try:
            value = ast.literal_eval(value)
        except (SyntaxError, ValueError):  # A name with a backtick in it.
            return match[0]
        if not isinstance(value, tuple):
            return f"{word}{'=' if ' ' in word else ' '}{shlex.quote(str(value))}"
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
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "", text_columns: int = 1
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


# Between two lines where there is no terminal.
SECONDS = 5.0


# Called with what is done, how far it is, how far it will go, and a note; ``row`` names a line of
# its own, and ``ended`` says that its work is done and its clock stops.
Move = Callable[..., None]


@contextmanager
def progress(count: str, *, show: bool = True) -> Generator[Move]:
    """Yield a :data:`Move`; ``count`` is what it counts, such as '{done}/{total} runs'.

    Nothing is shown before the first call: what goes wrong before it leaves no bar behind.
    """
    display: _Bars | _Lines | None = None

    def move(
        what: str, done: int, total: int, note: str = "", *, row: str = "", ended: bool = False
    ) -> None:
        nonlocal display
        if not show:
            return
        if display is None:
            display = _Bars() if err.is_terminal else _Lines()
        counted = count.format(done=done, total=total or "?")
        display.move(row, printable(what), done, total, f"{counted}{printable(note)}", ended)

    try:
        yield move
    finally:
        if display is not None:
            display.stop()


class _Bars:
    """Bars on a terminal, one per row."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(), console=err,
        )  # fmt: skip
        self._tasks: dict[str, Any] = {}
        self._progress.start()

    def move(self, row: str, what: str, done: int, total: int, note: str, ended: bool) -> None:
        if row not in self._tasks:
            # One row after the other: what went before has ended.
            for task in self._tasks.values():
                self._progress.stop_task(task)
            self._tasks[row] = self._progress.add_task(what, total=total or None, note=note)
        task = self._tasks[row]
        self._progress.update(
            task, description=what, completed=done, total=total or None, note=note
        )
        if ended:
            self._progress.stop_task(task)

    def stop(self) -> None:
        for task in self._tasks.values():
            self._progress.stop_task(task)
        self._progress.stop()


class _Lines:
    """A line every few seconds, and one for each row, when it is first left."""

    def __init__(self) -> None:
        self._said = time.monotonic()
        self._row = self._left = ""
        self._rows = set[str]()

    def move(self, row: str, what: str, done: int, total: int, note: str, ended: bool) -> None:
        if row != self._row and self._row not in self._rows:
            self.stop()
            self._rows.add(self._row)
        self._row = row
        self._left = ": ".join(filter(None, (what, note)))
        if ended or time.monotonic() - self._said >= SECONDS:
            self.stop()

    def stop(self) -> None:
        """Print what was not printed yet."""
        if self._left:
            err.print(self._left, soft_wrap=True)
            self._left, self._said = "", time.monotonic()


@contextmanager
def training_bar(
    *, show: bool, titles: Sequence[str] = ("training",), seconds: float | None = None
) -> Generator[Callable[[Progress], None]]:
    """Yield a callback for :func:`graphfilter.training.train` that moves a bar.

    A training after the first, such as that of a baseline, has the next of the titles; the members
    of a committee are stages of one training, of which at most so many ``seconds`` are left.
    Ctrl-C or SIGTERM stops training at the end of an epoch, so that no half step is kept; a second
    one stops at once.
    """
    signals: list[int] = []

    def stop_later(number: int, frame: Any) -> None:
        signals.append(number)
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, stop_later)
    try:
        with progress("", show=show) as move:
            training, last, stage, began = 0, -1, "", time.monotonic()

            def report(p: Progress) -> None:
                nonlocal training, last, stage
                next_member = bool(p.stage and stage)
                if (p.epoch <= last or (stage and not p.stage)) and not next_member:
                    training += 1
                last, stage = p.epoch, p.stage
                ended = p.n_training == 0 or p.epoch == p.max_epochs
                title = titles[min(training, len(titles) - 1)]
                name, _, number = stage.rpartition(" (")
                what = f"{title} {number[:-1]}, {name}" if name else title
                left, how = p.seconds_left, "about"
                if seconds is not None and stage:
                    limit = max(seconds - (time.monotonic() - began), 0.0)
                    # A time that is not known is the limit.
                    left, how = (left, how) if left <= limit else (limit, "at most")
                row = f"{training}{stage}"
                move(what, last, p.max_epochs, _note(p, left, how), row=row, ended=ended)
                if signals:
                    raise KeyboardInterrupt(signals[0])

            yield report
    finally:
        restore()


def _note(p: Progress, left: float, how: str) -> str:
    """Say how far a training is, the validation score that chooses its epoch, and what is left."""
    from graphfilter.training.scores import LABEL_METRICS, METRICS, NUMBER_METRICS

    # Trees and the like have no epochs.
    notes = [f"epoch {p.epoch} of at most {p.max_epochs}"] if p.max_epochs > 1 else []
    name, score = p.monitored or (p.score_name, p.val_score)
    if math.isfinite(p.loss) and math.isfinite(score):
        of_classes = p.score_name == "accuracy"
        metric = (METRICS if of_classes else {**NUMBER_METRICS, **LABEL_METRICS})[name]
        shown = f"{score:.1%}" if name == "accuracy" else f"{score:.3f}"
        notes.append(f"validation {metric.name} {shown}")
    if math.isfinite(p.pool_score) and name == "accuracy":
        notes.append(f"all models together {p.pool_score:.1%}")
    # What comes after the networks has no end to count towards.
    if (words := duration(left)) and left >= 1:
        notes.append(f"{how} {words} left")
    return ", ".join(notes)


@contextmanager
def download_bar(*, show: bool) -> Generator[Callable[[str, int, int], None] | None]:
    """Yield a callback for :func:`graphfilter.data.load_dataset` that shows its downloads."""
    with progress("{done}/{total} kB", show=show) as move:

        def report(name: str, done: int, total: int) -> None:
            ended = 0 < total <= done
            move(name, done // 1000, total // 1000, row=name, ended=ended)

        yield report if show else None


def duration(seconds: float) -> str:
    """Write a duration in words; one that is not known is empty.

    >>> duration(42), duration(200), duration(9000), duration(math.nan)
    ('42 s', '3 min', '2.5 h', '')
    """
    if not math.isfinite(seconds):
        return ""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def what_is_kept(out: Path) -> str:
    """Say what an interrupted fit leaves in its folder, and how to resume it."""
    from graphfilter.runs.loading import checkpoints

    if not checkpoints(out):
        return "nothing was saved: there was no checkpoint yet."
    of_members = any(path.stem.startswith("checkpoint-") for path in checkpoints(out))
    at_once = " (add --seconds 0 to finish with what is trained)" if of_members else ""
    return f"finished work is saved. Resume{at_once} with: {command_line()} --resume"


def command_line() -> str:
    """Return the command as it was given, without --resume and --overwrite."""
    words = [word for word in sys.argv[1:] if word not in ("--resume", "--overwrite")]
    return shlex.join(["graphfilter", *words])
