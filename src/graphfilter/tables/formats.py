"""Everything that can be opened as a table: files by their suffix, and DataFrames.

pandas, polars, pyarrow, duckdb and others share their columns through the Arrow PyCapsule
interface (``__arrow_c_stream__``), which pyarrow reads by itself, without importing their library.
A dict of columns will do too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfilter.tables.cells import value_type
from graphfilter.tables.excel_files import ExcelTable, excel_file
from graphfilter.tables.parquet_files import ParquetTable
from graphfilter.tables.roles import Columns
from graphfilter.tables.source import HeldTable, TableSource
from graphfilter.tables.text_files import TextOptions, TextTable
from graphfilter.util.errors import DataFileError, GraphError

if TYPE_CHECKING:
    import pyarrow as pa


class FrameTable(HeldTable):
    """A table in memory."""

    is_typed = True

    def __init__(self, frame: Any, label: str) -> None:
        super().__init__(label)
        self._table = _with_plain_words(_as_arrow(frame, label))


def _as_arrow(frame: Any, label: str) -> pa.Table:
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame
    if not (hasattr(frame, "__arrow_c_stream__") or isinstance(frame, Mapping)):
        if not hasattr(frame, "to_arrow"):
            raise GraphError(
                f"the {label} must be a DataFrame of pandas, polars or pyarrow, or a dict of "
                f"columns; got {type(frame).__name__}. Collect a LazyFrame first."
            )
        frame = frame.to_arrow()
    try:
        return pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        columns: Any = getattr(frame, "columns", None)
        if columns is None:
            raise GraphError(f"the {label} cannot be read as a table ({error}).") from None
    # A column of pandas may hold anything: words and numbers side by side are read as words.
    try:
        return pa.table({str(name): _as_column(frame[name].tolist()) for name in columns})
    except UnicodeEncodeError as error:
        raise GraphError(
            f"the {label} must hold text that UTF-8 can write ({error.reason}). Replace it: "
            'text.encode("utf-8", "replace").decode().'
        ) from None


def _with_plain_words(table: pa.Table) -> pa.Table:
    """Turn the views that polars stores words as into strings, which more of Arrow can handle."""
    import pyarrow as pa

    for i, column in enumerate(table.columns):
        if not pa.types.is_string_view(value_type(column)):
            continue
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.string()))
            if pa.types.is_dictionary(column.type)
            else chunk
            for chunk in column.chunks
        ]
        words = [chunk.cast(pa.string()) for chunk in chunks]
        table = table.set_column(
            i, table.column_names[i], pa.chunked_array(words, type=pa.string())
        )
    return table


def _as_column(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        words = [None if v is None or v != v else str(v) for v in values]
        return pa.array(words, type=pa.string())


TABLES: dict[str, Callable[[Path, TextOptions], TableSource]] = {
    ".csv": TextTable,
    ".csv.gz": TextTable,
    ".tsv": TextTable,
    ".tsv.gz": TextTable,
    ".txt": TextTable,
    ".txt.gz": TextTable,
    ".xlsx": ExcelTable,
    ".parquet": ParquetTable,
}


def open_table(path: Path | TableSource, options: TextOptions | None = None) -> TableSource:
    """Open a table by its suffix, and find out whether it can be read at all; once.

    A sheet of a workbook is named behind its path: ``book.xlsx#sheet``.
    """
    if isinstance(path, TableSource):
        return path
    if not path.is_file() and not excel_file(path).is_file():
        raise DataFileError(path, "there is no such file. Check the path.")
    name = excel_file(path).name.lower()
    found = next((suffix for suffix in TABLES if name.endswith(suffix)), None)
    if found is None:
        raise DataFileError(path, f"a table must be {', '.join(TABLES)}. Save it as one of them.")
    return TABLES[found](path, options or TextOptions())


def open_pair(
    edges: Any, vertices: Any, columns: Columns, text: TextOptions | None = None
) -> tuple[TableSource, TableSource]:
    """Open a table of edges and one of vertices, each a file or a frame."""
    check_not_same(edges, vertices, columns)
    return _open(edges, "edges", text), _open(vertices, "vertices", text)


def _open(table: Any, label: str, text: TextOptions | None) -> TableSource:
    if isinstance(table, TableSource):
        return table
    if isinstance(table, str | PathLike):
        return open_table(Path(table), text)
    return FrameTable(table, label)


def check_not_same(edges: Any, vertices: Any, columns: Columns) -> None:
    """Raise where one file is given for both tables, and not told what is an edge in it."""
    if not (columns.source and columns.target) and _same(edges, vertices):
        # Guessed by position, the ends of an edge could be a vertex and its label.
        raise DataFileError(
            edges,
            "must be a table of edges; it is the table of vertices. Give another file, or another "
            "sheet (book.xlsx#sheet), or name its columns with `source` and `target`.",
        )


def _same(edges: Any, vertices: Any) -> bool:
    if isinstance(edges, str | PathLike) and isinstance(vertices, str | PathLike):
        return Path(edges).resolve() == Path(vertices).resolve()
    return False
