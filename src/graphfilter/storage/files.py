"""Files and JSON lines, written atomically."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from graphfilter.errors import DataFileError, ModelFileError

T = TypeVar("T")


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``path`` that takes its place when the block ends well.

    On any error the temporary file is removed and ``path`` is as it was.
    """
    path = Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    try:
        yield Path(name)
        # Made for the owner alone; give it the permissions any new file has.
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def write_json(path: str | os.PathLike[str], content: Any) -> None:
    """Write JSON, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read JSON that we wrote; anything else is a :class:`ModelFileError`."""
    try:
        return json.loads(Path(path).read_text())
    except FileNotFoundError:
        raise ModelFileError(f"{path}: there is no such file.") from None
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: not readable as JSON ({error}).") from None


def whole_lines(path: Path) -> tuple[list[bytes], bytes]:
    """Return the lines of a file, plain or gzipped, and what was cut after the last of them."""
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataFileError(path, f"cannot be read: {reason}.") from None
    *lines, cut = content.split(b"\n")
    return lines, cut


def read_lines(path: Path, read: Callable[[bytes], T], what: str) -> tuple[list[T], int]:
    """Read a file of JSON lines, plain or gzipped; return also how many lines are broken.

    A line that ``read`` refuses (ValueError, TypeError or LookupError) is left out, and so is a
    last line that was cut when its process was killed. Where there are lines and not one is
    ``what`` it must be, the file is not ours: a :class:`DataFileError`.
    """
    lines, cut = whole_lines(path)
    found: list[T] = []
    broken: list[int] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found.append(read(line))
        except (ValueError, TypeError, LookupError, RecursionError):
            broken.append(number)
    if cut.strip():
        broken.append(len(lines) + 1)
    if broken and not found and (broken[0] <= len(lines) or not cut.lstrip().startswith(b"{")):
        problem = f"must be {what} of this version of graphfilter; it is not, and was left alone."
        raise DataFileError(path, f"{problem} Begin a new file.", line=broken[0])
    return found, len(broken)


def append_lines(path: Path, lines: Iterable[str]) -> None:
    """Append lines, in one piece, to the disk; what was cut after the last line goes first."""
    with path.open("ab", buffering=0) as stream:
        if stream.tell():
            _mend(path)
        stream.write("".join(f"{line}\n" for line in lines).encode())
        os.fsync(stream.fileno())


def _mend(path: Path) -> None:
    """Cut off a last line that is not whole, lest the next one be glued to it."""
    with path.open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        if stream.read(1) != b"\n":
            stream.seek(0)
            stream.truncate(stream.read().rfind(b"\n") + 1)
