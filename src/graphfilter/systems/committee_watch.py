"""Watch: the progress of a committee's members, and how their caller ended it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from graphfilter.systems.system import System
from graphfilter.training import Callback, Progress

# That a network trains, on the whole: for guesses of the time that is left.
USUAL_EPOCHS = 100


class Watch:
    """Passes on the progress of each member, and remembers how the caller ended training.

    Attributes
    ----------
    stopped : bool
        Whether the caller has asked for the end.
    raised : Exception or None
        What the caller has raised.
    pool_score : float
        The validation score of all members together, as far as they are.
    """

    def __init__(self, callback: Callback, members: Sequence[System]) -> None:
        self._callback = callback
        self._members = members
        self.stopped = False
        self.raised: Exception | None = None
        self.pool_score = math.nan
        self._began, self._last = 0.0, -1
        self._seconds = [math.nan] * len(members)
        self._epochs = [0] * len(members)

    def announce(self, number: int) -> bool:
        """Say that a member is fitted that has no epochs; return whether to end instead."""
        return bool(self._pass_on(number, Progress.without_epochs()))

    def of(self, number: int) -> Callback:
        """Return the callback of a member, which has a checkpoint of its own."""
        own = self._callback.part(self._members[number].name)
        if not self._callback.watches:
            return own
        return Callback(
            partial(self._pass_on, number),
            checkpoint=own.checkpoint,
            checkpoint_seconds=own.checkpoint_seconds,
            resume=own.resume,
        )

    def _pass_on(self, number: int, progress: Progress) -> bool | None:
        """Pass on an epoch of a member, with its name and where all of them stand."""
        if not self._callback.watches:
            return None
        if progress.runs:
            self._count(number, progress)
        told = replace(
            progress,
            stage=f"{self._members[number].title} ({number + 1} of {len(self._members)})",
            pool_score=self.pool_score,
            seconds_left=self.seconds_left(number),
        )
        try:
            end = self._callback.on_epoch(told)
        except Exception as error:
            self.raised = error
            raise
        self.stopped = self.stopped or bool(end)
        return end

    def close(self, number: int) -> None:
        """Take note that a member trains no more."""
        self._epochs[number] = USUAL_EPOCHS

    def seconds_left(self, number: int) -> float:
        """Return about what is still to come takes, by the pace of members so far; NaN at first."""
        known = [seconds for seconds in self._seconds if math.isfinite(seconds)]
        if not known:
            return math.nan
        usual = sum(known) / len(known)
        paces = [s if math.isfinite(s) else usual for s in self._seconds]
        left = [max(USUAL_EPOCHS - epochs, 0) for epochs in self._epochs]
        return sum(pace * n for pace, n in zip(paces, left, strict=True))

    def _count(self, number: int, progress: Progress) -> None:
        now = time.monotonic()
        if progress.epoch == self._epochs[number] + 1 and self._last == number:
            pace = now - self._began
            before = self._seconds[number]
            # The first epoch of a member is no measure: things are made in it.
            self._seconds[number] = pace if math.isnan(before) else 0.8 * before + 0.2 * pace
        self._epochs[number], self._began, self._last = progress.epoch, now, number
