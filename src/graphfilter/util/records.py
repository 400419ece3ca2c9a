"""Typed conversion between dataclasses and what JSON holds.

msgspec does the work: it checks and converts a line in one pass in C, and takes plain dataclasses.

A field that is missing takes its default, so files of older versions load; a field that is unknown
is ignored, so files of newer versions load too. A field of a wrong type is an error.

JSON files of ours, written atomically, with a checksum where a changed bit would be harmful.

Files of JSON lines: appended to while they grow, gzipped to be kept.

Rows of numbers on disk: written a block at a time, read where they are asked for.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import re
import stat
import zlib
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphfilter.util.errors import DataFileError, ModelFileError
from graphfilter.util.files import atomic_file, check_target, locked, make_folder, unwritable

T = TypeVar("T")


def convert(kind: type[T], content: Any) -> T:
    """Return content of JSON as ``kind``, a dataclass or a type; TypeError where it is not one.

    A whole number is taken for a float; a truth value is not taken for a number.

    >>> convert(list[float], [1, 2.5])
    [1.0, 2.5]
    >>> convert(dict[str, int], {"seed": True})
    Traceback (most recent call last):
    TypeError: $[...]: Expected `int`, got `bool`
    """
    import msgspec

    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at ")
        raise TypeError(f"{where.strip('`') or '$'}: {problem}") from None


def matches(value: Any, kind: Any) -> bool:
    """Return whether content of JSON is of a type.

    >>> matches([1, 2.5], list[float]), matches([1, None], list[float]), matches(True, int)
    (True, False, False)
    """
    try:
        convert(kind, value)
    except TypeError:
        return False
    return True


def to_plain(value: Any) -> Any:
    """Return what JSON can hold of a value; numbers that are not finite become None.

    >>> to_plain({"a": (np.float32(0.5), float("nan"))})
    {'a': [0.5, None]}
    """
    if isinstance(value, Mapping):
        return {str(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


CHECKSUM = "sha256"
# The largest file of JSON that is read: those of tables with very many columns are a tenth of it.
MOST_BYTES = 512 << 20


def write_json(path: str | os.PathLike[str], content: Any) -> None:
    """Write JSON atomically."""
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    with atomic_file(path) as temporary:
        temporary.write_text(text, "utf-8")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read JSON that we wrote; anything else is a :class:`ModelFileError`."""
    try:
        found = Path(path).stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
            raise ValueError(f"it must be a regular file of at most {MOST_BYTES >> 20} MiB")
        text = Path(path).read_text("utf-8")
        content = json.loads(text, parse_float=_finite, parse_constant=_finite)
        if "\\u" in text:
            # Half a sign, which could not be written again.
            json.dumps(content, ensure_ascii=False).encode()
        return content
    except FileNotFoundError:
        raise ModelFileError(f"{path}: there is no such file.") from None
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{path}: not readable as JSON ({error}). Restore it from a copy, or make it again."
        ) from None


def _finite(number: str) -> float:
    value = float(number)
    if not isfinite(value):
        raise ValueError(f"a number must be finite; got {number[:20]}")
    return value


