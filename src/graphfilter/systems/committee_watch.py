"""Watch: the progress of a committee's members, and how their caller ended it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from graphfilter.training import OnEpoch, Progress

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

    def __init__(self, on_epoch: OnEpoch | None, titles: Sequence[str]) -> None:
        self._on_epoch = on_epoch
        self._titles = titles
        self.stopped = False
        self.raised: Exception | None = None
        self.pool_score = math.nan
        self._began, self._last = 0.0, -1
        self._seconds = [math.nan] * len(titles)
        self._epochs = [0] * len(titles)

    def announce(self, number: int) -> bool:
        """Say that a member is fitted that has no epochs; return whether to end instead."""
        return bool(self.of(number)(Progress(0, 1, math.nan, math.nan, math.nan, 1, [])))

    def of(self, number: int) -> Callable[[Progress], bool | None]:
        """Return what is called after every epoch of a member."""
        stage = f"{self._titles[number]} ({number + 1} of {len(self._titles)})"

        def report(progress: Progress) -> bool | None:
            if self._on_epoch is None:
                return None
            if progress.runs:
                self._count(number, progress)
            told = replace(
                progress,
                stage=stage,
                pool_score=self.pool_score,
                seconds_left=self.seconds_left(number),
            )
            try:
                asked = self._on_epoch(told)
            except Exception as error:
                self.raised = error
                raise
            self.stopped = self.stopped or bool(asked)
            return asked

        return report

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
