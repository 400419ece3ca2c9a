"""How many threads are faster, found by using them.

Compiled code gives the same bits on any number of threads, so that the number may follow the load
of the machine. Work that repeats, as epochs do, is timed with the number in use and with a rival,
turn by turn, and goes on with the faster. It is compared again after a while, and at once where
the time it takes has changed.

This module is imported without torch.
"""

from __future__ import annotations

import statistics

# The turns of a trial with each number; one is enough where it takes so many times as long.
TURNS, CLEARLY = 3, 1.5
# A rival must take at most this share of the time.
BETTER = 0.95
# Turns from one trial to the next, doubled where it changed nothing.
FIRST_STRETCH, LONGEST_STRETCH = 40, 640
# The load has changed where the median of the last turns has, by this factor.
LAST_TURNS, CHANGED = 5, 1.3


class Pace:
    """Chooses the number of threads of work that repeats; the next turn uses ``threads``.

    Parameters
    ----------
    most : int
        The threads there are; where it is one, nothing is tried.

    Examples
    --------
    >>> pace = Pace(2)
    >>> for _ in range(10):  # beside another process, two threads wait for each other
    ...     pace.took(1.0 if pace.threads == 1 else 2.0)
    >>> pace.threads
    1
    """

    def __init__(self, most: int) -> None:
        self._most = self._kept = self.threads = most
        self._upwards = False
        self._stretch = FIRST_STRETCH
        self._usual = 0.0
        self._since = 0
        self._last: list[float] = []
        self._tried: dict[int, list[float]] = {}
        self._first = True

    def took(self, seconds: float) -> None:
        """Take the time of a turn on ``threads`` threads, and choose those of the next."""
        if self._most == 1:
            return
        if self._first:
            # What happens once, such as fetching memory, is in it.
            self._first = False
            self._begin_trial()
        elif self._tried:
            self._tried[self.threads].append(seconds)
            self._go_on_with_trial()
        else:
            self._since += 1
            self._last = [*self._last, seconds][-LAST_TURNS:]
            if self._since >= self._stretch or self._load_changed():
                self._begin_trial()

    def _load_changed(self) -> bool:
        if len(self._last) < LAST_TURNS:
            return False
        ratio = statistics.median(self._last) / max(self._usual, 1e-9)
        return not 1 / CHANGED <= ratio <= CHANGED

    def _begin_trial(self) -> None:
        if self._kept in (1, self._most):
            self._upwards = self._kept == 1
        rival = min(2 * self._kept, self._most) if self._upwards else (self._kept + 1) // 2
        self._tried = {self._kept: [], rival: []}
        self.threads = self._kept

    def _go_on_with_trial(self) -> None:
        (kept, own), (rival, others) = self._tried.items()
        if len(own) > len(others):
            self.threads = rival
            return
        one, other = statistics.median(own), statistics.median(others)
        clear = max(one, other) > CLEARLY * min(one, other)
        if len(own) < TURNS and not clear:
            self.threads = kept
            return
        self._tried, self._last, self._since = {}, [], 0
        if other < BETTER * one:
            self._kept, self._usual, self._stretch = rival, other, FIRST_STRETCH
            if rival not in (1, self._most):
                # Perhaps it is faster still further on.
                self._begin_trial()
                return
        else:
            self._usual, self._stretch = one, min(2 * self._stretch, LONGEST_STRETCH)
            self._upwards = not self._upwards
        self.threads = self._kept
