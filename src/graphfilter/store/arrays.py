"""Arrays in files: written piece by piece with a checksum, mapped into memory when read."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import DataFileError
from graphfilter.runtime import blocks
from graphfilter.storage import atomic_file

TYPES = ("<i4", "<i8", "<f4", "|u1")
_PIECE_BYTES = 16 << 20


@dataclass(frozen=True)
class StoredArray:
    """One file of numbers in C order, little-endian, without a header of its own."""

    file: str = ""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    sha256: str = ""

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


class ArrayWriter:
    """Appends blocks of rows to a file; ``result`` describes it when all are written."""

    def __init__(self, path: Path, temporary: Path, dtype: str, row: tuple[int, ...]) -> None:
        self._name, self._dtype, self._row = path.name, np.dtype(dtype), row
        self._stream = temporary.open("wb")
        self._digest = hashlib.sha256()
        self.n_rows = 0

    def append(self, block: NDArray[Any]) -> None:
        """Write rows, converted to the type of the file."""
        rows = np.ascontiguousarray(block, dtype=self._dtype)
        assert rows.shape[1:] == self._row
        content = rows.reshape(-1).view(np.uint8).data
        self._stream.write(content)
        self._digest.update(content)
        self.n_rows += len(rows)

    def close(self) -> None:
        self._stream.close()

    @property
    def result(self) -> StoredArray:
        shape = (self.n_rows, *self._row)
        return StoredArray(self._name, self._dtype.str, shape, self._digest.hexdigest())


@contextmanager
def writing_array(path: Path, dtype: Any, row: tuple[int, ...] = ()) -> Generator[ArrayWriter]:
    """Yield a writer; the file is there, whole, when the block ends."""
    with atomic_file(path) as temporary:
        writer = ArrayWriter(path, temporary, np.dtype(dtype).newbyteorder("<").str, row)
        try:
            yield writer
        finally:
            writer.close()


def write_array(path: Path, array: NDArray[Any], dtype: Any = None) -> StoredArray:
    """Write a whole array, a piece at a time: one that is mapped is never all in memory."""
    with writing_array(path, dtype or array.dtype, array.shape[1:]) as writer:
        bytes_per_row = max(1, array.nbytes // max(1, len(array)))
        for rows in blocks(len(array), _PIECE_BYTES // bytes_per_row):
            writer.append(array[rows])
    return writer.result


def map_array(folder: Path, stored: StoredArray) -> NDArray[Any]:
    """Map a file into memory, read-only; what the header says of it must be true of the file."""
    path = folder / stored.file
    if Path(stored.file).name != stored.file or stored.dtype not in TYPES:
        raise DataFileError(folder, f"its header names an array that cannot be: {stored.file!r}.")
    if len(stored.shape) not in (1, 2) or min(stored.shape) < 0:
        raise DataFileError(path, f"must have a shape of one or two sizes; got {stored.shape}.")
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if found.st_size != stored.n_bytes:
                problem = f"must have {stored.n_bytes:,} bytes, as the header says"
                raise DataFileError(path, f"{problem}; got {found.st_size:,}. {_DAMAGED}")
            if not found.st_size:
                return np.empty(stored.shape, dtype=stored.dtype)
            mapped: Any = MappedFile(file, dtype=stored.dtype, mode="r", shape=stored.shape)
    except OSError as error:
        raise DataFileError(path, f"cannot be read: {error.strerror}. {_DAMAGED}") from None
    mapped.status = found
    # Behind a view: what is made of it is then an array like any other.
    return mapped.view(np.ndarray)


class MappedFile(np.memmap[Any, Any]):
    """A mapped file that knows which one it is, should another take its name."""

    status: os.stat_result | None = None

    @property
    def is_current(self) -> bool:
        """Whether the file of this name is still the one that is mapped."""
        if self.status is None or self.filename is None:
            return False
        try:
            return os.path.samestat(Path(self.filename).stat(), self.status)
        except OSError:
            return False


def mapped_file(array: Any) -> MappedFile | None:
    """Return the mapped file that an array is a view of; None where there is none."""
    while isinstance(array, np.ndarray):
        if isinstance(array, MappedFile) and array.status is not None:
            return array
        array = array.base
    return None


def verify_array(folder: Path, stored: StoredArray) -> None:
    """Compare the file with its checksum."""
    digest = hashlib.sha256()
    with (folder / stored.file).open("rb") as stream:
        while piece := stream.read(_PIECE_BYTES):
            digest.update(piece)
    if digest.hexdigest() != stored.sha256:
        problem = "must be as it was written; its checksum says that it was changed"
        raise DataFileError(folder / stored.file, f"{problem}. {_DAMAGED}")


_DAMAGED = "Restore it from a copy, or build the store again."
