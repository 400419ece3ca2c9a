"""The machine: its threads, and which device computes.

Imports nothing of the package but its errors; ``threads`` says how those who import us keep a
busy machine from slowing them down. What needs torch is imported when it is first used: the
command line asks about processes and threads before torch loads.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphfilter.runtime.allocator import keep_freed_memory
from graphfilter.runtime.blocks import blocks
from graphfilter.runtime.caches import processor_caches
from graphfilter.runtime.launched import Launched, common_exit, is_first_to_fail, launched
from graphfilter.runtime.memory import gpu_memory, memory_of_process
from graphfilter.runtime.pace import Pace
from graphfilter.runtime.package import content_hash
from graphfilter.runtime.surroundings import allow_open_files, check_surroundings
from graphfilter.runtime.threads import (
    compiled_threads,
    prepare_threads,
    thread_limit,
    threads_for,
    threads_worth,
    worker_environment,
)

if TYPE_CHECKING:
    from graphfilter.runtime.devices import device_title, pick_device
    from graphfilter.runtime.processes import Group, alone, current, start
    from graphfilter.runtime.torch_state import own_torch_state

# The module of each name that needs torch.
_WITH_TORCH = {
    "Group": "processes",
    "alone": "processes",
    "current": "processes",
    "device_title": "devices",
    "own_torch_state": "torch_state",
    "pick_device": "devices",
    "start": "processes",
}

__all__ = [
    "Group",
    "Launched",
    "Pace",
    "allow_open_files",
    "alone",
    "blocks",
    "check_surroundings",
    "common_exit",
    "compiled_threads",
    "content_hash",
    "current",
    "device_title",
    "gpu_memory",
    "is_first_to_fail",
    "keep_freed_memory",
    "launched",
    "memory_of_process",
    "own_torch_state",
    "pick_device",
    "prepare_threads",
    "processor_caches",
    "start",
    "thread_limit",
    "threads_for",
    "threads_worth",
    "worker_environment",
]


def __getattr__(name: str) -> Any:
    if name not in _WITH_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WITH_TORCH[name]}"), name)
