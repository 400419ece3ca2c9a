"""Where to compute: a CPU or a GPU, by the names people give them.

Torch's global modes, set to what this package computes with and set back afterwards.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

from graphfilter.util.errors import ConfigError

_CAPTURING = threading.Lock()


def capturing(device: torch.device) -> AbstractContextManager[object]:
    """Within, no other thread is inside on a GPU.

    What one thread captures there must not contain what another one launches, nor meet one that
    waits for the whole GPU, as libraries may when they are first used.
    """
    return _CAPTURING if device.type == "cuda" else nullcontext()


def is_lost(device: str | torch.device) -> bool:
    """Return whether a GPU answers only with an error; free what a failed run held on it."""
    if torch.device(device).type != "cuda":
        return False
    try:
        torch.cuda.synchronize(device)
        torch.cuda.empty_cache()
    except RuntimeError:
        return True
    return False


def pick_device(device: str) -> str:
    """Return the device to compute on; 'auto' takes a GPU where there is one."""
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device == "auto":
        return "cuda" if n_gpus else "cpu"
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError, ValueError):  # The last of numbers beyond 64 bits.
        found = None
    if found is None or found.type not in ("cpu", "cuda"):
        raise ConfigError(f"device must be auto, cpu, cuda or cuda:N; got {device!r}.")
    if found.type == "cuda" and (found.index or 0) >= n_gpus:
        there = f"GPUs 0 to {n_gpus - 1} only" if n_gpus else "none that torch can use"
        raise ConfigError(
            f"device {device!r} must be a GPU of this machine; there are {there}. Use auto or cpu."
        )
    return device


def device_title(device: str) -> str:
    """Return the device with the GPU's model, as records name it."""
    if torch.device(device).type != "cuda":
        return device
    return f"{device} ({torch.cuda.get_device_name(device)})"


@contextmanager
def own_torch_state(*, gradients: bool) -> Generator[None]:
    """Compute in float32 by default, outside inference mode, with or without gradients.

    Whoever calls us may be under ``torch.no_grad()``, ``torch.inference_mode()`` or a default type
    of float64; none of that may change what is trained or predicted.
    """
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.inference_mode(False), torch.set_grad_enabled(gradients):
            yield
    finally:
        torch.set_default_dtype(before)
