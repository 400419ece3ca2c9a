"""Pairs of a benchmark in processes, a few at a time."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import torch

from graphfilter.util.machine import THREADS_VARIABLE, WAITING
from graphfilter_research.bench.pair import Epoch, LostDeviceError, Pair, Skipped, run_pair
from graphfilter_research.bench.protocol import GraphLoader
from graphfilter_research.bench.record import Record

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
