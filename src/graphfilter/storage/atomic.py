"""The one way files are written: to a file next to the target, then renamed over it."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from graphfilter.errors import DataFileError
from graphfilter.storage.locks import lock, still_names

# Names of temporary files start with this, so that those of killed processes are recognised.
TEMPORARY = ".graphfilter-tmp-"


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Generator[Path]:
    """Yield a temporary path next to ``path`` that replaces it atomically when the block ends.

    On any error the temporary file is removed and ``path`` is as it was. A link is followed: the
    file that it points to is replaced. What cannot be written is a :class:`DataFileError`.
    """
    target = check_target(path)
    try:
        sweep(target.parent)
        temporary, descriptor = _create(target)
        try:
            yield temporary
            # The writer may have opened the file by its name: sync that one.
            _sync(temporary)
            temporary.replace(target)
            _sync(target.parent)
        finally:
            temporary.unlink(missing_ok=True)
            if descriptor is not None:
                os.close(descriptor)
    except OSError as error:
        raise unwritable(path, error) from None


def check_target(path: str | os.PathLike[str]) -> Path:
    """Return the file that writing to ``path`` replaces; raise where it is not a regular file."""
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target
    except OSError as error:
        raise unwritable(path, error) from None
    if not stat.S_ISREG(mode):
        problem = f"must be a regular file to be written to; it is {_kind(mode)}."
        raise DataFileError(path, f"{problem} Move it, or give another name.")
    return target


def unwritable(path: str | os.PathLike[str], error: OSError) -> DataFileError:
    """Return the error of a file that the system did not let us write."""
    reason = os.strerror(error.errno) if error.errno else error
    if error.errno == errno.ENOENT:
        remedy = "Give a folder that exists."
    elif error.errno in (errno.EMFILE, errno.ENFILE):
        remedy = "Raise the limit of open files (ulimit -n); the earlier file is unchanged."
    elif error.errno in (errno.EEXIST, errno.ENOTDIR):
        remedy = "Give the name of a folder."
    else:
        remedy = "Free some space, or give another folder; the earlier file is unchanged."
    return DataFileError(path, f"cannot be written: {reason}. {remedy}")


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are not there yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None


def sweep(folder: Path) -> None:
    """Remove temporary files of processes that were killed: those that nobody holds locked."""
    with os.scandir(folder) as entries:
        found = [entry.path for entry in entries if entry.name.startswith(TEMPORARY)]
    for name in found:
        with suppress(OSError):
            descriptor = os.open(name, os.O_RDWR)
            try:
                if lock(descriptor):
                    Path(name).unlink()
            finally:
                os.close(descriptor)


def _create(target: Path) -> tuple[Path, int | None]:
    """Create a temporary file, locked until this process ends; None where there are no locks."""
    while True:
        # The suffix stays: writers choose the format by it.
        path = target.with_name(f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(4)}{target.suffix}")
        # The mode is cut by the umask, as that of any new file is.
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        if lock(descriptor, wait=True) is None:
            os.close(descriptor)
            return path, None
        # Another process may have swept the file between its creation and its lock.
        if still_names(path, descriptor):
            return path, descriptor
        os.close(descriptor)


def _sync(path: Path) -> None:
    """Make what was written to a file, or to the names in a folder, last through a power cut."""
    if sys.platform == "win32" and path.is_dir():
        return  # Folders cannot be opened there.
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFDIR: "a folder", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
        stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket",
    }  # fmt: skip
    return kinds.get(stat.S_IFMT(mode), "something else")
