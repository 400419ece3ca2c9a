"""How far a matrix of runs is, on the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from graphfilter.cli.progress import Move, duration

if TYPE_CHECKING:
    from graphfilter_research.bench.matrix import BenchProgress


def mover(move: Move) -> Callable[[BenchProgress], None]:
    """Return a callback for a matrix of runs that says what runs and how long it will take."""

    def report(told: BenchProgress) -> None:
        what = told.what
        if told.epoch:
            what += f", epoch {told.epoch}/{told.max_epochs}"
        move(what, told.done, told.total, _note(told))

    return report


def _note(told: BenchProgress) -> str:
    notes = [f"{told.skipped} already recorded"] if told.skipped else []
    notes += [f"{told.failed} failed"] if told.failed else []
    if told.seconds_left is not None and told.done < told.total:
        notes.append(f"about {duration(told.seconds_left)} left")
    return "".join(f", {note}" for note in notes)
