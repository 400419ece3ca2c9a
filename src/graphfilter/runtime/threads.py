"""How many threads compute, and how they wait for each other.

Threads that wait by spinning take the cores from those that work: with one other busy process
that made training ten times slower. Whatever starts a process of ours (the command line, the
studio, workers, tests) therefore calls :func:`prepare_threads` before torch loads, because OpenMP
reads its settings once, when it is loaded. Programs that import the package as a library do the
same in their first lines::

    from graphfilter.runtime.threads import prepare_threads

    prepare_threads()

or set ``OMP_WAIT_POLICY=PASSIVE OPENBLAS_NUM_THREADS=1`` in the environment.
``GRAPHFILTER_THREADS`` is the number of threads; without it, as many as there are cores that this
process may use.

How many compute what torch computes depends on sizes and settings, never on load: torch adds up in
another order on other threads, and the same seed must give the same bits on a busy machine too.
Compiled code gives the same bits on any number, so there the faster is taken
(:class:`~graphfilter.runtime.pace.Pace`): beside a busy process, one thread that never waits for
another may be faster than two.

This module is imported without torch.
"""

from __future__ import annotations

import math
import os
import re
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from graphfilter.errors import ConfigError
from graphfilter.runtime.control_groups import control_groups, read_if_there
from graphfilter.runtime.launched import launched

VARIABLE = "GRAPHFILTER_THREADS"
# OpenBLAS, which numpy and scipy bring, knows no passive waiting, and its threads meet even over
# matrices of ten rows: alone it takes a tenth of the time of two threads beside a busy process.
WAITING = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0", "OPENBLAS_NUM_THREADS": "1"}
# Multiplications of a sparse product, some 100 µs, for which it is worth waking another thread.
WORTH_A_THREAD = 2**22

_forked = False


def prepare_threads() -> None:
    """Set how OpenMP's threads wait and how many there are; call it before torch loads.

    What the user has set in the environment stays, but ``GRAPHFILTER_THREADS`` comes first.
    """
    for name, value in WAITING.items():
        os.environ.setdefault(name, value)
    if VARIABLE in os.environ:
        os.environ["OMP_NUM_THREADS"] = str(_configured())
    place = launched()
    if place.local_size > 1 and os.environ.get("OMP_NUM_THREADS") == "1":
        # torchrun's setting where there is none: divide the cores among its processes instead.
        del os.environ["OMP_NUM_THREADS"]
    own = max(1, usable_cores() // place.local_size)
    os.environ.setdefault("OMP_NUM_THREADS", str(own))


@contextmanager
def worker_environment(threads: int) -> Generator[None]:
    """Within, processes that are started get so many threads, which wait passively."""
    set_here = {**WAITING, "OMP_NUM_THREADS": str(threads), VARIABLE: str(threads)}
    before = {name: os.environ.get(name) for name in set_here}
    os.environ.update(set_here)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def thread_limit() -> int:
    """Return the most threads to use: ``GRAPHFILTER_THREADS``, or the cores there are.

    In a forked child 1: OpenMP's other threads have stayed with its parent. At most the share of a
    Python thread that is inside :func:`share_of_threads`.
    """
    if _forked:
        return 1
    most = _configured() if VARIABLE in os.environ else usable_cores()
    share: int | None = getattr(_inside, "share", None)
    return most if share is None else min(most, share)


@contextmanager
def share_of_threads(n_threads: int) -> Generator[None]:
    """Within, this Python thread uses at most so many threads: others compute beside it."""
    before: int | None = getattr(_inside, "share", None)
    _inside.share = n_threads if before is None else min(before, n_threads)
    try:
        yield
    finally:
        _inside.share = before


@cache
def usable_cores() -> int:
    """Return the cores that this process may use: those of its affinity, within its quota."""
    return max(1, math.ceil(min(_affinity(), _quota(Path("/")))))


def threads_worth(multiplications: int) -> int:
    """Return the threads to share compiled work of this size among; it has one wait at its end."""
    return max(1, min(compiled_threads(), multiplications // WORTH_A_THREAD))


def compiled_threads() -> int:
    """Return the most threads for compiled code: what the user granted, or threads_for less."""
    import torch

    chosen: int | None = getattr(_inside, "compiled", None)
    return min(torch.get_num_threads(), thread_limit()) if chosen is None else chosen


@contextmanager
def threads_for(multiplications: int, *, compiled: int | None = None) -> Generator[None]:
    """Within, torch computes on one thread where its products are too small to share.

    Parameters
    ----------
    multiplications : int
        Of the largest product that torch itself computes.
    compiled : int, optional
        The most threads of compiled code; otherwise as many as there are.
    """
    import torch

    outside = _Outside.enter()
    before = getattr(_inside, "torch", None), getattr(_inside, "compiled", None)
    most = min(outside, thread_limit())
    _inside.torch = most if multiplications >= 2 * WORTH_A_THREAD else 1
    _inside.compiled = most if compiled is None else min(most, compiled)
    torch.set_num_threads(_inside.torch)
    try:
        yield
    finally:
        _inside.torch, _inside.compiled = before
        torch.set_num_threads(min(_inside.torch or _Outside.threads, _Outside.threads))
        _Outside.leave()


# The threads chosen by the innermost threads_for of each Python thread.
_inside = threading.local()


class _Outside:
    """The number of threads that was set before the first of all who are inside now.

    A Python thread that starts inside another's :func:`threads_for` would take that one's number
    for the user's: results would depend on which came first.
    """

    lock = threading.Lock()
    n_inside = 0
    threads = 1

    @classmethod
    def enter(cls) -> int:
        import torch

        # A new thread takes its number from the whole process when it is first asked: now, not
        # after its own was set.
        own = torch.get_num_threads()
        with cls.lock:
            if not cls.n_inside:
                cls.threads = own
            cls.n_inside += 1
            return cls.threads

    @classmethod
    def leave(cls) -> None:
        with cls.lock:
            cls.n_inside -= 1


def _configured() -> int:
    text = os.environ[VARIABLE].strip()
    if not re.fullmatch("[1-9][0-9]{0,3}", text):
        raise ConfigError(
            f"{VARIABLE} must be a whole number from 1 to 9999; got {os.environ[VARIABLE]!r}. "
            "Unset it to use every core."
        )
    return int(text)


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quota(system: Path) -> float:
    """Return the cores that control groups grant this process, or infinity."""
    return min(map(_granted, control_groups(system, "cpu")), default=math.inf)


def _granted(group: Path) -> float:
    """Return the cores that one control group grants, or infinity."""
    words = read_if_there(group / "cpu.max").split() or [
        *read_if_there(group / "cpu.cfs_quota_us").split(),
        *read_if_there(group / "cpu.cfs_period_us").split(),
    ]
    if len(words) != 2 or not all(word.isdigit() for word in words) or "0" in words:
        return math.inf
    return int(words[0]) / int(words[1])


def _after_fork() -> None:
    """Compute on one thread in a forked child, which has none of its parent's other threads."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "set_num_threads"):
        return
    global _forked
    _forked = True
    _Outside.lock, _Outside.threads = threading.Lock(), 1
    torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
