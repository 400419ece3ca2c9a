"""Processes that tests start, forked off one that has imported the package once."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from graphfilter.training import loop

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext

# Nothing takes so long but where it hangs, or the machine has much else to do.
SECONDS = 300
# What a fit imports when it comes to it.
PRELOADED = (
    "graphfilter.runs",
    "tests.processes",
    "tests.warm",
    "rich.progress",
    "rich.table",
    "networkx",
    "pyarrow.csv",
)


def forking(method: str = "") -> ForkServerContext:
    """Return what starts processes, whatever way of starting them is asked for."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        pytest.skip("processes cannot be forked off a server here")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    return context


def forked(work: Callable[..., Any], *arguments: object) -> BaseProcess:
    """Start a function in a process of its own."""
    process = forking().Process(target=work, args=arguments)
    process.start()
    return process


def apart(work: Callable[..., Any], *arguments: object) -> Any:
    """Call a function in a process of its own; return what it returned, or its exit code."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = forked(_begin, sender, work, arguments)
    sender.close()
    try:
        result = pickle.loads(receiver.recv_bytes()) if receiver.poll(SECONDS) else None
    except EOFError:
        result = None
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode if result is None else result


class Command:
    """The command line in a process of its own; what it prints goes to files in a folder."""

    def __init__(
        self, words: Sequence[object], folder: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        given = [str(word) for word in words]
        self._process = forked(_run_alone, dict(environment or {}), given, str(folder))

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.join()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def out(self) -> str:
        return (self._folder / "out0").read_text()

    @property
    def err(self) -> str:
        return (self._folder / "err0").read_text()

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.exitcode

    def send(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self, seconds: float = SECONDS) -> bool:
        """Wait until it ends; return whether it did."""
        self._process.join(seconds)
        return not self._process.is_alive()

    def wait_for(self, path: Path, *, content: bool = False) -> None:
        """Wait until there is a file, or that and a line in it."""
        while not path.exists() or (content and "\n" not in path.read_text()):
            assert self._process.is_alive(), self.err
            time.sleep(0.02)

    def first_line(self) -> str:
        """Return the first line that it prints, as soon as it does."""
        self.wait_for(self._folder / "out0", content=True)
        return self.out.splitlines()[0]


def run_command(words: list[str], folder: str) -> None:
    """Run the command line in this process; what it prints goes to files there."""
    for number, name in ((1, "out"), (2, "err")):
        kept = os.open(Path(folder) / f"{name}0", os.O_CREAT | os.O_WRONLY)
        os.dup2(kept, number)
    sys.argv = ["graphfilter", *words]
    from graphfilter.__main__ import main

    main()


def _run_alone(environment: dict[str, str], words: list[str], folder: str) -> None:
    os.environ.update(environment)
    tempfile.tempdir = None  # Where that is is asked for again.
    loop.FIRST_CHECKPOINT = 0.1  # A run that is to be killed need not train for long.
    # As in a process that a shell has started.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run_command(words, folder)


def peaks_of_fits(fits: list[tuple[str, int]]) -> list[int]:
    """Fit networks of some widths to stores; return the most bytes of memory so far after each."""
    # Freed memory goes back to the system, also where the process is forked from one that keeps it.
    os.environ["MALLOC_TRIM_THRESHOLD_"] = str(2**17)
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        for threshold in (-3, -1):  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
            library.mallopt(threshold, 2**17)
        library.malloc_trim(0)
    import graphfilter as gf

    peaks = []
    for store, width in fits:
        graph = gf.open_store(store)
        classifier = gf.SGFClassifier(n_layers=2, hidden_size=width, max_epochs=2, random_state=0)
        classifier.fit(graph=graph).predict_proba()
        del graph, classifier
        status = Path("/proc/self/status").read_text()
        peaks.append(1024 * int(status.partition("VmHWM:")[2].split()[0]))
    return peaks


def _begin(sender: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    os.environ["GRAPHFILTER_THREADS"] = "1"
    try:
        result = work(*arguments)
    except Exception:
        result = traceback.format_exc()
    # Pickled here: multiprocessing would leave tensors in this process, which ends.
    sender.send_bytes(pickle.dumps(result))
