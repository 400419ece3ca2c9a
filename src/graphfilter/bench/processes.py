"""Pairs of a benchmark in processes of their own, a few at a time."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

import torch

from graphfilter.bench.pair import Epoch, Pair, Skipped, run_pair
from graphfilter.bench.protocol import GraphLoader
from graphfilter.bench.record import Record
from graphfilter.runtime.threads import worker_environment

Handle = Callable[[Pair, Record | Skipped | Epoch], None]


def run_in_processes(
    pairs: Sequence[Pair], jobs: int, handle: Handle, on_end: Callable[[Pair, int], None]
) -> None:
    """Run pairs, ``jobs`` at a time; what they emit is handled here, in one place.

    One process per pair, not a pool: one that is killed (for its memory, say) takes no other
    down, and all that it held on a GPU is freed. ``on_end`` is called with the exit code of each.
    Torch's threads are divided among the processes, and wait for each other without taking a core.
    """
    # Spawned: a forked process must not use torch's threads or CUDA.
    context = get_context("spawn")
    threads = max(1, torch.get_num_threads() // jobs)
    left = list(reversed(pairs))
    running: dict[Connection, tuple[Any, Pair]] = {}
    try:
        while left or running:
            while left and len(running) < jobs:
                pair = left.pop()
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(pair, sender), daemon=True)
                with _ignoring_interrupts(), worker_environment(threads):
                    process.start()
                # Or the pipe would never say that the other end is gone.
                sender.close()
                running[receiver] = process, pair
            for receiver in wait(list(running)):
                assert isinstance(receiver, Connection)
                process, pair = running[receiver]
                try:
                    event = receiver.recv()
                except (EOFError, OSError):
                    process.join()
                    receiver.close()
                    del running[receiver]
                    on_end(pair, process.exitcode)
                else:
                    handle(pair, event)
    finally:
        for process, _ in running.values():
            process.terminate()
            process.join()


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


def _work(pair: Pair, sender: Connection) -> None:
    run_pair(pair, GraphLoader(), sender.send)
    sender.close()
