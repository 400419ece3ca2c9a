"""Processes that compute together: sums over them, and what the first decides for all.

Nothing here acts unless :func:`start` was called, by the command line or by a program of its own
that torchrun has started. Within :func:`alone` a process works for itself again.
"""

from __future__ import annotations

import atexit
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from graphfilter.util.errors import GraphFilterError, ProcessError
from graphfilter.util.machine import SECONDS_TO_JOIN, job_store, launched

# A process that has died is noticed at once, by its closed connection. This is for one that hangs,
# and longer than any step of one that is only slower than the others.
SECONDS_FOR_A_STEP = 1800
# Before Python shuts down. A thread of gloo that still has a tensor of the last sum needs Python to
# let go of it, and is aborted, with the process, while that shuts down (seen once in four times).
SECONDS_TO_LET_GO = 0.2

T = TypeVar("T")


class Group:
    """The processes of a job, all at the same point of the same program.

    Attributes
    ----------
    rank, size : int
        Which of them this is, and how many they are.
    sent : Counter
        Bytes that were summed over them so far, by purpose.
    """

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self.sent: Counter[str] = Counter()
        self._n_shared = 0

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def sum_(self, tensor: Tensor, purpose: str) -> Tensor:
        """Add up a contiguous tensor over all processes, in place; all end with the same bits."""
        self.sent[purpose] += tensor.nbytes
        with _connected():
            dist.all_reduce(tensor)
        return tensor

    def from_first(self, tensor: Tensor) -> Tensor:
        """Overwrite a contiguous tensor with that of the first process."""
        self.sent["decisions"] += tensor.nbytes
        with _connected():
            dist.broadcast(tensor, 0)
        return tensor

    def joined(self, part: Tensor, dim: int, first: int, total: int) -> Tensor:
        """Return the tensor of which each process has a part, from ``first`` on along ``dim``."""
        shape = list(part.shape)
        shape[dim] = total
        # As whole numbers: a sum with zeros would make 0.0 of -0.0.
        bits = {4: torch.int32, 8: torch.int64}[part.element_size()]
        whole = torch.zeros(shape, dtype=bits, device=part.device)
        whole.narrow(dim, first, part.shape[dim]).copy_(part.detach().contiguous().view(bits))
        with _connected():
            dist.all_reduce(whole)
        return whole.view(part.dtype)

    def on_first(self, work: Callable[[], T]) -> T:
        """Do this in the first process only, and return its result in all of them.

        What a user can cause and is raised there is raised in all.
        """
        told: list[Any] = [None, None]
        if self.is_first:
            try:
                told[0] = work()
            except GraphFilterError as error:
                told[1] = str(error)
                self._broadcast(told)
                raise
        self._broadcast(told)
        if told[1] is not None:
            raise GraphFilterError(told[1])
        return told[0]

    def share(
        self, n_tasks: int, work: Callable[[int], T], waiting: Callable[[], object]
    ) -> list[T]:
        """Divide tasks among the processes, and return the results of all in all of them.

        Task i is worked on alone by process i modulo their number. ``waiting`` is called now and
        then while the others are not ready; what it raises ends the wait.
        """
        with alone():
            own = [work(i) for i in range(self.rank, n_tasks, self.size)]
        self._n_shared += 1
        key = f"shared{self._n_shared}"
        with _connected():
            store = job_store()
            store.add(key, 1)
            while store.add(key, 0) < self.size:
                waiting()
                time.sleep(0.05)
            gathered: list[Any] = [None] * self.size
            dist.all_gather_object(gathered, own)
        return [gathered[i % self.size][i // self.size] for i in range(n_tasks)]

    def _broadcast(self, told: list[Any]) -> None:
        with _connected():
            dist.broadcast_object_list(told, 0, device=torch.device("cpu"))


_current: Group | None = None


def current() -> Group | None:
    """Return the processes to compute with; None where this one works for itself."""
    return _current


@contextmanager
def alone() -> Generator[None]:
    """Within, this process works for itself."""
    global _current
    before, _current = _current, None
    try:
        yield
    finally:
        _current = before


def start() -> Group | None:
    """Join the processes that torchrun started; None where this is the only one."""
    global _current
    place = launched()
    if place.size == 1:
        return None
    if _current is None:
        _join(place.size)
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        with _connected():
            dist.init_process_group(
                backend,
                store=job_store(),
                rank=place.rank,
                world_size=place.size,
                timeout=timedelta(seconds=SECONDS_FOR_A_STEP),
            )
        _current = Group(place.rank, place.size)
        atexit.register(time.sleep, SECONDS_TO_LET_GO)
    return _current


def end() -> None:
    """Leave the processes joined by :func:`start`, at the end of the common work."""
    global _current
    if _current is not None:
        _current = None
        dist.destroy_process_group()


def _join(size: int) -> None:
    """Wait until all processes have started."""
    last = time.monotonic() + SECONDS_TO_JOIN
    try:
        store = job_store()
        n = store.add("joined", 1)
        while n < size and time.monotonic() < last:
            time.sleep(0.02)
            n = store.add("joined", 0)
    except RuntimeError as error:
        raise ProcessError(f"the other processes cannot be reached ({_line(error)}).") from None
    if n < size:
        raise ProcessError(
            f"all {size} processes must start within {SECONDS_TO_JOIN} s; {n} did. Start them "
            "together, with torchrun."
        )


@contextmanager
def _connected() -> Generator[None]:
    """Turn what torch raises where another process is gone into one line."""
    try:
        yield
    except RuntimeError as error:
        raise ProcessError(f"another process of this job has ended ({_line(error)}).") from None


def _line(error: RuntimeError) -> str:
    # Only the first sentence, without torch's source: its errors carry advice and a C++ stack.
    line = str(error).partition("\n")[0]
    return line.rpartition("] ")[2].partition(". ")[0].rstrip(".") or line
