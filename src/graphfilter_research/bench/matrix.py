"""The matrix of runs: pairs of a dataset and a system, run where they are not on record yet.

There is one: ``bench`` fills it from names, ``paper`` from the systems of a table or figure. It is
run in this process or in several, a pair each at a time.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import torch

from graphfilter.util.machine import THREADS_VARIABLE, WAITING
from graphfilter_research.bench.pair import (
    Epoch,
    LostDeviceError,
    Pair,
    Skipped,
    blank_records,
    run_pair,
)
from graphfilter_research.bench.protocol import GraphLoader
from graphfilter_research.bench.record import Record, RecordFile
from graphfilter_research.lines import one_writer

Handle = Callable[[Pair, Record | Skipped | Epoch], None]
# What a process says when it has done a pair.
DONE = None


def run_in_processes(
    pairs: Sequence[Pair], jobs: int, handle: Handle, on_end: Callable[[Pair, int], None]
) -> None:
    """Run pairs, ``jobs`` at a time; what they emit is handled here, in one place.

    A process takes one pair after another. One that is killed (for its memory, say) takes no other
    pair down, and another takes its place, which also makes the runs that a process has left with
    its GPU lost. ``on_end`` is called with each pair and 0, or the exit
    code of its process where that ended. Torch's threads are divided among the processes, and wait
    for each other without taking a core.
    """
    # What emits is the pair as it was given; what is sent is the same, or the runs left of it.
    left = [(pair, pair) for pair in reversed(pairs)]
    threads = max(1, torch.get_num_threads() // jobs)
    running: dict[Connection, tuple[BaseProcess, Pair]] = {}
    try:
        while left or running:
            while left and len(running) < jobs:
                connection, process = _start(threads)
                pair, sent = left.pop()
                running[connection] = process, pair
                _send(connection, sent)
            for connection in wait(list(running)):
                assert isinstance(connection, Connection)
                process, pair = running[connection]
                try:
                    event = connection.recv()
                except (EOFError, OSError):
                    process.join()
                    code = process.exitcode
                    on_end(pair, 1 if code is None else code)
                    del running[connection]
                    connection.close()
                    continue
                if isinstance(event, Pair):  # What is left of it: the process ends.
                    left += [(pair, event)] if event.only else []
                    continue
                if event is not DONE:
                    handle(pair, event)
                    continue
                on_end(pair, 0)
                if left:
                    pair, sent = left.pop()
                    running[connection] = process, pair
                    _send(connection, sent)
                else:
                    del running[connection]
                    connection.close()
                    process.join()
    finally:
        for process, _ in running.values():
            process.terminate()
            process.join()


def _start(threads: int) -> tuple[Connection, BaseProcess]:
    """Start a process that waits for pairs."""
    # Spawned: a forked process must not use torch's threads or CUDA.
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs,), daemon=True)
    with _ignoring_interrupts(), worker_environment(threads):
        process.start()
    # Or the pipe would never say that the other end is gone.
    theirs.close()
    return ours, process


def _send(connection: Connection, pair: Pair) -> None:
    """Hand a pair to a process; that it is gone is found when its answer is awaited."""
    with suppress(OSError):
        connection.send(pair)


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


@contextmanager
def _ignoring_interrupts() -> Generator[None]:
    """Let a process started here ignore interrupts from its first moment on.

    One at the terminal reaches every process of the group: the parent stops the others.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _work(connection: Connection) -> None:
    load = GraphLoader()
    while True:
        try:
            pair = connection.recv()
        except EOFError:
            return
        try:
            run_pair(pair, load, connection.send)
        except LostDeviceError as error:
            connection.send(error.left)
            # At once: without its GPU torch may abort as it shuts down.
            os._exit(0)
        # What this pair held on a GPU is for others too.
        gc.collect()
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()
        connection.send(DONE)


@dataclass(frozen=True)
class BenchProgress:
    """How far a set of runs is.

    Attributes
    ----------
    done, total : int
        Runs that have ended, skipped and failed ones included, and runs in all.
    what : str
        What was reported last: "cora: sgf".
    epoch, max_epochs : int
        How far its training is; 0 where nothing is being trained.
    skipped, failed : int
        Runs that were on record before, and runs that failed now.
    seconds_left : float or None
        An estimate; None before anything is known.
    """

    done: int
    total: int
    what: str
    epoch: int = 0
    max_epochs: int = 0
    skipped: int = 0
    failed: int = 0
    seconds_left: float | None = None


OnProgress = Callable[[BenchProgress], None]


