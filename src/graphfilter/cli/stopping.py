"""Stopping a training from the terminal, and the command that resumes it."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphfilter.training import Progress


@contextmanager
def stoppable(bar: Callable[[Progress], None]) -> Generator[Callable[[Progress], None]]:
    """Let Ctrl-C or SIGTERM stop training at the end of an epoch, so that no half step is kept.

    A second one stops at once.
    """
    asked: int | None = None

    def ask(number: int, frame: Any) -> None:
        nonlocal asked
        asked = number
        restore()

    def report(progress: Progress) -> None:
        bar(progress)
        if asked is not None:
            raise KeyboardInterrupt(asked)

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, ask)
    try:
        yield report
    finally:
        restore()


def what_is_kept(out: Path) -> str:
    """Say what an interrupted fit leaves in its folder, and how to resume it."""
    from graphfilter.runs.layout import checkpoints

    if not checkpoints(out):
        return "nothing was saved: there was no checkpoint yet."
    of_members = any(path.stem.startswith("checkpoint-") for path in checkpoints(out))
    at_once = " (add --seconds 0 to finish with what is trained)" if of_members else ""
    return f"finished work is saved. Resume{at_once} with: {command_line()} --resume"


@contextmanager
def report_kept_state(out: Path) -> Generator[None]:
    """Say what is left of a run that fails."""
    from graphfilter.runs.layout import checkpoints

    try:
        yield
    except Exception as error:
        if checkpoints(out):
            error.add_note(what_is_kept(out))
        raise


def command_line() -> str:
    """Return the command as it was given, without --resume and --overwrite."""
    words = [word for word in sys.argv[1:] if word not in ("--resume", "--overwrite")]
    return shlex.join(["graphfilter", *words])
