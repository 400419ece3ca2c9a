"""Parquet, as tables of whatever types it holds.

What a file says it holds is read from its footer here: pyarrow (24) ends the whole process on some
damaged footers when it is asked for a column's metadata, so those are read by a small reader of
Thrift's compact protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from graphfilter.tables.cells import without_views
from graphfilter.tables.source import Part, TableSource, check_width, counted, opened, reading_table
from graphfilter.tables.text_files import TextOptions
from graphfilter.util.arrow import pa, parquet, pc
from graphfilter.util.errors import DataFileError
from graphfilter.util.files import Budget

_BATCH_ROWS = 1 << 20
_BYTES_PER_CELL = 16
# In a file smaller than this, repeated words are not written out before they are counted. In a
# larger one that is no danger any more, and takes three times as long.
_SMALL_FILE = 16 << 20


class ParquetTable(TableSource):
    """A Parquet file."""

    in_pieces = True

    def __init__(
        self, path: Path | Part, options: TextOptions, batch_rows: int = _BATCH_ROWS
    ) -> None:
        super().__init__(path)
        self._path, self._batch_rows = path, batch_rows

    @cached_property
    def names(self) -> list[str]:
        with reading_table(self._path):
            names = parquet.read_schema(opened(self._path)).names
        check_width(self._path, len(names))
        return names

    def count_rows(self) -> tuple[int, int]:
        with reading_table(self._path):
            metadata = parquet.read_metadata(opened(self._path))
        return metadata.num_rows, 8 * max(1, metadata.num_columns)

    def read(self, names: list[str]) -> pa.Table:
        with reading_table(self._path):
            file, rows, budget = _open(self._path, names, self._batch_rows)
            if rows == self._batch_rows:
                return _plain(file.read(columns=names), budget)
            return pa.Table.from_batches(list(_batches(file, names, rows, budget)))

    def read_batches(self, names: list[str], header: bool) -> Iterator[pa.RecordBatch]:
        with reading_table(self._path):
            file, rows, budget = _open(self._path, names, self._batch_rows)
            yield from counted(_batches(file, names, rows, budget), self._path)


def _batches(file: Any, names: list[str], rows: int, budget: Budget) -> Iterator[pa.RecordBatch]:
    for batch in file.iter_batches(columns=names, batch_size=rows):
        yield from _plain(pa.Table.from_batches([batch]), budget).to_batches()


def _open(
    path: Path | Part, names: list[str], batch_rows: int = _BATCH_ROWS
) -> tuple[Any, int, Budget]:
    """Open a file after what it says it holds has been counted; return also rows per batch."""
    budget, chunks, asked = Budget(path), read_chunks(path), set(names)
    chosen = [chunk for chunk in chunks if chunk.name in asked]
    n_values, n_bytes = (sum(c.n_values for c in chosen), sum(c.n_bytes for c in chosen))
    what = f"{n_values:,} values, {n_bytes:,} bytes unpacked"
    budget.spend(2 * n_bytes + _BYTES_PER_CELL * n_values, what)
    # What is read ahead would be kept until the end: of a long table, all of it.
    stream = opened(path)
    file = parquet.ParquetFile(stream, pre_buffer=False)
    n_rows = max(0, file.metadata.num_rows)
    budget.spend(_BYTES_PER_CELL * n_rows, f"it declares {n_rows:,} rows")
    if stream.size() < _SMALL_FILE:
        # Arrow cannot leave words of the DELTA encodings as they are.
        delta = {chunk.name for chunk in chunks if chunk.is_delta}
        words = [f.name for f in file.schema_arrow if _is_text(f.type) and f.name not in delta]
        file = parquet.ParquetFile(stream, read_dictionary=words, pre_buffer=False)
    # Few rows at a time where each may repeat most of a long word before it.
    shared = [chunk.n_bytes for chunk in chosen if chunk.shares_prefixes]
    most = budget.limit // (4 * max(shared)) if shared and max(shared) else batch_rows
    return file, max(16, min(most, batch_rows)), Budget(path)


def _in_known_zone(column: Any) -> Any:
    """Return times in a zone that this system does not know as those of UTC, as they are stored."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        try:
            pa.array([0], kind).cast(pa.string())
        except pa.ArrowInvalid:
            return column.cast(pa.timestamp(kind.unit))
    return column


