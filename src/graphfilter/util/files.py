"""Files on disk: written atomically, locked, and read without running code or filling the memory.

Every file of the package is written by :func:`atomic_file`: to a temporary file beside the target,
which is then renamed over it.

A few bytes can describe gigabytes: a compressed run of zeros, a matrix said to have 3·10⁸ rows.
Every reader therefore counts what it is about to make against a :class:`Budget`, *before* making
it. Genuine files unpack to some ten times their size, so the limit is far above them; it can be
raised with the environment variable ``GRAPHFILTER_MAX_BYTES``.
"""

from __future__ import annotations

import lzma
import math
import os
import re
import secrets
import shutil
import stat
import struct
import sys
import tempfile
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from graphfilter.util.errors import ConfigError, DataFileError, GraphError, GraphFilterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AnyPath = str | PathLike[str]
# One letter would be a drive.
IS_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.]+://")

# Names of temporary files start with this, so that those of killed processes are recognised.
TEMPORARY = ".graphfilter-tmp-"
# Locks, temporary files of a killed process, a run under way: not the user's.
OWN = ".graphfilter-"
LOCK_FILE = f"{OWN}lock"


@contextmanager
def atomic_file(path: AnyPath) -> Generator[Path]:
    """Yield a temporary path next to ``path`` that replaces it atomically when the block ends.

    On any error the temporary file is removed and ``path`` is as it was. A link is followed: the
    file that it points to is replaced. What cannot be written is a :class:`DataFileError`.
    """
    from filelock import FileLock

    target = check_target(path)
    # The suffix stays: writers choose the format by it.
    name = f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(4)}{target.suffix}"
    temporary = target.with_name(name)
    try:
        with ExitStack() as stack:
            present = list(target.parent.iterdir())
            if sys.platform != "win32":  # Locked files cannot be written there.
                for left in (path for path in present if path.name.startswith(TEMPORARY)):
                    _remove_unlocked(left, left)
                stack.enter_context(FileLock(temporary))
            stack.callback(temporary.unlink, missing_ok=True)
            yield temporary
            # The writer may have opened the file by its name: sync that one.
            _sync(temporary)
            temporary.replace(target)
            _sync(target.parent)
    except OSError as error:
        raise unwritable(path, error) from None


def _sync(path: Path) -> None:
    """Make what was written to a file, or to the names in a folder, last through a power cut."""
    if sys.platform == "win32" and path.is_dir():
        return  # Folders cannot be opened there.
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_unlocked(lock: Path, path: Path) -> None:
    """Remove what a killed process has left: a file or folder whose lock nobody holds."""
    from filelock import FileLock, Timeout

    # What other users left cannot be opened, and is theirs.
    with suppress(Timeout, OSError), FileLock(lock, timeout=0):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def check_target(path: AnyPath) -> Path:
    """Return the file that writing to ``path`` replaces; raise where it is not a regular file."""
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target
    except OSError as error:
        raise unwritable(path, error) from None
    if not stat.S_ISREG(mode):
        problem = "must be a regular file to be written to; it is a folder, a pipe or a device."
        raise DataFileError(path, f"{problem} Move it, or give another name.")
    return target


def unwritable(path: AnyPath, error: OSError) -> DataFileError:
    """Return the error of a file that the system did not let us write."""
    reason = os.strerror(error.errno) if error.errno else error
    remedy = "Give the name of a folder that exists, with enough space; nothing was changed."
    return DataFileError(path, f"cannot be written: {reason}. {remedy}")


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are not there yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None


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


