"""Watch: the progress of a committee's members, and how their caller ended it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from graphfilter.training import OnEpoch, Progress


class Watch:
    """Passes on the progress of each member, and remembers how the caller ended training.

    Attributes
    ----------
    stopped : bool
        Whether the caller has asked for the end.
    raised : Exception or None
        What the caller has raised.
    """

    def __init__(self, on_epoch: OnEpoch | None, titles: Sequence[str]) -> None:
        self._on_epoch = on_epoch
        self._titles = titles
        self.stopped = False
        self.raised: Exception | None = None

    def announce(self, number: int) -> bool:
        """Say that a member is fitted that has no epochs; return whether to end instead."""
        return bool(self.of(number)(Progress(0, 1, math.nan, math.nan, math.nan, 1, [])))

    def of(self, number: int) -> Callable[[Progress], bool | None]:
        """Return what is called after every epoch of a member."""
        stage = f"{self._titles[number]} ({number + 1} of {len(self._titles)})"

        def report(progress: Progress) -> bool | None:
            if self._on_epoch is None:
                return None
            try:
                asked = self._on_epoch(replace(progress, stage=stage))
            except Exception as error:
                self.raised = error
                raise
            self.stopped = self.stopped or bool(asked)
            return asked

        return report
