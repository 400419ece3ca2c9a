"""How much memory a file may ask for: in proportion to its size, so that none is a bomb.

A few bytes can describe gigabytes: a compressed run of zeros, a matrix said to have 3·10⁸ rows.
Every reader therefore counts what it is about to make against a :class:`Budget`, *before* making
it. Genuine files unpack to some ten times their size, so the limit is far above them; it can be
raised with the environment variable ``GRAPHFILTER_MAX_BYTES``.

Locks that the system releases when their process ends, however it ends.

The one way files are written: to a file next to the target, then renamed over it.

Whether a file or a folder may be written to: checked before any work.

Folders for files that are not needed afterwards.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from graphfilter.util.errors import ConfigError, DataFileError

VARIABLE = "GRAPHFILTER_MAX_BYTES"
# Any file may ask for this much, and a large one for so much per byte of it.
SMALL_BYTES = 128 << 20
BYTES_PER_BYTE = 200
# What building a graph takes at its peak, roughly, for each vertex and for each edge listed.
VERTEX_BYTES = 32
EDGE_BYTES = 32


class Budget:
    """The bytes of memory that reading one file may take.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".mtx") as file:
    ...     budget = Budget(file.name)
    >>> budget.spend(1000, "a few rows")
    >>> budget.spend(10**12, "1e12 rows")
    Traceback (most recent call last):
    graphfilter.util.errors.DataFileError: ...: must not ask for more than 134,217,728 bytes of memory,
    being a file of 0; it does: 1e12 rows. If this is intended, set GRAPHFILTER_MAX_BYTES to
    1000000001000 or more.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        try:
            self._size = Path(path).stat().st_size
        except OSError:
            self._size = 0  # the reader itself says what is wrong with the file
        self.limit = max(_least(), BYTES_PER_BYTE * self._size)
        self._spent = 0

    def spend(self, n_bytes: int, what: str) -> None:
        """Count bytes that are about to be used, or raise where they are too many."""
        self._spent += n_bytes
        if self._spent > self.limit:
            raise DataFileError(
                self._path,
                f"must not ask for more than {self.limit:,} bytes of memory, being a file of "
                f"{self._size:,}; it does: {what}. If this is intended, set {VARIABLE} to "
                f"{self._spent} or more.",
            )


def _least() -> int:
    told = os.environ.get(VARIABLE, "").strip()
    if not told:
        return SMALL_BYTES
    if not (told.isascii() and told.isdigit()):
        raise ConfigError(f"{VARIABLE} must be a whole number of bytes; got {told[:40]!r}.")
    return int(told)


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


# Locks, temporary files of a killed process, a run under way: not the user's.
OWN = ".graphfilter-"
LOCK_FILE = f"{OWN}lock"


def check_file(path: Path, *, overwrite: bool) -> None:
    """Raise where a file is in the way, or no folder is there to write it to."""
    check_target(path)
    if path.exists() and not overwrite:
        raise ConfigError(f"{path}: exists; pass `overwrite=True` to replace it, or another name.")
    if not path.parent.is_dir():
        raise ConfigError(f"{path.parent}: there is no such folder to write {path.name} to.")


def files_in(folder: Path, *written: str) -> set[str]:
    """Return the names of what a user has in a folder, if it is there; raise where it is a file.

    Raise too where something else than a file has a name that is to be written there (patterns).
    """
    if not folder.exists():
        return set()
    if not folder.is_dir():
        raise ConfigError(f"{folder}: a file is in the way; give the name of a folder.")
    for path in (path for name in (*written, LOCK_FILE) for path in folder.glob(name)):
        check_target(path)
    return {path.name for path in folder.iterdir() if not path.name.startswith(OWN)}


_LOCK_FILE = ".lock"


@contextmanager
def scratch_folder(prefix: str, place: Path | None = None) -> Generator[Path]:
    """Yield a new folder that is removed with everything in it when the block ends.

    It lies in ``place``, or where temporary files do.

    A killed process cannot remove its own: the next one that asks for the same prefix does. The
    lock in each folder, which ends with its process, tells which are in use.
    """
    place = Path(tempfile.gettempdir()) if place is None else place
    for left in place.glob(f"{prefix}*"):
        _remove_unused(left)
    folder, descriptor = _create_scratch(prefix, place)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _create_scratch(prefix: str, place: Path) -> tuple[Path, int]:
    while True:
        try:
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        except OSError as error:
            raise unwritable(place, error) from None
        descriptor = os.open(folder / _LOCK_FILE, os.O_CREAT | os.O_RDWR, 0o600)
        lock(descriptor, wait=True)
        # Another process may have removed the folder between its creation and its lock.
        if still_names(folder / _LOCK_FILE, descriptor):
            return folder, descriptor
        os.close(descriptor)


def _remove_unused(folder: Path) -> None:
    # Folders of other users cannot be opened, and are theirs.
    with suppress(OSError):
        descriptor = os.open(folder / _LOCK_FILE, os.O_RDWR)
        try:
            if lock(descriptor):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(descriptor)
