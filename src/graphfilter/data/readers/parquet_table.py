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
    budget = Budget(path)
    return _plain(_open(path, names, budget).read(columns=names), budget)


def read_batches(path: Path, names: list[str], header: bool) -> Iterator[pa.RecordBatch]:
    """Read these columns, some rows at a time; there is always a header."""
    import pyarrow as pa

    budget = Budget(path)
    file = _open(path, names, budget)
    for batch in file.iter_batches(columns=names, batch_size=_batch_rows(file, budget)):
        yield from _plain(pa.Table.from_batches([batch]), budget).to_batches()


def _open(path: Path, names: list[str], budget: Budget) -> Any:
    """Open a file after what it says it holds has been counted."""
    import pyarrow as pa
    from pyarrow import parquet

    file = parquet.ParquetFile(path)
    for _, chunk in _chunks(file):
        if chunk.path_in_schema.partition(".")[0] in names:
            n_values, n_bytes = max(chunk.num_values, 0), max(chunk.total_uncompressed_size, 0)
            what = f"{n_values:,} values or more in {chunk.path_in_schema!r}"
            budget.spend(2 * n_bytes + _BYTES_PER_CELL * n_values, what)
    n_rows = max(file.metadata.num_rows, 0)
    budget.spend(_BYTES_PER_CELL * n_rows, f"it says it has {n_rows:,} rows")
    if path.stat().st_size >= _SMALL_FILE:
        return file
    is_text = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    words = [field.name for field in file.schema_arrow if field.type in is_text]
    return parquet.ParquetFile(path, read_dictionary=words)


def _chunks(file: Any) -> Iterator[tuple[int, Any]]:
    for i in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(i)
        for j in range(group.num_columns):
            yield group.num_rows, group.column(j)


def _batch_rows(file: Any, budget: Budget) -> int:
    """Take few rows at a time where each may repeat most of a long word before it."""
    rows = _BATCH_ROWS
    for _, chunk in _chunks(file):
        if "DELTA_BYTE_ARRAY" in chunk.encodings:
            rows = min(rows, budget.limit // (4 * max(chunk.total_uncompressed_size, 1)))
    return max(rows, 16)


def _plain(table: pa.Table, budget: Budget) -> pa.Table:
    """Check what was read, text for being UTF-8 too, and write out repeated words."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table.validate(full=True)
    for i, column in enumerate(table.columns):
        if not pa.types.is_dictionary(column.type):
            continue
        kind = column.type.value_type
        for chunk in column.chunks if pa.types.is_binary(kind) or _is_text(kind) else ():
            lengths = pc.call_function("binary_length", [chunk.dictionary])
            n_bytes = pc.call_function("sum", [lengths.take(chunk.indices)]).as_py() or 0
            what = f"column {table.column_names[i]!r} is {n_bytes:,} bytes of text or more"
            budget.spend(n_bytes, what)
        table = table.set_column(i, table.column_names[i], column.cast(kind))
    return table


def _is_text(kind: Any) -> bool:
    import pyarrow.types as is_type

    return is_type.is_string(kind) or is_type.is_large_string(kind)
