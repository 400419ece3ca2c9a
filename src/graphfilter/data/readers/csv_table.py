"""CSV and TSV, plain or gzipped, as tables of text."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfilter.data.limits import Budget
from graphfilter.errors import DataFileError

if TYPE_CHECKING:
    import pyarrow as pa

# Ids are looked up block by block in a hash table that is built for each block: large blocks
# are faster, small ones take less memory. A row must fit into a block.
BLOCK_BYTES = 16 << 20
MOST_COLUMNS = 100_000
# A byte of text becomes part of a cell, which has a place to start as well.
_BYTES_PER_BYTE = 2


def column_names(path: Path) -> list[str]:
    """Read the header."""
    from pyarrow import csv

    with _open(path) as stream:
        first_line = stream.read(BLOCK_BYTES).partition(b"\n")[0]
    n_columns = first_line.count(_delimiter(path).encode()) + 1
    if n_columns > MOST_COLUMNS:
        problem = f"a table must have at most {MOST_COLUMNS:,} columns; got {n_columns:,}"
        raise DataFileError(path, f"{problem}. Split it, or make it a .npz file.", line=1)
    with csv.open_csv(_source(path), **_options(path)) as reader:
        return reader.schema.names


def read(path: Path, names: list[str]) -> pa.Table:
    """Read these columns."""
    import pyarrow as pa
    from pyarrow import csv

    try:
        return csv.read_csv(_source(path), **_options(path, names, use_threads=True))
    except pa.ArrowInvalid:
        # One thread alone knows the line of what is wrong.
        return csv.read_csv(_source(path), **_options(path, names))


def read_batches(path: Path, names: list[str], header: bool) -> Iterator[pa.RecordBatch]:
    """Read these columns block by block; without a header they are called f0, f1, ..."""
    from pyarrow import csv

    with csv.open_csv(_source(path), **_options(path, names, header=header)) as reader:
        yield from reader


def _delimiter(path: Path) -> str:
    return "\t" if ".tsv" in path.name.lower() else ","


def _options(
    path: Path, names: list[str] | None = None, *, header: bool = True, use_threads: bool = False
) -> dict[str, Any]:
    """Read these columns, or all, as text: what the text means is decided later, not by Arrow."""
    import pyarrow as pa
    from pyarrow import csv

    reading = csv.ReadOptions(use_threads=use_threads, block_size=BLOCK_BYTES)
    reading.autogenerate_column_names = not header
    types = dict.fromkeys(names or (), pa.string())
    return {
        "read_options": reading,
        "parse_options": csv.ParseOptions(delimiter=_delimiter(path), newlines_in_values=True),
        "convert_options": csv.ConvertOptions(include_columns=names, column_types=types),
    }


def _source(path: Path) -> Any:
    """Return what Arrow reads: a plain file by its path, a packed one counted as it unpacks."""
    return _open(path) if _is_packed(path) else path


def _open(path: Path) -> io.RawIOBase | io.BufferedReader:
    return _Unpacked(path) if _is_packed(path) else path.open("rb")


def _is_packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


class _Unpacked(io.RawIOBase):
    """A gzipped file, read as what it unpacks to, which is counted while it is."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        super().__init__()
        self._stream = pa.CompressedInputStream(pa.OSFile(str(path)), "gzip")
        self._budget = Budget(path)
        self._n_bytes = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(BLOCK_BYTES if size < 0 else size)
        self._n_bytes += len(data)
        self._budget.spend(
            _BYTES_PER_BYTE * len(data), f"it unpacks to {self._n_bytes:,} bytes or more"
        )
        return data

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()
