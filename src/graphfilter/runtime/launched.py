"""Who this process is of those that torchrun started, and which of them says why the job ends.

Read from the environment that torchrun sets; imported without torch.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

# To find the other processes at the start, and to hear the last word of one at the end.
SECONDS_TO_JOIN, SECONDS_TO_SPEAK = 60, 10

_NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True)
class Launched:
    """The place of a process in its job, and among those on its machine."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1

    @property
    def is_first(self) -> bool:
        return self.rank == 0


@cache
def launched() -> Launched:
    """Return the place that torchrun gave this process; the only one where it was not started so.

    >>> launched().size
    1
    """
    words = [os.environ.get(name, "") for name in _NEEDED]
    numbers = [word for word in (words[0], words[1], words[3]) if word.isdigit()]
    if len(numbers) < 3 or not words[2]:
        return Launched()
    rank, size = int(words[0]), int(words[1])
    local = os.environ.get("LOCAL_RANK", ""), os.environ.get("LOCAL_WORLD_SIZE", "")
    local_rank, local_size = (int(word) if word.isdigit() else 0 for word in local)
    return Launched(rank, size, local_rank, max(local_size, 1)) if size > 1 else Launched()


@cache
def job_store() -> Any:
    """Return the job's key-value store: torchrun's own where it has one, else the first process's.

    Keys of an attempt that torchrun has started again are not those of the next.
    """
    from torch.distributed import (
        PrefixStore,  # pyright: ignore[reportPrivateImportUsage]
        TCPStore,  # pyright: ignore[reportPrivateImportUsage]
    )

    of_torchrun = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    store = TCPStore(
        os.environ["MASTER_ADDR"],
        int(os.environ["MASTER_PORT"]),
        is_master=launched().is_first and not of_torchrun,
        timeout=timedelta(seconds=SECONDS_TO_JOIN),
        wait_for_workers=False,
    )
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return PrefixStore(f"graphfilter{attempt}", store)


@cache
def is_first_to_fail() -> bool:
    """Return whether this process is the first to end in an error: one of a job says why."""
    if launched().size == 1:
        return True
    try:
        first = job_store().add("ended", 1) == 1
    except (RuntimeError, OSError):
        return launched().is_first  # The store went with its process.
    if first:
        # From torchrun, which has seen another one end: not before the line is written.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return first


def common_exit(code: int) -> int:
    """Return the exit code of the process that said why the job ends, for all of them.

    The others wait for it: torchrun ends all that are left when the first has exited.
    """
    if launched().size == 1 or code == 0:
        return code
    # What torchrun sends when another process has exited must not become the code of this one.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        if is_first_to_fail():
            job_store().set("code", str(code))
            return code
        job_store().wait(["code"], timedelta(seconds=SECONDS_TO_SPEAK))
        return int(job_store().get("code"))
    except (RuntimeError, OSError):
        return code
