"""Tables with one row per vertex: predictions written and read again, and embeddings.

As CSV or Parquet, a block of rows at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.training import Task
from graphfilter.util.errors import ConfigError
from graphfilter.util.files import atomic_file, check_file
from graphfilter.util.machine import blocks

if TYPE_CHECKING:
    import pyarrow as pa

PREDICTIONS_FILE = "predictions.csv"
PARQUET = ".parquet"
# Rows of a block, and of a row group of Parquet.
BLOCK_ROWS = 1 << 17
# A cell that begins with one of these is run as a formula, however it came into the sheet.
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")

Columns = dict[str, Any]


def id_blocks(
    graph: Graph, at_once: int = BLOCK_ROWS, order: NDArray[np.int64] | None = None
) -> Iterator[tuple[Any, list[str]]]:
    """Yield rows and the ids of their vertices, in order; numbers where the graph has no names."""
    n = graph.n_vertices
    names = range(n) if graph.vertex_names is None else graph.vertex_names
    for rows in blocks(n, at_once):
        some = rows if order is None else order[rows]
        ids = names[rows] if order is None else [names[i] for i in order[rows].tolist()]
        yield some, [str(name) for name in ids]


def write_rows(
    path: str | PathLike[str],
    graph: Graph,
    columns: Callable[[Any], Columns],
    *,
    excel_safe: bool = False,
    at_once: int = BLOCK_ROWS,
    order: NDArray[np.int64] | None = None,
) -> None:
    """Write the ids of a graph's vertices and more columns, atomically.

    Parameters
    ----------
    path : path
        Parquet where it ends in .parquet, CSV otherwise.
    columns : callable
        Gives the columns, as arrays, of the rows in a slice, or in an array of ``order``.
    excel_safe : bool
        Whether text of a CSV is written so that no spreadsheet runs it; see :func:`excel_text`.
    """
    import pyarrow as pa
    from pyarrow import csv, parquet

    writer: Any = None
    is_parquet = Path(path).suffix.lower() == PARQUET
    with atomic_file(path) as temporary:
        try:
            for rows, ids in id_blocks(graph, at_once, order):
                block = pa.record_batch({"id": pa.array(ids, pa.string()), **columns(rows)})
                if excel_safe and not is_parquet:
                    block = _excel_block(block)
                if writer is None and is_parquet:
                    writer = parquet.ParquetWriter(temporary, block.schema)
                elif writer is None:
                    writer = csv.CSVWriter(temporary, block.schema)
                writer.write_batch(block)
        finally:
            if writer is not None:
                writer.close()


def write_predictions(
    path: str | PathLike[str],
    graph: Graph,
    task: Task,
    names: list[str],
    outputs: Callable[[Any], NDArray[np.float64]],
    answers: NDArray[Any],
    parts: NDArray[np.str_],
    sets: Callable[[Any], Mapping[str, NDArray[Any]]] | None = None,
    *,
    excel_safe: bool = False,
    at_once: int = BLOCK_ROWS,
    order: NDArray[np.int64] | None = None,
) -> None:
    """Write predictions per vertex, atomically: what the task says, sets or intervals, the part.

    ``outputs`` and ``sets`` give those of the rows in a slice, or in an array of ``order``.
    """

    def columns(rows: Any) -> Columns:
        said: Columns = dict(task.columns(outputs(rows), answers[rows], names))
        said |= {} if sets is None else sets(rows)
        said["part"] = parts[rows].astype(object)
        return {
            # Words as text, whichever they are.
            name: pa.array(values, pa.string()) if values.dtype == object else values
            for name, values in said.items()
        }

    import pyarrow as pa

    write_rows(path, graph, columns, excel_safe=excel_safe, at_once=at_once, order=order)


def check_embeddings_file(path: Path, *, overwrite: bool) -> None:
    """Check before any work that a table can be written there."""
    if path.suffix not in (PARQUET, ".csv"):
        raise ConfigError(f"{path}: `embeddings` must end in .parquet or .csv.")
    check_file(path, overwrite=overwrite)


def write_embeddings(
    path: Path,
    graph: Graph,
    embedding: NDArray[np.float32],
    *,
    excel_safe: bool = False,
    at_once: int = BLOCK_ROWS,
) -> None:
    """Write per vertex: id and the numbers e0, e1, ... of its embedding, atomically."""

    def columns(rows: slice) -> Columns:
        return {f"e{i}": embedding[rows, i].copy() for i in range(embedding.shape[1])}

    write_rows(path, graph, columns, excel_safe=excel_safe, at_once=at_once)


def excel_text(text: str) -> str:
    """Return text that a spreadsheet shows as it is: an apostrophe before what begins a formula.

    >>> excel_text("=1+1"), excel_text("-5"), excel_text("a=b")
    ("'=1+1", "'-5", 'a=b')
    """
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text


def _excel_block(block: pa.RecordBatch) -> pa.RecordBatch:
    import pyarrow as pa
    import pyarrow.compute as pc

    options = pc.ReplaceSubstringOptions(f"^([{re.escape(''.join(FORMULA_SIGNS))}])", r"'\1")
    columns: list[Any] = [
        pc.call_function("replace_substring_regex", [column], options)
        if pa.types.is_string(column.type)
        else column
        for column in block.columns
    ]
    return pa.record_batch(columns, names=[excel_text(name) for name in block.schema.names])


# The part of a vertex whose id is not in the run, and of all if its predictions are gone.
NEW, UNKNOWN = "new", "unknown"


def parts_in_run(folder: str | Path, graph: Graph) -> NDArray[np.str_]:
    """Return what each vertex was in a run: train, val, test, unlabelled, unused, or new.

    Vertices are recognised by their ids; those of a graph without names are their numbers. Where
    the ``predictions.csv`` of the run was removed or edited since, all are unknown.
    """
    import pyarrow as pa
    from pyarrow import compute as pc

    if (table := read_parts(folder)) is None:
        return np.full(graph.n_vertices, UNKNOWN, dtype="<U10")
    fitted, parts = table
    words = np.array([*parts.dictionary.to_pylist(), NEW], dtype="<U10")
    codes = np.append(parts.indices.to_numpy(), len(words) - 1)
    # The ids of the run are hashed once, for all blocks.
    ids = pa.chunked_array([pa.array(block, pa.string()) for _, block in id_blocks(graph)])
    place = pc.index_in(ids, value_set=fitted).combine_chunks()
    if place.null_count:
        # As they are written for a spreadsheet.
        missing = pc.is_null(place)
        safe = pa.array(map(excel_text, ids.filter(missing).to_pylist()), pa.string())
        place = pc.replace_with_mask(place, missing, pc.index_in(safe, value_set=fitted))
    return words[codes[place.fill_null(-1).to_numpy(zero_copy_only=False)]]


def read_parts(folder: str | Path) -> tuple[Any, Any] | None:
    """Return the ids of a run and their parts, as Arrow arrays; None where they cannot be read."""
    import pyarrow as pa
    from pyarrow import csv

    only = csv.ConvertOptions(
        include_columns=["id", "part"], column_types={"id": pa.string(), "part": pa.string()}
    )
    parsing = csv.ParseOptions(newlines_in_values=True)
    try:
        path = Path(folder) / PREDICTIONS_FILE
        with csv.open_csv(path, convert_options=only, parse_options=parsing) as reader:
            table = reader.read_all()
    except (pa.ArrowException, OSError):
        return None
    parts = table["part"].combine_chunks().fill_null(UNKNOWN).dictionary_encode()
    return table["id"].combine_chunks(), parts
