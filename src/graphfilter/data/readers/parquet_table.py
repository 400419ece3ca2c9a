"""Parquet, as tables of whatever types it holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfilter.data.limits import Budget

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 1 << 20
_BYTES_PER_CELL = 16
# In a file smaller than this, repeated words are not written out before they are counted. In a
# larger one that is no danger any more, and takes three times as long.
_SMALL_FILE = 16 << 20


def column_names(path: Path) -> list[str]:
    """Read the names of the columns."""
    from pyarrow import parquet

    return parquet.read_schema(path).names


def read(path: Path, names: list[str]) -> pa.Table:
    """Read these columns."""
    import pyarrow as pa

    file, budget = _open(path, names), Budget(path)
    if (rows := _batch_rows(file, budget)) == _BATCH_ROWS:
        return _plain(file.read(columns=names), budget)
    return pa.Table.from_batches(_batches(file, names, rows, budget))


def read_batches(path: Path, names: list[str], header: bool) -> Iterator[pa.RecordBatch]:
    """Read these columns, some rows at a time; there is always a header."""
    file, budget = _open(path, names), Budget(path)
    yield from _batches(file, names, _batch_rows(file, budget), budget)


def _batches(file: Any, names: list[str], rows: int, budget: Budget) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in file.iter_batches(columns=names, batch_size=rows):
        yield from _plain(pa.Table.from_batches([batch]), budget).to_batches()


def _open(path: Path, names: list[str]) -> Any:
    """Open a file after what it says it holds has been counted."""
    from pyarrow import parquet

    file = parquet.ParquetFile(path)
    chosen = [c for c in _chunks(file) if c.path_in_schema.partition(".")[0] in names]
    n_rows, n_values = file.metadata.num_rows, sum(chunk.num_values for chunk in chosen)
    n_bytes = sum(chunk.total_uncompressed_size for chunk in chosen)
    what = f"{n_rows:,} rows of {len(names)} columns, {n_bytes:,} bytes unpacked"
    Budget(path).spend(2 * n_bytes + _BYTES_PER_CELL * max(n_rows, n_values), what)
    if path.stat().st_size >= _SMALL_FILE:
        return file
    delta = {chunk.path_in_schema for chunk in _chunks(file) if _is_delta(chunk)}
    words = [f.name for f in file.schema_arrow if _is_text(f.type) and f.name not in delta]
    return parquet.ParquetFile(path, read_dictionary=words)


def _chunks(file: Any) -> Iterator[Any]:
    for i in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(i)
        yield from (group.column(j) for j in range(group.num_columns))


def _is_delta(chunk: Any) -> bool:
    """Return whether a word may be written as the number of letters it shares with the last."""
    return "DELTA_BYTE_ARRAY" in chunk.encodings


def _batch_rows(file: Any, budget: Budget) -> int:
    """Take few rows at a time where each may repeat most of a long word before it."""
    rows = _BATCH_ROWS
    for chunk in filter(_is_delta, _chunks(file)):
        rows = min(rows, budget.limit // (4 * max(chunk.total_uncompressed_size, 1)))
    return max(rows, 16)


def _plain(table: pa.Table, budget: Budget) -> pa.Table:
    """Check what was read, text for being UTF-8 too, and write out repeated words."""
    import pyarrow as pa

    table.validate(full=True)
    for i, column in enumerate(table.columns):
        name, kind = table.column_names[i], column.type
        if not pa.types.is_dictionary(kind):
            n_bytes = column.nbytes
        elif _is_text(kind.value_type):
            n_bytes = sum(_text_bytes(chunk) for chunk in column.chunks)
        else:
            n_bytes = kind.value_type.bit_width * len(column) // 8
        budget.spend(n_bytes, f"column {name!r} takes {n_bytes:,} bytes or more")
        if pa.types.is_dictionary(kind):
            table = table.set_column(i, name, column.cast(kind.value_type))
    return table


def _text_bytes(chunk: Any) -> int:
    """Count the bytes of the words that a dictionary-encoded array repeats."""
    import pyarrow.compute as pc

    lengths = pc.call_function("binary_length", [chunk.dictionary])
    return pc.call_function("sum", [lengths.take(chunk.indices)]).as_py() or 0


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
