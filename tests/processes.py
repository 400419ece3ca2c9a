"""Several processes that work together, as torchrun starts them, but without its start."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from torch.distributed import TCPStore  # pyright: ignore[reportPrivateImportUsage]

SECONDS = 60


def run_together(size: int, work: Callable[..., Any], *arguments: object) -> list[Any]:
    """Call a function in so many processes; return what each returned, or its exit code.

    They are forked off a process that has imported the package once.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        pytest.skip("processes cannot be forked off a server here")
    context = multiprocessing.get_context("forkserver")
    # torch's optimizers import the last of these when they first step.
    context.set_forkserver_preload(["graphfilter.run_folder", "tests.processes", "torch._dynamo"])
    # As torchrun has one, which lives as long as any of its processes.
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    started = []
    for rank in range(size):
        receiver, sender = context.Pipe(duplex=False)
        place = {
            "RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": size,
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": store.port, "GRAPHFILTER_THREADS": 1,
            "TORCHELASTIC_USE_AGENT_STORE": True,
        }  # fmt: skip
        words = {name: str(value) for name, value in place.items()}
        process = context.Process(target=_begin, args=(words, sender, work, arguments))
        process.start()
        sender.close()
        started.append((process, receiver))
    results = []
    for process, receiver in started:
        try:
            result = pickle.loads(receiver.recv_bytes()) if receiver.poll(SECONDS) else None
        except EOFError:
            result = None
        process.join(SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
        results.append(process.exitcode if result is None else result)
    return results


def run_command(words: list[str], folder: str) -> None:
    """Run the command line in one of several processes; what it prints goes to files there."""
    rank = os.environ["RANK"]
    for number, name in ((1, "out"), (2, "err")):
        kept = os.open(Path(folder) / f"{name}{rank}", os.O_CREAT | os.O_WRONLY)
        os.dup2(kept, number)
    sys.argv = ["graphfilter", *words]
    from graphfilter.cli import main

    main()


def _begin(
    place: dict[str, str], sender: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    os.environ.update(place)
    try:
        result = work(*arguments)
    except Exception:
        result = traceback.format_exc()
    # Pickled here: multiprocessing would leave tensors in this process, which ends.
    sender.send_bytes(pickle.dumps(result))
