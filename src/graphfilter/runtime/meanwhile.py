"""Work that is done in threads while the caller does something else."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def meanwhile(tasks: Sequence[Callable[[], T]], n_threads: int = 1) -> list[Future[T]]:
    """Begin tasks in their order, as many at a time as there are threads; return their futures.

    Those that have not begun can be cancelled. The process does not wait for the threads when it
    ends.

    Examples
    --------
    >>> [future.result() for future in meanwhile([lambda: 1, lambda: 2])]
    [1, 2]
    """
    futures: list[Future[T]] = [Future() for _ in tasks]
    left = deque(zip(futures, tasks, strict=True))

    def work() -> None:
        while left:
            try:
                future, task = left.popleft()
            except IndexError:  # Another thread was faster.
                return
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(task())
            except BaseException as error:
                # Raised again where the result is asked for.
                future.set_exception(error)

    for _ in range(min(n_threads, len(tasks))):
        threading.Thread(target=work, daemon=True).start()
    return futures
