"""How much memory there is to compute in.

The machine's, or what control groups, ``ulimit -v`` or ``GRAPHFILTER_MEMORY`` (bytes, or with K, M
or G after the number) leave of it, divided among the processes that torchrun has started on this
machine. What others use at the moment does not count: the same run must do the same on a busy
machine.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

from graphfilter.errors import check_bytes
from graphfilter.runtime.control_groups import control_groups, read_if_there
from graphfilter.runtime.launched import launched

VARIABLE = "GRAPHFILTER_MEMORY"


def memory_of_process() -> int:
    """Return the bytes of main memory that this process may take."""
    told = os.environ.get(VARIABLE, "").strip()
    if told:
        return check_bytes(VARIABLE, told)
    return _machine_memory() // launched().local_size


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
