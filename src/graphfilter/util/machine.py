"""What the C library does with memory that is freed.

glibc returns freed memory to the system and fetches it again page by page: some 5,000 page faults
in an epoch on Pubmed, a sixth of its time. Here it keeps what one epoch frees for the next.

This module is imported without torch.

Rows or columns, some at a time: what is made of a block fits in memory, or in a cache.

The sizes of the processor's caches, for those who divide their work to fit one.

The control groups (version 1 or 2) that this process is in, which limit what it may use.

Work that is done in threads while the caller does something else.

How much memory there is to compute in.

The machine's, or what control groups, ``ulimit -v`` or ``GRAPHFILTER_MEMORY`` (bytes, or with K, M
or G after the number) leave of it. What others use at the moment does not count: the same run must
do the same on a busy machine.

How many threads are faster, found by using them.

Compiled code gives the same bits on any number of threads, so that the number may follow the load
of the machine. Work that repeats, as epochs do, is timed with the number in use and with a rival,
turn by turn, and goes on with the faster. It is compared again after a while, and at once where
the time it takes has changed.

This module is imported without torch.

The package as it is installed: which code a result was made with.

Where a process was started: what would make libraries abort is said beforehand.

How many threads compute, and how they wait for each other.

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
Compiled code gives the same bits on any number, so there the faster is taken
(:class:`~graphfilter.util.machine.Pace`): beside a busy process, one thread that never waits for
another may be faster than two.

This module is imported without torch.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import re
import statistics
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from graphfilter.util.errors import ConfigError, check_bytes

# As in glibc's malloc.h, and the largest block that may stay with the process.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
LARGEST_BLOCK = 2**25
# So much freed memory stays with the process.
KEPT = 2**28


@cache
def keep_freed_memory() -> None:
    """Let the memory that one epoch frees be used by the next, from now on.

    What the user has set in the environment stays.
    """
    if any(name.startswith("MALLOC_") for name in os.environ):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return  # Another C library has another rule.
    mallopt(MMAP_THRESHOLD, LARGEST_BLOCK)
    mallopt(TRIM_THRESHOLD, KEPT)


def blocks(n: int, size: int) -> list[slice]:
    """Divide n rows into slices of ``size``, the last of what is left; of 1 where it is less.

    >>> blocks(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(size, 1)
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


@dataclass(frozen=True)
class Caches:
    """Bytes of a core's own cache and of the last, largest one, which cores may share."""

    own: int
    last: int


# What a core of a small server has, for systems that do not tell.
TYPICAL = Caches(2**20, 2**24)

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


@cache
def processor_caches() -> Caches:
    """Return the caches of the first core, as Linux tells them, or typical ones."""
    return read_caches(Path("/sys/devices/system/cpu/cpu0/cache"))


def read_caches(folder: Path) -> Caches:
    """Read one core's caches from a folder of Linux's sysfs.

    The core's own one is that of level 2; where a level is not told, it has its typical size.
    """
    sizes: dict[int, int] = {}
    for entry in folder.glob("index*"):
        level, kind, size = (_read(entry / name) for name in ("level", "type", "size"))
        found = re.fullmatch("([0-9]{1,9})([KMG]?)", size)
        if found and kind in ("Data", "Unified") and re.fullmatch("[0-9]", level):
            sizes[int(level)] = int(found[1]) * _UNITS[found[2]]
    own = sizes.get(2) or TYPICAL.own
    last = max((size for level, size in sizes.items() if level > 1), default=0) or TYPICAL.last
    return Caches(own, max(own, last))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def control_groups(system: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the groups that limit something: the own one and those around it.

    In a container the outer groups are hidden, and its own is the root.
    """
    for line in read_if_there(system / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, own = rest.partition(":")
        mount = system / "sys/fs/cgroup"
        if controllers:
            if controller not in controllers.split(","):
                continue
            mount = mount / controller
        group = Path(own.strip().lstrip("/"))
        yield from (mount / place for place in (group, *group.parents))


def read_if_there(path: Path) -> str:
    """Return what a file of the system holds; nothing where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


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


VARIABLE = "GRAPHFILTER_MEMORY"


def memory_of_process() -> int:
    """Return the bytes of main memory that this process may take."""
    told = os.environ.get(VARIABLE, "").strip()
    if told:
        return check_bytes(VARIABLE, told)
    return _machine_memory()


def gpu_memory(index: int | None) -> int:
    """Return the bytes of memory of a GPU."""
    import torch

    return torch.cuda.get_device_properties(index or 0).total_memory


@cache
def _machine_memory() -> int:
    return limited_memory(Path("/"))


def limited_memory(system: Path) -> int:
    """Return the least of the machine's memory and what limits it."""
    limits = [sys.maxsize]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    limits += _granted(system)
    if sys.platform != "win32":
        import resource

        limits += [n for n in resource.getrlimit(resource.RLIMIT_AS) if n > 0]
    return min(limits)


def _granted(system: Path) -> list[int]:
    """Return what control groups grant this process and those around it."""
    texts = [
        read_if_there(group / name).strip()
        for group in control_groups(system, "memory")
        for name in ("memory.max", "memory.limit_in_bytes")
    ]
    return [int(text) for text in texts if text.isdigit()]


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


@cache
def content_hash() -> str:
    """Return a hash of the package's own code, the same wherever the same files are installed."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    files = (path for kind in ("*.py", "*.c") for path in root.rglob(kind))
    for path in sorted(files, key=lambda p: p.relative_to(root).as_posix()):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()[:16]


# With less than this libraries abort while they load or start threads; with more, what does not
# fit is an error that can be caught.
LEAST_ADDRESSES = 1100 << 20
# The fewest open files that a command needs, streams and those of libraries included.
LEAST_OPEN_FILES = 16


def check_surroundings() -> None:
    """Raise where the working folder is gone, or a limit of the shell is too low to load torch."""
    try:
        Path.cwd()
    except OSError:
        raise ConfigError(
            "the working directory no longer exists. Change to another: cd FOLDER."
        ) from None
    if sys.platform == "win32":
        return
    import resource

    addresses, files = (
        resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE)
    )
    if 0 <= addresses < LEAST_ADDRESSES:
        raise ConfigError(
            f"the memory of a process must not be limited to less than {LEAST_ADDRESSES >> 20:,} "
            f"MiB, which its libraries take; got {addresses >> 20:,}. Raise it: ulimit -v."
        )
    if 0 <= files < LEAST_OPEN_FILES:
        raise ConfigError(
            f"a process must be allowed {LEAST_OPEN_FILES} open files; got {files}. Raise it: "
            "ulimit -n."
        )


def allow_open_files(n: int) -> None:
    """Let this process have so many files open, or as many as the system lets it."""
    if sys.platform == "win32":
        return
    import resource

    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = n if most < 0 else min(n, most)
    if 0 <= now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


THREADS_VARIABLE = "GRAPHFILTER_THREADS"
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
    if THREADS_VARIABLE in os.environ:
        os.environ["OMP_NUM_THREADS"] = str(_configured())
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, usable_cores())))


@contextmanager
def worker_environment(threads: int) -> Generator[None]:
    """Within, processes that are started get so many threads, which wait passively."""
    set_here = {**WAITING, "OMP_NUM_THREADS": str(threads), THREADS_VARIABLE: str(threads)}
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
    most = _configured() if THREADS_VARIABLE in os.environ else usable_cores()
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
    text = os.environ[THREADS_VARIABLE].strip()
    if not re.fullmatch("[1-9][0-9]{0,3}", text):
        raise ConfigError(
            f"{THREADS_VARIABLE} must be a whole number from 1 to 9999; got "
            f"{os.environ[THREADS_VARIABLE]!r}. "
            "Unset it to use every core."
        )
    return int(text)


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quota(system: Path) -> float:
    """Return the cores that control groups grant this process, or infinity."""
    return min(map(_granted_threads, control_groups(system, "cpu")), default=math.inf)


def _granted_threads(group: Path) -> float:
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