def write_checked_json(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write a JSON object atomically, with a checksum of its content."""
    write_json(path, {**content, CHECKSUM: checksum_of(content)})


def read_checked_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a JSON object and verify its checksum, where it has one."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise ModelFileError(f"{path}: must hold a JSON object; it does not. Save it again.")
    found = content.pop(CHECKSUM, None)
    if found is not None and found != checksum_of(content):
        raise changed_file(path)
    return content


def changed_file(path: str | os.PathLike[str]) -> ModelFileError:
    """Return the error about a file whose checksum is another."""
    return ModelFileError(
        f"{path}: must be as it was saved; its checksum says that it was changed. "
        "Restore it from a copy, or fit again."
    )


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's bytes."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def checksum_of(content: Any) -> str:
    """Return the SHA-256 of what JSON holds, whatever its spacing and order."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


# A line is a record, of a few thousand characters; a longer one would fill the memory as objects.
MOST_IN_A_LINE = 4 << 20
# A small gzipped file can hold gigabytes: stop unpacking here. Records come to a few megabytes.
MOST_UNPACKED = 32 << 20
# Killed runs leave a broken line each. So many come from something else.
MOST_BROKEN = 10_000
_CHUNK = 1 << 20
_FILLED_LINE = re.compile(rb"[^\n]+")


class LinesFile(Generic[T]):
    """Records in a file of JSON lines, each appended atomically.

    A broken line is left out: its run is simply not there. A last line that was cut when its
    process was killed is removed from the file before the first append.

    Parameters
    ----------
    path : path
        Need not exist yet.
    read, write : callable
        A line to a record (ValueError, TypeError or LookupError where it is none) and back.
    what : str
        What a line must be, for errors.
    """

    def __init__(
        self, path: str | Path, read: Callable[[bytes], T], write: Callable[[T], str], what: str
    ) -> None:
        self.path = Path(path)
        self._write = write
        self.records: list[T] = []
        self.n_cut = 0
        check_target(path)
        if self.path.exists():
            self.records, self.n_cut = read_lines(self.path, read, what)

    def append(self, records: Iterable[T]) -> None:
        """Append the lines of records, in one piece."""
        if self.path.suffix == ".gz":
            raise DataFileError(self.path, "is compressed; unpack it with gunzip first.")
        records = list(records)
        if not self.records:
            make_folder(self.path.parent)
        append_lines(self.path, [self._write(record) for record in records])
        self.records += records


@contextmanager
def one_writer(path: str | Path) -> Generator[None]:
    """Keep other processes from appending to the same file for the length of the block."""
    path = check_target(path)
    make_folder(path.parent)
    busy = f"{path}: another process is writing to it; wait for it, or give another file."
    with locked(path.with_name(f".{path.name}.lock"), busy):
        yield


def _read(path: Path) -> bytes:
    """Return the content of a file, plain or gzipped."""
    try:
        return _unpack(path) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataFileError(path, f"cannot be read: {reason}.") from None


def _unpack(path: Path) -> bytes:
    content = bytearray()
    with gzip.open(path) as stream:
        while chunk := stream.read(_CHUNK):
            content += chunk
            if len(content) > MOST_UNPACKED:
                problem = f"must unpack to at most {MOST_UNPACKED >> 20} MB; it holds more."
                raise DataFileError(path, f"{problem} If that is right, unpack it with gunzip.")
    return bytes(content)


def read_lines(path: Path, read: Callable[[bytes], T], what: str) -> tuple[list[T], int]:
    """Read a file of JSON lines, plain or gzipped; return also how many lines are broken.

    A line that ``read`` refuses (ValueError, TypeError or LookupError) is left out, and so is a
    last line that was cut when its process was killed. Where there are lines and not one is
    ``what`` it must be, the file is not ours: a :class:`DataFileError`.
    """
    content = _read(path)
    found: list[T] = []
    broken = first_broken = 0
    whole = True
    for match in _FILLED_LINE.finditer(content):
        whole = match.end() < len(content)
        try:
            if not whole or match.end() - match.start() > MOST_IN_A_LINE:
                raise ValueError("cut, or too long to be a record")
            found.append(read(match[0]))
        except (ValueError, TypeError, LookupError, RecursionError):
            broken += 1
            if broken == 1:
                first_broken = match.start()
        if broken > MOST_BROKEN:
            problem = f"holds more than {MOST_BROKEN:,} lines that are not {what}."
            raise DataFileError(path, f"{problem} Use a new file.")
    # The first line of a new file may have been cut; anything else at its start is not ours.
    first_was_cut = broken == 1 and content.startswith(b"{", first_broken) and not whole
    if broken and not found and not first_was_cut:
        problem = f"must be {what} of this version of graphfilter; it is not, and was left alone."
        line = content.count(b"\n", 0, first_broken) + 1
        raise DataFileError(path, f"{problem} Use a new file.", line=line)
    return found, broken


def append_lines(path: Path, lines: Iterable[str]) -> None:
    """Append lines and sync them to the disk; on an error the file is as it was.

    What was cut after the last whole line is removed first.
    """
    check_target(path)
    content = "".join(f"{line}\n" for line in lines).encode()
    try:
        with path.open("ab", buffering=0) as stream:
            size = _drop_cut_line(path)
            try:
                _write_all(stream, content)
                os.fsync(stream.fileno())
            except OSError:
                stream.truncate(size)
                raise
    except OSError as error:
        raise unwritable(path, error) from None


def _write_all(stream: Any, content: bytes) -> None:
    """Write every byte: near a limit the system takes a part and says so only by its size."""
    view = memoryview(content)
    while view:
        view = view[stream.write(view) :]


def _drop_cut_line(path: Path) -> int:
    """Remove a last line without its end, so that the next does not join it; return the size."""
    with path.open("r+b") as stream:
        size = stream.seek(0, os.SEEK_END)
        if not size:
            return 0
        stream.seek(-1, os.SEEK_END)
        if stream.read(1) != b"\n":
            stream.seek(0)
            size = stream.read().rfind(b"\n") + 1
            stream.truncate(size)
    return size


def find_lines(folder: Path, name: str) -> Path | None:
    """Find ``name.jsonl``, which still grows, or else ``name.jsonl.gz``, which is packed."""
    for path in (folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz"):
        if path.is_file():
            return path
    return None


def unpack_lines(folder: Path, name: str) -> Path:
    """Make packed lines plain again, unless plain ones are there; return the plain file."""
    plain, packed = folder / f"{name}.jsonl", find_lines(folder, name)
    if packed is not None and packed != plain:
        with atomic_file(plain) as temporary:
            temporary.write_bytes(_whole_lines(packed))
    return plain


def pack_lines(folder: Path, name: str) -> Path:
    """Gzip lines and remove the plain file. The same lines give the same bytes."""
    packed = folder / f"{name}.jsonl.gz"
    content = _whole_lines(find_lines(folder, name) or packed)
    with atomic_file(packed) as temporary:
        temporary.write_bytes(gzip.compress(content, mtime=0))
    (folder / f"{name}.jsonl").unlink(missing_ok=True)
    return packed


def _whole_lines(path: Path) -> bytes:
    content = _read(path)
    return content[: content.rfind(b"\n") + 1]


# Rows that are read at a time where single ones are asked for.
_AT_ONCE = 1 << 15


class RowsFile:
    """A matrix in a file of its own, which is not mapped: only what is asked for is in memory.

    Parameters
    ----------
    path : path
        A file that is made.

    Examples
    --------
    >>> import tempfile
    >>> rows = RowsFile(tempfile.mkdtemp() + "/rows")
    >>> rows.append(np.arange(6.0).reshape(3, 2))
    >>> rows[1:3].tolist(), rows[np.array([2, 0])].tolist(), len(rows)
    ([[2.0, 3.0], [4.0, 5.0]], [[4.0, 5.0], [0.0, 1.0]], 3)
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)
        self._path.touch()
        self._n, self._width = 0, 0

    def __len__(self) -> int:
        return self._n

    def append(self, block: NDArray[np.float64]) -> None:
        """Write rows after those that are there, of the same width."""
        if self._n and block.shape[1] != self._width:
            raise ValueError(f"rows must have {self._width} numbers; got {block.shape[1]}")
        self._width = block.shape[1]
        with self._path.open("ab") as stream:
            np.ascontiguousarray(block, dtype=np.float64).tofile(stream)
        self._n += len(block)

    def __getitem__(self, rows: slice | NDArray[Any]) -> NDArray[np.float64]:
        """Return rows: of a slice without steps, or with these numbers."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self._n)
            return self._read(start, stop)
        made = np.empty((len(rows), self._width))
        order = np.argsort(rows, kind="stable")
        numbers = np.asarray(rows)[order]
        for start in range(0, self._n, _AT_ONCE):
            first, last = np.searchsorted(numbers, [start, start + _AT_ONCE])
            if last > first:
                block = self._read(start, min(start + _AT_ONCE, self._n))
                made[order[first:last]] = block[numbers[first:last] - start]
        return made

    def _read(self, start: int, stop: int) -> NDArray[np.float64]:
        count = max(stop - start, 0) * self._width
        found = np.fromfile(self._path, np.float64, count, offset=8 * start * self._width)
        return found.reshape(-1, self._width)
