"""How much memory this process has taken at the highest since it was last asked (Linux)."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path


class PeakMemory:
    """Counts from where it is made."""

    def __init__(self) -> None:
        # Freed memory that the C library keeps would be used again without any growth.
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # sets the highest to what it is now
        self._before = _bytes(b"VmRSS:")

    def grown(self) -> int:
        """Return by how many bytes the process was larger, at the highest."""
        return _bytes(b"VmHWM:") - self._before


@cache
def _status(process: int) -> int:
    """Open what the system says of this process, once."""
    return os.open(f"/proc/{process}/status", os.O_RDONLY)


def _bytes(field: bytes) -> int:
    said = os.pread(_status(os.getpid()), 1 << 14, 0)
    return int(said.partition(field)[2].split(maxsplit=1)[0]) << 10
