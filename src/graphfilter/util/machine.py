"""What this process may use of the machine: threads, memory, devices.

Threads that wait by spinning take the cores from those that work: with one other busy process
that made training ten times slower. Whatever starts a process of ours (the command line, the
studio, workers, tests) therefore calls :func:`prepare_threads` before torch loads, because OpenMP
reads its settings once, when it is loaded. Programs that import the package as a library do the
same in their first lines::

    from graphfilter.util.machine import prepare_threads

    prepare_threads()

or set ``OMP_WAIT_POLICY=PASSIVE OPENBLAS_NUM_THREADS=1`` in the environment.
``GRAPHFILTER_THREADS`` is the number of threads; without it, as many as there are cores that this
process may use.

How many compute what torch computes depends on sizes and settings, never on load: torch adds up in
another order on other threads, and the same seed must give the same bits on a busy machine too.
Compiled code gives the same bits on any number, and has as many as there are.

Memory is that of the machine, or what control groups, ``ulimit -v`` or ``GRAPHFILTER_MEMORY``
(bytes, or with K, M or G after the number) leave of it. What others use at the moment does not
count: the same run must do the same on a busy machine.

This module is imported without torch.
"""

from __future__ import annotations

import math
import os
import re
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from graphfilter.util.errors import ConfigError, check_bytes

if TYPE_CHECKING:
    import torch

THREADS_VARIABLE = "GRAPHFILTER_THREADS"
# OpenBLAS, which numpy and scipy bring, knows no passive waiting, and its threads meet even over
# matrices of ten rows: alone it takes a tenth of the time of two threads beside a busy process.
WAITING = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0", "OPENBLAS_NUM_THREADS": "1"}
# Multiplications of a sparse product, some 100 µs, for which it is worth waking another thread.
WORTH_A_THREAD = 2**22


def prepare_threads() -> None:
    """Set how OpenMP's threads wait and how many there are; call it before torch loads.

    What the user has set in the environment stays, but ``GRAPHFILTER_THREADS`` comes first.
    """
    for name, value in WAITING.items():
        os.environ.setdefault(name, value)
    if THREADS_VARIABLE in os.environ or "OMP_NUM_THREADS" not in os.environ:
        os.environ["OMP_NUM_THREADS"] = str(thread_limit())


@cache
def usable_cores() -> int:
    """Return the cores that this process may use: those of its affinity, within its quota."""
    affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if affinity else os.cpu_count() or 1
    return max(1, math.ceil(min(cores, granted_cores(Path("/")))))


def granted_cores(system: Path) -> float:
    """Return the cores that control groups grant this process, or infinity."""
    quotas = _granted(system, "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us")
    pairs = [words for words in quotas if all(word.isdigit() for word in words)]
    return min((int(a) / int(b) for a, b in pairs if int(a) and int(b)), default=math.inf)


def _granted(system: Path, *names: str) -> Iterator[list[str]]:
    """Yield the words of these files of the control groups that this process is in.

    Those of version 2, from its own outwards; of version 1 the root, which is a container's own.
    """
    root = system / "sys/fs/cgroup"
    group = root / _text(system / "proc/self/cgroup").rpartition("::")[2].strip().lstrip("/")
    for folder in (group, *group.parents, root / "cpu", root / "memory"):
        if words := [word for name in names for word in _text(folder / name).split()]:
            yield words


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


class _Inside(threading.local):
    """What the blocks that a Python thread is inside of have chosen for it."""

    share: int | None = None
    torch: int | None = None
    compiled: int | None = None


class _Outside:
    """How many Python threads are inside of :func:`threads_for`, and torch's number before.

    A Python thread that starts inside another's block would take that one's number for the user's:
    results would depend on which came first.
    """

    def __init__(self, *, forked: bool = False) -> None:
        self.lock = threading.Lock()
        self.n_inside = 0
        self.threads = 1
        self.forked = forked


_inside, _outside = _Inside(), _Outside()


def thread_limit() -> int:
    """Return the most threads to use: ``GRAPHFILTER_THREADS``, or the cores there are.

    In a forked child 1: OpenMP's other threads have stayed with its parent. At most the share of a
    Python thread that is inside :func:`share_of_threads`.
    """
    if _outside.forked:
        return 1
    if (text := os.environ.get(THREADS_VARIABLE)) is None:
        most = usable_cores()
    elif re.fullmatch(r"\s*[1-9][0-9]{0,3}\s*", text):
        most = int(text)
    else:
        raise ConfigError(
            f"{THREADS_VARIABLE} must be a whole number from 1 to 9999; got {text!r}. "
            "Unset it to use every core."
        )
    return most if _inside.share is None else min(most, _inside.share)


