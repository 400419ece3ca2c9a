"""The control groups (version 1 or 2) that this process is in, which limit what it may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def control_groups(system: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the groups that limit something: the own one and those around it.

    In a container the outer groups are hidden, and its own is the root.
    """
    for line in read_if_there(system / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, own = rest.partition(":")
        mount = system / "sys/fs/cgroup"
        if controllers:
            if controller not in controllers.split(","):
                continue
            mount = mount / controller
        group = Path(own.strip().lstrip("/"))
        yield from (mount / place for place in (group, *group.parents))


def read_if_there(path: Path) -> str:
    """Return what a file of the system holds; nothing where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