def _plain(table: pa.Table, budget: Budget) -> pa.Table:
    """Check what was read, text for being UTF-8 too, and write out repeated words."""
    table.validate(full=True)
    plain: list[Any] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        column = without_views(_in_known_zone(column))
        kind = column.type
        if not pa.types.is_dictionary(kind):
            n_bytes = column.nbytes
        elif _is_text(kind.value_type):
            n_bytes = sum(_text_bytes(chunk) for chunk in column.chunks)
        else:
            n_bytes = kind.value_type.bit_width * len(column) // 8
        budget.spend(n_bytes, f"column {name!r} takes {n_bytes:,} bytes or more")
        plain.append(column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column)
    return pa.table(plain, names=table.column_names)


def _text_bytes(chunk: Any) -> int:
    """Count the bytes of the words that a dictionary-encoded array repeats."""
    return pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0


def _is_text(kind: Any) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


_MAGIC = b"PAR1"
_DELTA_ENCODINGS = frozenset((5, 6, 7))
_DELTA_BYTE_ARRAY = 7
_MOST_NESTED = 16
# Thrift's types, as a field's header gives them.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)


class Chunk(NamedTuple):
    """A column of one group of rows, as the footer describes it."""

    name: str
    n_values: int
    n_bytes: int
    is_delta: bool
    shares_prefixes: bool


def read_chunks(path: Path | Part) -> list[Chunk]:
    """List the column chunks of a file.

    Raises
    ------
    DataFileError
        The file is no Parquet file, or its footer is damaged.
    """
    with opened(path) as stream:
        size = stream.size()
        stream.seek(max(0, size - 8))
        end = stream.read()
        length = int.from_bytes(end[:4], "little")
        if len(end) < 8 or end[4:] != _MAGIC or length > size - 8:
            raise _damaged(path)
        stream.seek(size - 8 - length)
        footer = stream.read(length)
    try:
        groups = _read_thrift(BytesIO(footer)).get(4, [])
        return [_chunk(column) for group in groups for column in group[1]]
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
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


def _damaged(path: Path | Part) -> DataFileError:
    problem = "cannot be read: it is no Parquet file, or its footer is damaged"
    return DataFileError(path, f"{problem}. Write it again.")


def _read_thrift(stream: BytesIO, kind: int = _STRUCT, depth: int = 0, *, held: bool = True) -> Any:
    """Read a value of Thrift's compact protocol: a struct is a dict by field number.

    A truth value that is not ``held`` stands in the type alone.
    """

    def byte() -> int:
        return stream.read(1)[0]

    def varint() -> int:
        value = 0
        for shift in range(0, 64, 7):
            one = byte()
            value |= (one & 127) << shift
            if one < 128:
                return value
        raise ValueError("a number of more than 64 bits")

    def integer() -> int:
        value = varint()
        return (value >> 1) ^ -(value & 1)

    if kind in (_TRUE, _FALSE):
        return byte() == _TRUE if held else kind == _TRUE
    if kind in (_BYTE, *_INTEGERS):
        return byte() if kind == _BYTE else integer()
    if kind in (_DOUBLE, _BINARY):
        n = 8 if kind == _DOUBLE else varint()
        if len(content := stream.read(n)) < n:
            raise ValueError("cut off")
        return content
    if depth > _MOST_NESTED or kind not in (_LIST, _SET, _STRUCT):
        raise ValueError(f"type {kind}, or nested too deeply")
    if kind == _STRUCT:
        fields, number = dict[int, Any](), 0
        while header := byte():
            number = number + (header >> 4) if header >> 4 else integer()
            fields[number] = _read_thrift(stream, header & 15, depth + 1, held=False)
        return fields
    header = byte()
    n = header >> 4 if header >> 4 < 15 else varint()
    if n > stream.getbuffer().nbytes:
        raise ValueError("more entries than bytes")
    return [_read_thrift(stream, header & 15, depth + 1) for _ in range(n)]
