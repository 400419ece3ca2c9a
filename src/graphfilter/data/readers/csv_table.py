"""CSV and TSV, plain or gzipped, as tables of text."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
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
_CHUNK_BYTES = 1 << 20


def column_names(path: Path) -> list[str]:
    """Read the header, after what the file unpacks to has been counted."""
    from pyarrow import csv

    _check_unpacked(path)
    with _open(path) as stream:
        first_line = stream.read(BLOCK_BYTES).partition(b"\n")[0]
    n_columns = first_line.count(_delimiter(path).encode()) + 1
    if n_columns > MOST_COLUMNS:
        problem = f"a table must have at most {MOST_COLUMNS:,} columns; got {n_columns:,}"
        raise DataFileError(path, f"{problem}. Split it, or make it a .npz file.", line=1)
    with csv.open_csv(path, **_options(path)) as reader:
        return reader.schema.names


def read(path: Path, names: list[str]) -> pa.Table:
    """Read these columns."""
    import pyarrow as pa
    from pyarrow import csv

    try:
        return csv.read_csv(path, **_options(path, names, use_threads=True))
    except pa.ArrowInvalid:
        # One thread alone knows the line of what is wrong.
        return csv.read_csv(path, **_options(path, names))


def read_batches(path: Path, names: list[str], header: bool) -> Iterator[pa.RecordBatch]:
    """Read these columns block by block; without a header they are called f0, f1, ..."""
    from pyarrow import csv

    with csv.open_csv(path, **_options(path, names, header=header)) as reader:
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


@contextmanager
def _open(path: Path) -> Generator[Any]:
    """Open a file as what it unpacks to."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as file:
        if not path.name.lower().endswith(".gz"):
            yield file
            return
        with pa.CompressedInputStream(file, "gzip") as stream:
            yield stream


def _check_unpacked(path: Path) -> None:
    """Unpack a packed file once, keeping nothing, to count what it holds.

    Counting while Arrow parses would call Python from Arrow's threads, which may then never end.
    """
    if not path.name.lower().endswith(".gz"):
        return
    budget, n_bytes = Budget(path), 0
    with _open(path) as stream:
        while n := len(stream.read(_CHUNK_BYTES)):
            n_bytes += n
            budget.spend(_BYTES_PER_BYTE * n, f"it unpacks to {n_bytes:,} bytes or more")
