"""How much memory this process has taken at the highest since it was last asked (Linux)."""

from __future__ import annotations

import ctypes
from pathlib import Path


class PeakMemory:
    """Counts from where it is made."""

    def __init__(self) -> None:
        # Freed memory that the C library keeps would be used again without any growth.
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # sets the highest to what it is now
        self._before = _bytes("VmRSS")

    def grown(self) -> int:
        """Return by how many bytes the process was larger, at the highest."""
        return _bytes("VmHWM") - self._before


def _bytes(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) << 10
    raise AssertionError(f"/proc/self/status must have {field}")
