"""The file formats, by suffix: the one place to register a new one.

A graph in one file is read by a function that takes its path (``GRAPHS``). A table, of edges or
of vertices, is a :class:`~graphfilter.graph.tables.source.TableSource` (``TABLES``).
Each format has its own file in this folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from graphfilter.data.arrays import AnyPath
from graphfilter.data.readers.edge_list import read_edge_list
from graphfilter.data.readers.excel_table import ExcelTable, excel_file
from graphfilter.data.readers.matrix_market import read_matrix_market
from graphfilter.data.readers.networkx_files import read_networkx
from graphfilter.data.readers.npz import read_npz
from graphfilter.data.readers.parquet_table import ParquetTable
from graphfilter.data.readers.text_format import TextOptions
from graphfilter.data.readers.text_table import TextTable
from graphfilter.errors import DataFileError, check_name
from graphfilter.graph import Graph
from graphfilter.graph.tables.source import TableSource

GRAPHS: dict[str, Callable[..., Graph]] = {
    ".npz": read_npz,
    ".mtx": read_matrix_market,
    ".graphml": read_networkx,
    ".gml": read_networkx,
    ".edges": read_edge_list,
    ".txt": read_edge_list,
}

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


def read_graph(path: AnyPath, *, directed: bool = False) -> Graph:
    """Read a graph with the reader that the file's suffix names; ``directed`` keeps directions.

    ``.npz`` (the package's own format), ``.mtx``, ``.graphml``, ``.gml``, ``.edges`` and ``.txt``.
    """
    suffix = Path(path).suffix.lower()
    if not suffix and not Path(path).exists():
        raise DataFileError(path, "there is no such file or graph store. Check the path.")
    return GRAPHS[check_name(f"file type for {str(path)!r}:", suffix, GRAPHS)](
        path, directed=directed
    )


def open_table(path: Path, options: TextOptions | None = None) -> TableSource:
    """Open a table by its suffix, and find out whether it can be read at all.

    A sheet of a workbook is named behind its path: ``book.xlsx#sheet``.
    """
    if not path.is_file() and not excel_file(path).is_file():
        raise DataFileError(path, "there is no such file. Check the path.")
    name = excel_file(path).name.lower()
    found = next((suffix for suffix in TABLES if name.endswith(suffix)), None)
    if found is None:
        raise DataFileError(path, f"a table must be {', '.join(TABLES)}. Save it as one of them.")
    return TABLES[found](path, options or TextOptions())
