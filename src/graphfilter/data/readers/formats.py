"""The file formats, by suffix: the one place to register a new one.

A graph in one file is read by a function that takes its path (``GRAPHS``). A table, of edges or
of vertices, is read by a module with ``column_names``, ``read`` and ``read_batches`` (``TABLES``).
Each format has its own file in this folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfilter.data.arrays import AnyPath
from graphfilter.data.readers import csv_table, parquet_table
from graphfilter.data.readers.edge_list import read_edge_list
from graphfilter.data.readers.matrix_market import read_matrix_market
from graphfilter.data.readers.networkx_files import read_networkx
from graphfilter.data.readers.npz import read_npz
from graphfilter.errors import DataFileError, GraphError, check_name
from graphfilter.graph import Graph

if TYPE_CHECKING:
    import pyarrow as pa

GRAPHS: dict[str, Callable[..., Graph]] = {
    ".npz": read_npz,
    ".mtx": read_matrix_market,
    ".graphml": read_networkx,
    ".gml": read_networkx,
    ".edges": read_edge_list,
    ".txt": read_edge_list,
}

TABLES: dict[str, Any] = {
    ".csv": csv_table,
    ".csv.gz": csv_table,
    ".tsv": csv_table,
    ".tsv.gz": csv_table,
    ".parquet": parquet_table,
}


def read_graph(path: AnyPath, *, directed: bool = False) -> Graph:
    """Read a graph with the reader that the file's suffix names; ``directed`` keeps directions.

    ``.npz`` (the package's own format), ``.mtx``, ``.graphml``, ``.gml``, ``.edges`` and ``.txt``.
    """
    suffix = Path(path).suffix.lower()
    return GRAPHS[check_name(f"file type for {str(path)!r}:", suffix, GRAPHS)](
        path, directed=directed
    )


def column_names(path: Path) -> list[str]:
    """Read the names of a table's columns, and find out whether it can be read at all."""
    if not path.is_file():
        raise DataFileError(path, "there is no such file. Check the path.")
    with reading_table(path):
        return _format(path).column_names(path)


def read_table(path: Path, names: list[str]) -> pa.Table:
    """Read these columns of a table; those of text files are strings."""
    with reading_table(path):
        return _format(path).read(path, names)


def read_batches(path: Path, names: list[str], header: bool) -> Iterator[pa.RecordBatch]:
    """Read these columns of a table piece by piece."""
    with reading_table(path):
        yield from _format(path).read_batches(path, names, header)


@contextmanager
def reading_table(path: Path) -> Generator[None]:
    """Turn what pyarrow, the system and our checks say about a file into an error that names it."""
    import pyarrow as pa

    try:
        yield
    except GraphError as error:
        raise DataFileError(path, str(error)) from error
    except MemoryError:
        raise DataFileError(path, "what it describes does not fit in memory.") from None
    except (pa.ArrowException, OSError, UnicodeError) as error:
        text = " ".join(str(error).split())[:200]
        row = re.search(r"Row #(\d+): ", text)
        problem = f"cannot be read ({text}). Fix it, or write it again as UTF-8."
        problem = "the file is empty; it must have columns." if "Empty CSV" in text else problem
        raise DataFileError(path, problem, line=int(row[1]) if row else None) from None


def _format(path: Path) -> Any:
    name = path.name.lower()
    found = next((suffix for suffix in TABLES if name.endswith(suffix)), None)
    if found is None:
        raise DataFileError(path, f"a table must be {', '.join(TABLES)}.")
    return TABLES[found]
