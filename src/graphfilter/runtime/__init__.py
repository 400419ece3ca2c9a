"""The machine: its threads, and which device computes.

Imports nothing of the package but its errors; ``threads`` says how those who import us keep a
busy machine from slowing them down. What needs torch is imported when it is first used: the
command line asks about processes and threads before torch loads.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphfilter.runtime.allocator import keep_freed_memory as keep_freed_memory
from graphfilter.runtime.blocks import blocks as blocks
from graphfilter.runtime.caches import processor_caches as processor_caches
from graphfilter.runtime.launched import (
    Launched as Launched,
    common_exit as common_exit,
    is_first_to_fail as is_first_to_fail,
    launched as launched,
)
from graphfilter.runtime.meanwhile import meanwhile as meanwhile
from graphfilter.runtime.memory import (
    gpu_memory as gpu_memory,
    memory_of_process as memory_of_process,
)
from graphfilter.runtime.pace import Pace as Pace
from graphfilter.runtime.package import content_hash as content_hash
from graphfilter.runtime.surroundings import (
    allow_open_files as allow_open_files,
    check_surroundings as check_surroundings,
)
from graphfilter.runtime.threads import (
    compiled_threads as compiled_threads,
    prepare_threads as prepare_threads,
    share_of_threads as share_of_threads,
    thread_limit as thread_limit,
    threads_for as threads_for,
    threads_worth as threads_worth,
    worker_environment as worker_environment,
)

if TYPE_CHECKING:
    from graphfilter.runtime.devices import (
        capturing as capturing,
        device_title as device_title,
        is_lost as is_lost,
        pick_device as pick_device,
    )
    from graphfilter.runtime.processes import (
        Group as Group,
        alone as alone,
        current as current,
        start as start,
    )
    from graphfilter.runtime.torch_state import own_torch_state as own_torch_state

# The module of each name that needs torch.
_WITH_TORCH = {
    "Group": "processes",
    "alone": "processes",
    "capturing": "devices",
    "current": "processes",
    "device_title": "devices",
    "is_lost": "devices",
    "own_torch_state": "torch_state",
    "pick_device": "devices",
    "start": "processes",
}


def __getattr__(name: str) -> Any:
    if name not in _WITH_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WITH_TORCH[name]}"), name)
