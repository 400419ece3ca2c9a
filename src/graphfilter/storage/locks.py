"""Locks that the system releases when their process ends, however it ends."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from graphfilter.errors import ConfigError

try:
    import fcntl
except ImportError:  # Not a POSIX system: nothing is locked.
    fcntl = None


@contextmanager
def locked(path: str | os.PathLike[str], busy: str) -> Generator[None]:
    """Hold a lock file for the length of the block; raise ``busy`` where another process does.

    The file goes when the block ends. A killed process leaves it behind, unlocked: the next one
    takes it over.
    """
    path = Path(path)
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            if lock(descriptor) is False:
                raise ConfigError(busy)
            # Whoever held it before may have removed it since it was opened.
            if not still_names(path, descriptor):
                continue
            try:
                yield
            finally:
                with suppress(FileNotFoundError):
                    path.unlink()
            return
        finally:
            os.close(descriptor)


def in_use(path: str | os.PathLike[str]) -> bool:
    """Return whether another process holds a lock file."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except (FileNotFoundError, IsADirectoryError):
        return False
    try:
        return lock(descriptor) is False
    finally:
        os.close(descriptor)


def lock(descriptor: int, *, wait: bool = False) -> bool | None:
    """Lock an open file against other processes; return whether it was acquired.

    None says that nothing can be locked: the system or the file system has no locks.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            raise
        return None
    return True


def still_names(path: Path, descriptor: int) -> bool:
    """Return whether a path is still that of an open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
