"""The sizes of the processor's caches, for those who divide their work to fit one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Caches:
    """Bytes of a core's own cache and of the last, largest one, which cores may share."""

    own: int
    last: int


# What a core of a small server has, for systems that do not tell.
TYPICAL = Caches(2**20, 2**24)

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


@cache
def processor_caches() -> Caches:
    """Return the caches of the first core, as Linux tells them, or typical ones."""
    return read_caches(Path("/sys/devices/system/cpu/cpu0/cache"))


def read_caches(folder: Path) -> Caches:
    """Read one core's caches from a folder of Linux's sysfs.

    The core's own one is that of level 2; where a level is not told, it has its typical size.
    """
    sizes: dict[int, int] = {}
    for entry in folder.glob("index*"):
        level, kind, size = (_read(entry / name) for name in ("level", "type", "size"))
        found = re.fullmatch("([0-9]{1,9})([KMG]?)", size)
        if found and kind in ("Data", "Unified") and re.fullmatch("[0-9]", level):
            sizes[int(level)] = int(found[1]) * _UNITS[found[2]]
    own = sizes.get(2) or TYPICAL.own
    last = max((size for level, size in sizes.items() if level > 1), default=0) or TYPICAL.last
    return Caches(own, max(own, last))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