@contextmanager
def locked(path: AnyPath, busy: str) -> Generator[None]:
    """Hold a lock file for the length of the block; raise ``busy`` where another process does.

    The file goes when the block ends. A killed process leaves it behind, unlocked: the next one
    takes it over.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise ConfigError(busy) from None
    try:
        yield
    finally:
        with suppress(OSError):
            Path(path).unlink()
        lock.release()


def in_use(path: Path) -> bool:
    """Return whether another process holds a lock file."""
    from filelock import FileLock, Timeout

    if not path.is_file():
        return False
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True


@contextmanager
def scratch_folder(prefix: str, place: Path | None = None) -> Generator[Path]:
    """Yield a new folder that is removed with everything in it when the block ends.

    It lies in ``place``, or where temporary files do. A killed process cannot remove its own: the
    next one that asks for the same prefix does. The lock in each folder, which ends with its
    process, tells which are in use.
    """
    from filelock import FileLock

    place = Path(tempfile.gettempdir()) if place is None else place
    for left in place.glob(f"{prefix}*/.lock"):
        _remove_unlocked(left, left.parent)
    try:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    except OSError as error:
        raise unwritable(place, error) from None
    lock = FileLock(folder / ".lock", thread_local=False)
    lock.acquire()
    try:
        yield folder
    finally:
        lock.release()
        shutil.rmtree(folder, ignore_errors=True)


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
    >>> with tempfile.NamedTemporaryFile(suffix=".npz") as file:
    ...     budget = Budget(file.name)
    >>> budget.spend(1000, "a few rows")
    >>> budget.spend(10**12, "1e12 rows")
    Traceback (most recent call last):
    graphfilter.util.errors.DataFileError: ...: must not ask for more than 134,217,728 bytes of
    memory, being a file of 0; it does: 1e12 rows. If this is intended, set GRAPHFILTER_MAX_BYTES to
    1000000001000 or more.
    """

    def __init__(self, path: AnyPath) -> None:
        self._path = path
        try:
            self._size = Path(path).stat().st_size
        except OSError:
            self._size = 0  # the reader itself says what is wrong with the file
        least = os.environ.get(VARIABLE, "").strip() or str(SMALL_BYTES)
        if not (least.isascii() and least.isdigit()):
            raise ConfigError(f"{VARIABLE} must be a whole number of bytes; got {least[:40]!r}.")
        self.limit = max(int(least), BYTES_PER_BYTE * self._size)
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


# What numpy, zipfile and the decompressors raise on bytes that are not what they claim to be.
PARSE_ERRORS: tuple[type[Exception], ...] = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError,
    ArithmeticError, AttributeError, EOFError, LookupError, RuntimeError, SyntaxError, TypeError,
    ValueError,
)  # fmt: skip


@contextmanager
def reading(
    path: AnyPath, remedy: str, errors: tuple[type[Exception], ...] = ()
) -> Generator[None]:
    """Turn what goes wrong inside into a :class:`DataFileError` that starts with ``path``.

    ``errors`` are the exceptions with which the parser at work says *not my format*.
    """
    try:
        yield
    except DataFileError:
        raise
    except GraphFilterError as error:
        raise DataFileError(path, str(error)) from error
    except FileNotFoundError:
        raise DataFileError(path, f"there is no such file. {remedy}") from None
    except errors as error:
        problem = str(error).strip().split("\n")[0][:200] or type(error).__name__
        raise DataFileError(path, f"cannot be read: {problem}. {remedy}") from error
    except OSError as error:
        raise DataFileError(path, f"cannot be read: {error.strerror or error}. {remedy}") from error
    except MemoryError:
        problem = "its content does not fit in memory"
        raise DataFileError(path, f"{problem}. {remedy}") from None


def load_arrays(
    path: AnyPath, required: Sequence[str], optional: Sequence[str] = (), *, remedy: str
) -> dict[str, NDArray[Any]]:
    """Read these arrays of an npz file; nothing in it can run code.

    Raises
    ------
    DataFileError
        No such file, not an npz file, a required array is missing, or one is damaged or pickled,
        or unpacks to more memory than such a file may ask for.
    """
    with open_archive(path, remedy) as archive:
        names = {name[: -len(".npy")] for name in archive.namelist() if name.endswith(".npy")}
        if missing := [key for key in required if key not in names]:
            held = ", ".join(map(repr, sorted(names)[:12])) or "nothing"
            problem = f"must hold {', '.join(map(repr, missing))}; it holds {held[:200]}"
            raise DataFileError(path, f"{problem}. {remedy}")
        budget = Budget(path)
        wanted = [key for key in (*required, *optional) if key in names]
        return {key: _read_array(archive, key, budget) for key in wanted}


