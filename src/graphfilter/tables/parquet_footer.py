"""What a Parquet file says it holds, read from its footer here.

pyarrow (24) ends the whole process on some damaged footers when it is asked for a column's
metadata, so those are read by this small reader of Thrift's compact protocol instead.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphfilter.errors import DataFileError

_MAGIC = b"PAR1"
_DELTA_ENCODINGS = frozenset((5, 6, 7))
_DELTA_BYTE_ARRAY = 7
_MOST_NESTED = 16
# Thrift's types, as a field's header gives them.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)


@dataclass(frozen=True)
class Chunk:
    """A column of one group of rows, as the footer describes it."""

    name: str
    n_values: int
    n_bytes: int
    is_delta: bool
    shares_prefixes: bool


def read_chunks(path: Path) -> list[Chunk]:
    """List the column chunks of a file.

    Raises
    ------
    DataFileError
        The file is no Parquet file, or its footer is damaged.
    """
    with path.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(0, size - 8))
        end = stream.read()
        length = int.from_bytes(end[:4], "little")
        if len(end) < 8 or end[4:] != _MAGIC or length > size - 8:
            raise _damaged(path)
        stream.seek(size - 8 - length)
        footer = stream.read(length)
    try:
        groups = _Thrift(footer).struct().get(4, [])
        return [_chunk(column) for group in groups for column in group[1]]
    except (LookupError, TypeError, ValueError, AttributeError, struct.error):
        raise _damaged(path) from None


def _chunk(column: dict[int, Any]) -> Chunk:
    about = column[3]
    encodings = set(about[2])
    return Chunk(
        name=about[3][0].decode("utf-8", "replace"),
        n_values=max(int(about[5]), 0),
        n_bytes=max(int(about[6]), 0),
        is_delta=bool(encodings & _DELTA_ENCODINGS),
        shares_prefixes=_DELTA_BYTE_ARRAY in encodings,
    )


def _damaged(path: Path) -> DataFileError:
    problem = "cannot be read: it is no Parquet file, or its footer is damaged"
    return DataFileError(path, f"{problem}. Write it again.")


class _Thrift:
    """Thrift's compact protocol: a struct is a dict by field number, a list is a list."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        return dict(self._fields(depth))

    def _fields(self, depth: int) -> Iterator[tuple[int, Any]]:
        if depth > _MOST_NESTED:
            raise ValueError("nested too deeply")
        number = 0
        while header := self._byte():
            step = header >> 4
            number = number + step if step else self._integer()
            yield number, self._value(header & 15, depth, in_list=False)

    def _value(self, kind: int, depth: int, *, in_list: bool) -> Any:
        if kind in (_TRUE, _FALSE):
            return self._byte() == _TRUE if in_list else kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind in _INTEGERS:
            return self._integer()
        if kind == _DOUBLE:
            return struct.unpack("<d", self._take(8))[0]
        if kind == _BINARY:
            return self._take(self._varint())
        if kind in (_LIST, _SET):
            header = self._byte()
            n = header >> 4 if header >> 4 < 15 else self._varint()
            if n > len(self._data):
                raise ValueError("more entries than bytes")
            return [self._value(header & 15, depth + 1, in_list=True) for _ in range(n)]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ValueError(f"type {kind}")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _take(self, n: int) -> bytes:
        if n > len(self._data) - self._at:
            raise ValueError("cut off")
        self._at += n
        return self._data[self._at - n : self._at]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("a number of more than 64 bits")

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
