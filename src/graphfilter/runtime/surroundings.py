"""Where a process was started: what would make libraries abort is said beforehand."""

from __future__ import annotations

import sys
from pathlib import Path

from graphfilter.errors import ConfigError

# With less than this libraries abort while they load or start threads; with more, what does not
# fit is an error that can be caught.
LEAST_ADDRESSES = 1100 << 20
# The fewest open files that a command needs, streams and those of libraries included.
LEAST_OPEN_FILES = 16


def check_surroundings() -> None:
    """Raise where the working folder is gone, or a limit of the shell is too low to load torch."""
    try:
        Path.cwd()
    except OSError:
        raise ConfigError(
            "the working directory no longer exists. Change to another: cd FOLDER."
        ) from None
    if sys.platform == "win32":
        return
    import resource

    addresses, files = (
        resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE)
    )
    if 0 <= addresses < LEAST_ADDRESSES:
        raise ConfigError(
            f"the memory of a process must not be limited to less than {LEAST_ADDRESSES >> 20:,} "
            f"MiB, which its libraries take; got {addresses >> 20:,}. Raise it: ulimit -v."
        )
    if 0 <= files < LEAST_OPEN_FILES:
        raise ConfigError(
            f"a process must be allowed {LEAST_OPEN_FILES} open files; got {files}. Raise it: "
            "ulimit -n."
        )


def allow_open_files(n: int) -> None:
    """Let this process have so many files open, or as many as the system lets it."""
    if sys.platform == "win32":
        return
    import resource

    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = n if most < 0 else min(n, most)
    if 0 <= now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