@contextmanager
def open_archive(path: AnyPath, remedy: str) -> Generator[zipfile.ZipFile]:
    """Open a zip file as numpy writes it; what goes wrong inside is an error about ``path``."""
    with reading(path, remedy, PARSE_ERRORS), Path(path).open("rb") as stream:
        if not zipfile.is_zipfile(stream):
            raise DataFileError(path, f"must be an npz file; it is not, or it is cut off. {remedy}")
        stream.seek(0)
        with warnings.catch_warnings(), zipfile.ZipFile(stream) as archive:
            # numpy and zipfile warn on odd headers before they accept or refuse them.
            warnings.simplefilter("ignore")
            yield archive


def open_member(archive: zipfile.ZipFile, key: str) -> IO[bytes]:
    """Open ``key.npy``; reading it gives no more bytes than the archive says it has."""
    info = archive.getinfo(f"{key}.npy")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise GraphError(f"{key!r} must be stored or deflated; it is compressed in another way.")
    return archive.open(info)


def read_array_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether in Fortran order, and type of the array of an ``.npy`` file."""
    from numpy.lib import format

    version = format.read_magic(stream)
    first = version == (1, 0)
    read = format.read_array_header_1_0 if first else format.read_array_header_2_0
    try:
        return read(stream)
    except SystemError:
        # From the tokenizer of Python 3.12, on null bytes.
        raise ValueError("the header of an array is damaged") from None


def _read_array(archive: zipfile.ZipFile, key: str, budget: Budget) -> NDArray[Any]:
    """Read one array, after what it would take has been counted."""
    import numpy as np

    with open_member(archive, key) as member:
        shape, _, dtype = read_array_header(member)
    if dtype.hasobject or dtype.kind not in "biufUS":
        raise GraphError(f"{key!r} must hold numbers or text, no pickles; got {dtype}.")
    if not all(0 <= n < 1 << 48 for n in shape):
        raise GraphError(f"{key!r} must have a shape of whole numbers; got {shape}.")
    # What an entry takes at the peak: converted, sorted, or made a Python string.
    per_entry = {"b": 1, "f": 2 * max(dtype.itemsize, 4), "U": 2 * dtype.itemsize + 64}
    per_entry["S"] = per_entry["U"]
    n_bytes = math.prod(shape) * per_entry.get(dtype.kind, 16)
    budget.spend(n_bytes, f"{key!r} has the shape {shape}")
    with open_member(archive, key) as member:
        array: NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
        if member.read(1):
            raise GraphError(f"{key!r} must be as long as its shape says; it is longer.")
    if array.dtype.kind == "U" and array.size and array.dtype.itemsize:
        signs = np.ascontiguousarray(array).reshape(-1).view(array.dtype.byteorder + "u4")
        if signs.max() > sys.maxunicode:
            # numpy would make text of it that Python can neither show nor read.
            raise GraphError(f"{key!r} must be valid text; got characters outside Unicode.")
    return array


def check_text(names: Iterable[Any], what: str) -> None:
    """Require names that can be written: text without lone surrogates."""
    try:
        "\n".join(name for name in names if isinstance(name, str)).encode()
    except UnicodeEncodeError as error:
        text, at = error.object, error.start
        before = text[max(0, at - 10) : at].rpartition("\n")[2]
        got = repr(before + text[at : error.end + 10].partition("\n")[0])
        raise GraphError(
            f"{what} must be valid text; got {got}, which cannot be written."
        ) from None