@contextmanager
def share_of_threads(n_threads: int) -> Generator[None]:
    """Within, this Python thread uses at most so many threads: others compute beside it."""
    before = _inside.share
    _inside.share = n_threads if before is None else min(before, n_threads)
    try:
        yield
    finally:
        _inside.share = before


def threads_worth(multiplications: int) -> int:
    """Return the threads to share compiled work of this size among; it has one wait at its end."""
    return max(1, min(compiled_threads(), multiplications // WORTH_A_THREAD))


def compiled_threads() -> int:
    """Return the most threads for compiled code, whatever torch's number is inside a block."""
    import torch

    return _inside.compiled or min(torch.get_num_threads(), thread_limit())


@contextmanager
def threads_for(multiplications: int) -> Generator[None]:
    """Within, torch computes on one thread where its products are too small to share.

    Parameters
    ----------
    multiplications : int
        Of the largest product that torch itself computes.
    """
    import torch

    with _outside.lock:
        # A new thread takes its number from the whole process when it is first asked: now, not
        # after its own was set.
        now = torch.get_num_threads()
        if not _outside.n_inside:
            _outside.threads = now
        _outside.n_inside += 1
        most = min(_outside.threads, thread_limit())
    before = _inside.torch, _inside.compiled
    _inside.torch = most if multiplications >= 2 * WORTH_A_THREAD else 1
    _inside.compiled = most
    torch.set_num_threads(_inside.torch)
    try:
        yield
    finally:
        _inside.torch, _inside.compiled = before
        with _outside.lock:
            torch.set_num_threads(min(_inside.torch or _outside.threads, _outside.threads))
            _outside.n_inside -= 1


def _after_fork() -> None:
    """Compute on one thread in a forked child, which has none of its parent's other threads."""
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "set_num_threads"):
        global _outside
        _outside = _Outside(forked=True)
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


VARIABLE = "GRAPHFILTER_MEMORY"


def memory_of_process() -> int:
    """Return the bytes of main memory that this process may take."""
    text = os.environ.get(VARIABLE, "").strip()
    if text:
        return check_bytes(VARIABLE, text)
    return _machine_memory()


@cache
def _machine_memory() -> int:
    return limited_memory(Path("/"))


def limited_memory(system: Path) -> int:
    """Return the least of the machine's memory and what limits it."""
    granted = _granted(system, "memory.max", "memory.limit_in_bytes")
    limits = [int(words[0]) for words in granted if words[0].isdigit()]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    if sys.platform != "win32":
        import resource

        limits += [n for n in resource.getrlimit(resource.RLIMIT_AS) if n > 0]
    return min(limits, default=sys.maxsize)


def blocks(n: int, size: int) -> list[slice]:
    """Divide n rows into slices of ``size``, the last of what is left; of 1 where it is less.

    >>> blocks(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(size, 1)
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def pick_device(device: str) -> str:
    """Return the device to compute on; 'auto' takes a GPU where there is one."""
    import torch

    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device == "auto":
        return "cuda" if n_gpus else "cpu"
    try:
        place = torch.device(device)
    except (RuntimeError, TypeError, ValueError):  # The last of numbers beyond 64 bits.
        place = None
    if place is None or place.type not in ("cpu", "cuda"):
        raise ConfigError(f"device must be auto, cpu, cuda or cuda:N; got {device!r}.")
    if place.type == "cuda" and (place.index or 0) >= n_gpus:
        there = f"GPUs 0 to {n_gpus - 1} only" if n_gpus else "none that torch can use"
        raise ConfigError(
            f"device {device!r} must be a GPU of this machine; there are {there}. Use auto or cpu."
        )
    return device


_CAPTURING = threading.Lock()


def capturing(device: torch.device) -> AbstractContextManager[object]:
    """Within, no other thread is inside on a GPU.

    What one thread captures there must not contain what another one launches, nor meet one that
    waits for the whole GPU, as libraries may when they are first used.
    """
    return _CAPTURING if device.type == "cuda" else nullcontext()
