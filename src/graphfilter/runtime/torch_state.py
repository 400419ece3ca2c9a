"""Torch's global modes, set to what this package computes with and set back afterwards."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch


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