def run_matrix(
    pairs: Sequence[Pair],
    file: RecordFile,
    *,
    known: Mapping[str, Record] | None = None,
    jobs: int = 1,
    on_progress: OnProgress | None = None,
) -> list[Record]:
    """Run what is not on record; return the records of these pairs, old and new, in their order.

    Each run is appended to ``file`` as it ends. Runs on record are skipped and failed ones are
    tried again. A run that fails is recorded with its reason, and the others continue.

    Parameters
    ----------
    pairs : sequence of Pair
        With ``jobs`` above 1, systems outside the registry must pickle.
    known : mapping of key to Record, optional
        Records of other files: what is among them is copied instead of run.
    jobs : int
        Processes, one pair each at a time; the threads are divided among them.
    on_progress : callable, optional
        Called after each run and, a few times per second, while training.
    """
    for pair in pairs:
        _ = pair.system  # an impossible max_epochs is an error now, not a failed run later
    if jobs > 1:  # What one process would make in turn is divided among them.
        pairs = [one for pair in pairs for one in (pair.divided() if pair.in_turn else [pair])]
    board = _Board(pairs, file, known or {}, jobs, on_progress)
    with one_writer(file.path):
        if jobs == 1:
            load = GraphLoader()
            for pair in board.pairs:
                run_pair(pair, load, lambda event, pair=pair: board.handle(pair, event))
        else:
            run_in_processes(board.pairs, jobs, board.handle, board.end)
    return board.records()


class _Board:
    """Tells each pair which of its runs are done, records what it reports, and counts."""

    def __init__(
        self,
        pairs: Sequence[Pair],
        file: RecordFile,
        known: Mapping[str, Record],
        jobs: int,
        on_progress: OnProgress | None,
    ) -> None:
        self.file, self.jobs, self.on_progress = file, jobs, on_progress
        own = {record.key: record for record in file.records if record.ok}
        self.known = {**known, **own}
        self.on_file = set(own)
        done: dict[tuple[str, str], set[str]] = defaultdict(set)
        for key, record in self.known.items():
            done[record.dataset, record.model].add(key)
        self.pairs = [replace(p, done=frozenset(done[p.dataset, p.model])) for p in pairs]
        self.order = {id(pair): i for i, pair in enumerate(self.pairs)}
        self.places: dict[str, int] = {}
        self.total = sum(pair.runs for pair in pairs)
        self.left: Counter[tuple[str, str]] = Counter()
        for pair in pairs:
            self.left[pair.dataset, pair.model] += pair.runs
        self.skipped = self.failed = 0
        self.seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        for record in file.records:
            self._learn(record)

    def handle(self, pair: Pair, event: Record | Skipped | Epoch) -> None:
        """Take what a pair emitted; records go to the disk first."""
        if isinstance(event, Record):
            self._append(event)
            self.failed += not event.ok
            self._count(pair, [event.key])
        elif isinstance(event, Skipped):
            for key in event.keys:
                if key not in self.on_file:
                    self._append(self.known[key])
            self.skipped += len(event.keys)
            self._count(pair, event.keys)
        if self.on_progress is not None:
            epoch = event if isinstance(event, Epoch) else Epoch(0, 0)
            self.on_progress(self._progress(pair, epoch))

    def end(self, pair: Pair, code: int) -> None:
        """Record as failed what a killed process left undone."""
        if code == 0:
            return
        killed = code == -9  # As the system does where memory runs out.
        why = "killed, perhaps because memory ran out" if killed else "its error is printed above"
        reason = f"its process ended with code {code}: {why}"
        there = {r.asked for r in self.file.records if r.ok or r.key in self.places}
        for record in blank_records(pair):
            if record.asked not in there:
                self.handle(pair, replace(record, status="failed", reason=reason))

    def records(self) -> list[Record]:
        """Return the records of this matrix, the last where a run has several."""
        found = {record.key: record for record in self.file.records if record.key in self.places}
        return sorted(found.values(), key=lambda record: (self.places[record.key], record.seed))

    def _append(self, record: Record) -> None:
        self.file.append([record])
        if record.ok:
            self.on_file.add(record.key)
        self._learn(record)

    def _count(self, pair: Pair, keys: Collection[str]) -> None:
        self.places.update(dict.fromkeys(keys, self.order[id(pair)]))
        self.left[pair.dataset, pair.model] -= len(keys)

    def _learn(self, record: Record) -> None:
        if record.ok:
            self.seconds[record.dataset, record.model].append(record.seconds)

    def _progress(self, pair: Pair, epoch: Epoch) -> BenchProgress:
        left = seconds_left(self.left, self.seconds)
        return BenchProgress(
            done=self.total - self.left.total(),
            total=self.total,
            what=f"{pair.dataset}: {pair.model}",
            epoch=epoch.epoch,
            max_epochs=epoch.max_epochs,
            skipped=self.skipped,
            failed=self.failed,
            seconds_left=None if left is None else left / self.jobs,
        )


def seconds_left(
    left: Mapping[tuple[str, str], int], seconds: Mapping[tuple[str, str], Sequence[float]]
) -> float | None:
    """Estimate the time of the runs left, by (dataset, model), from those that ended.

    A run takes the mean of its pair; where none of the pair has ended, of its dataset; where none
    of that has, of all.

    >>> ended = {("cora", "sgf"): [10.0, 20.0], ("texas", "mlp"): [1.0]}
    >>> seconds_left({("cora", "sgf"): 2, ("texas", "sgf"): 3}, ended)
    33.0
    """
    every: dict[str | None, list[float]] = defaultdict(list)
    for (dataset, _), values in seconds.items():
        every[dataset] += values
        every[None] += values
    if not every[None]:
        return None
    total = 0.0
    for pair, n in left.items():
        known = seconds.get(pair) or every[pair[0]] or every[None]
        total += n * sum(known) / len(known)
    return total
