"""Files of JSON lines: appended to while they grow, gzipped to be kept."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from graphfilter.util.errors import DataFileError
from graphfilter.util.files import atomic_file, check_target, locked, make_folder, unwritable

T = TypeVar("T")

# A line is a record, of a few thousand characters; a longer one would fill the memory as objects.
MOST_IN_A_LINE = 4 << 20
# A small gzipped file can hold gigabytes: stop unpacking here. Records come to a few megabytes.
MOST_UNPACKED = 32 << 20
# Killed runs leave a broken line each. So many come from something else.
MOST_BROKEN = 10_000
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
        if path.suffix != ".gz":
            return path.read_bytes()
        with gzip.open(path) as stream:
            content = stream.read(MOST_UNPACKED + 1)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataFileError(path, f"cannot be read: {reason}.") from None
    if len(content) > MOST_UNPACKED:
        problem = f"must unpack to at most {MOST_UNPACKED >> 20} MB; it holds more."
        raise DataFileError(path, f"{problem} If that is right, unpack it with gunzip.")
    return content


def read_lines(path: Path, read: Callable[[bytes], T], what: str) -> tuple[list[T], int]:
    """Read a file of JSON lines, plain or gzipped; return also how many lines are broken.

    A line that ``read`` refuses (ValueError, TypeError or LookupError) is left out, and so is a
    last line that was cut when its process was killed. Where there are lines and not one is
    ``what`` it must be, the file is not ours: a :class:`DataFileError`.
    """
    content = _read(path)
    records: list[T] = []
    broken = first_broken = 0
    whole = True
    for match in _FILLED_LINE.finditer(content):
        whole = match.end() < len(content)
        try:
            if not whole or match.end() - match.start() > MOST_IN_A_LINE:
                raise ValueError("cut, or too long to be a record")
            records.append(read(match[0]))
        except (ValueError, TypeError, LookupError, RecursionError):
            broken += 1
            if broken == 1:
                first_broken = match.start()
        if broken > MOST_BROKEN:
            problem = f"holds more than {MOST_BROKEN:,} lines that are not {what}."
            raise DataFileError(path, f"{problem} Use a new file.")
    # The first line of a new file may have been cut; anything else at its start is not ours.
    first_was_cut = broken == 1 and content.startswith(b"{", first_broken) and not whole
    if broken and not records and not first_was_cut:
        problem = f"must be {what} of this version of graphfilter; it is not, and was left alone."
        line = content.count(b"\n", 0, first_broken) + 1
        raise DataFileError(path, f"{problem} Use a new file.", line=line)
    return records, broken


def append_lines(path: Path, lines: Iterable[str]) -> None:
    """Append lines and sync them to the disk; on an error the file is as it was.

    What was cut after the last whole line is removed first.
    """
    check_target(path)
    left = memoryview("".join(f"{line}\n" for line in lines).encode())
    try:
        path.touch()
        with path.open("r+b", buffering=0) as stream:
            size = stream.seek(0, os.SEEK_END)
            if size:
                stream.seek(-1, os.SEEK_END)
                if stream.read(1) != b"\n":
                    stream.seek(0)
                    size = stream.readall().rfind(b"\n") + 1
                    stream.truncate(size)
            stream.seek(size)
            try:
                while left:  # Near a limit the system takes a part, and says so by its size only.
                    left = left[stream.write(left) :]
                os.fsync(stream.fileno())
            except OSError:
                stream.truncate(size)
                raise
    except OSError as error:
        raise unwritable(path, error) from None


def find_lines(folder: Path, name: str) -> Path | None:
    """Find ``name.jsonl``, which still grows, or else ``name.jsonl.gz``, which is packed."""
    paths = (folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz")
    return next((path for path in paths if path.is_file()), None)


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
