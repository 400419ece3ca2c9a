"""The formats of tables, by suffix: the one place to register a new one."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from graphfilter.errors import DataFileError
from graphfilter.tables.columns import Columns
from graphfilter.tables.excel_table import ExcelTable, excel_file
from graphfilter.tables.frames import FrameTable
from graphfilter.tables.parquet_table import ParquetTable
from graphfilter.tables.source import TableSource
from graphfilter.tables.text_format import TextOptions
from graphfilter.tables.text_table import TextTable

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
