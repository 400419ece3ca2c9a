"""Tasks in threads beside their caller."""

from __future__ import annotations

import threading

import pytest

from graphfilter.util.machine import meanwhile


def test_one_thread_does_tasks_in_their_order() -> None:
    done: list[int] = []
    futures = meanwhile([lambda i=i: done.append(i) for i in range(20)])
    for future in futures:
        future.result(timeout=60)
    assert done == list(range(20))


def test_several_threads_work_at_the_same_time() -> None:
    meeting = threading.Barrier(3)
    futures = meanwhile([lambda: meeting.wait(timeout=60)] * 3, n_threads=3)
    assert sorted(future.result(timeout=60) for future in futures) == [0, 1, 2]


def test_error_of_a_task_is_raised_by_its_future_and_the_others_go_on() -> None:
    first, second = meanwhile([lambda: 1 // 0, lambda: 2])
    with pytest.raises(ZeroDivisionError):
        first.result(timeout=60)
    assert second.result(timeout=60) == 2


def test_what_has_not_begun_can_be_cancelled() -> None:
    begun, go_on = threading.Event(), threading.Event()
    done: list[int] = []

    def wait() -> None:
        begun.set()
        go_on.wait(timeout=60)

    first, second = meanwhile([wait, lambda: done.append(1)])
    begun.wait(timeout=60)
    assert second.cancel()
    assert not first.cancel()
    go_on.set()
    first.result(timeout=60)
    assert not done
