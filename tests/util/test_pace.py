"""The number of threads follows what work takes, by simulated times."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graphfilter.util.machine import Pace


def turns(pace: Pace, seconds: Callable[[int], float], n: int) -> list[int]:
    """Return the threads of n turns, each of which takes ``seconds(threads)``."""
    used = []
    for _ in range(n):
        used.append(pace.threads)
        pace.took(seconds(pace.threads))
    return used


def test_pace_keeps_all_threads_where_they_are_faster() -> None:
    used = turns(Pace(2), lambda threads: 1 / threads, 300)
    assert used.count(1) <= 4


def test_pace_takes_one_thread_where_two_wait_for_each_other() -> None:
    used = turns(Pace(2), lambda threads: float(threads), 300)
    assert used.count(2) <= 6


@pytest.mark.parametrize("best", [1, 2, 4, 8, 16])
def test_pace_finds_the_best_of_many_threads(best: int) -> None:
    """Halving: times fall up to the best number and rise beyond."""
    used = turns(Pace(16), lambda threads: max(threads / best, best / threads), 200)
    assert used[-1] == best
    assert used.count(best) >= 150


def test_pace_follows_a_load_that_comes_and_goes() -> None:
    pace = Pace(2)
    turns(pace, lambda threads: 1 / threads, 100)
    assert pace.threads == 2
    turns(pace, lambda threads: float(threads), 20)
    assert pace.threads == 1
    turns(pace, lambda threads: 0.3 / threads, 20)
    assert pace.threads == 2


def test_pace_does_not_leave_for_a_gain_within_the_noise() -> None:
    used = turns(Pace(2), lambda threads: 1.0 if threads == 2 else 0.97, 200)
    assert used[-1] == 2


def test_pace_of_one_thread_tries_nothing() -> None:
    assert set(turns(Pace(1), lambda threads: 1.0, 50)) == {1}
