"""A table with one row per vertex, as CSV or Parquet, written a block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.graph import Graph
from graphfilter.storage import atomic_file

PARQUET = ".parquet"
# Rows of a block, and of a row group of Parquet.
BLOCK_ROWS = 1 << 17

Columns = dict[str, Any]


def write_rows(
    path: str | PathLike[str], graph: Graph, columns: Callable[[slice], Columns]
) -> None:
    """Write the ids of a graph's vertices and more columns, atomically.

    Parameters
    ----------
    path : path
        Parquet where it ends in .parquet, CSV otherwise.
    columns : callable
        Gives the columns, as arrays, of the rows in a slice.
    """
    import pyarrow as pa
    from pyarrow import csv, parquet

    n, names = graph.n_vertices, graph.vertex_names
    writer: Any = None
    with atomic_file(path) as temporary:
        try:
            for start in range(0, n, BLOCK_ROWS):
                rows = slice(start, min(start + BLOCK_ROWS, n))
                ids = range(n)[rows] if names is None else names[rows]
                block = pa.record_batch(
                    {"id": pa.array([str(name) for name in ids], pa.string()), **columns(rows)}
                )
                if writer is None and Path(path).suffix.lower() == PARQUET:
                    writer = parquet.ParquetWriter(temporary, block.schema)
                elif writer is None:
                    writer = csv.CSVWriter(temporary, block.schema)
                writer.write_batch(block)
        finally:
            if writer is not None:
                writer.close()


def text(values: NDArray[Any] | list[str]) -> Any:
    """Return words as an Arrow column of text, whichever they are."""
    import pyarrow as pa

    return pa.array(np.asarray(values, dtype=object), pa.string())
