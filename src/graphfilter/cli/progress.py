"""Progress on standard error, and how Ctrl-C ends a training: bars on a terminal, else lines."""

from __future__ import annotations

import math
import shlex
import signal
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfilter.cli.screen import err, printable

if TYPE_CHECKING:
    from graphfilter.training import Progress

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
                left = p.seconds_left
                if seconds is not None and stage:
                    # In this order a time that is not known is the limit.
                    left = min(max(seconds - (time.monotonic() - began), 0.0), left)
                row = f"{training}{stage}"
                move(what, last, p.max_epochs, _note(p, left), row=row, ended=ended)
                if signals:
                    raise KeyboardInterrupt(signals[0])

            yield report
    finally:
        restore()


def _note(p: Progress, left: float) -> str:
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
    if left >= 1:
        notes.append(f"about {duration(left)} left")
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
