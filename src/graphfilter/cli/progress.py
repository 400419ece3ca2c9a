"""Progress on standard error: bars on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from graphfilter.cli.screen import err, printable, share

if TYPE_CHECKING:
    from graphfilter.training import Progress

# Between two lines where there is no terminal.
SECONDS = 5.0


class Move(Protocol):
    """Called with how far something is.

    ``row`` names a line of its own, ``ended`` says that its work is done and its clock stops.
    """

    def __call__(
        self,
        what: str,
        done: int,
        total: int,
        note: str = "",
        *,
        row: str = "",
        ended: bool = False,
    ) -> None: ...


@contextmanager
def progress(count: str, *, show: bool = True) -> Generator[Move]:
    """Yield a :class:`Move`; ``count`` is what it counts, such as '{done}/{total} runs'.

    Nothing is shown before the first call: what goes wrong before it leaves no bar behind.
    """
    shown: _Bars | _Lines | None = None

    def move(
        what: str, done: int, total: int, note: str = "", *, row: str = "", ended: bool = False
    ) -> None:
        nonlocal shown
        if not show:
            return
        if shown is None:
            shown = _Bars() if err.is_terminal else _Lines()
        counted = count.format(done=done, total=total or "?")
        shown.move(row, printable(what), done, total, f"{counted}{printable(note)}", ended)

    try:
        yield move
    finally:
        if shown is not None:
            shown.stop()


class _Bars:
    """Bars on a terminal, one per row."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
        )
        self._progress = Progress(*columns, console=err)
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
    """A line every few seconds, and one for the end of each row."""

    def __init__(self) -> None:
        self._said = time.monotonic()
        self._row = ""
        self._left = ""

    def move(self, row: str, what: str, done: int, total: int, note: str, ended: bool) -> None:
        if row != self._row:
            self._say()
        self._row = row
        self._left = ": ".join(filter(None, (what, note)))
        if ended or time.monotonic() - self._said >= SECONDS:
            self._say()

    def stop(self) -> None:
        self._say()

    def _say(self) -> None:
        if self._left:
            err.print(self._left, soft_wrap=True)
            self._left, self._said = "", time.monotonic()


@contextmanager
def training_bar(
    *, show: bool, titles: Sequence[str] = ("training",)
) -> Generator[Callable[[Progress], None]]:
    """Yield a callback for :func:`graphfilter.training.train` that moves a bar.

    A training after the first, such as that of a baseline, has the next of the titles; the members
    of a committee are stages of one training.
    """
    with progress("", show=show) as move:
        training, last, stage = 0, -1, ""

        def report(told: Progress) -> None:
            nonlocal training, last, stage
            next_member = bool(told.stage and stage)
            if (told.epoch <= last or (stage and not told.stage)) and not next_member:
                training += 1
            last, stage = told.epoch, told.stage
            ended = told.n_training == 0 or told.epoch == told.max_epochs
            # Trees and the like have no epochs.
            note = f"epoch {last}/{told.max_epochs}" if told.max_epochs > 1 else ""
            if math.isfinite(told.loss):
                note += f", loss {told.loss:.3f}, validation {_score(told)}"
            if math.isfinite(told.pool_score):
                note += f", accuracy of all members {share(told.pool_score)}"
            if math.isfinite(told.seconds_left):
                note += f", about {duration(told.seconds_left)} left"
            title = titles[min(training, len(titles) - 1)]
            what = f"{title}: {stage}" if stage else title
            row, note = f"{training}{stage}", note.removeprefix(", ")
            move(what, last, told.max_epochs, note, row=row, ended=ended)

        yield report


def _score(told: Progress) -> str:
    """Write the validation score that chooses the epoch under its name, an accuracy in percent."""
    from graphfilter.training.scores import LABEL_METRICS, METRICS, NUMBER_METRICS

    name, score = told.monitored or (told.score_name, told.val_score)
    if name == "accuracy" or not math.isfinite(score):
        return f"accuracy {share(score)}"
    of_classes = told.score_name == "accuracy"
    metric = (METRICS if of_classes else {**NUMBER_METRICS, **LABEL_METRICS})[name]
    return f"{metric.name} {score:.3f}"


@contextmanager
def download_bar(*, show: bool) -> Generator[Callable[[str, int, int], None] | None]:
    """Yield a callback for :func:`graphfilter.data.load_dataset` that shows its downloads."""
    with progress("{done}/{total} kB", show=show) as move:

        def report(name: str, done: int, total: int) -> None:
            ended = 0 < total <= done
            move(name, done // 1000, total // 1000, row=name, ended=ended)

        yield report if show else None


def duration(seconds: float) -> str:
    """Write a duration in words.

    >>> duration(42), duration(200), duration(9000)
    ('42 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
