"""Everything that can be opened as a table: files by their suffix, DataFrames and workbooks.

pandas, polars, pyarrow, duckdb and others share their columns through the Arrow PyCapsule
interface (``__arrow_c_stream__``), which pyarrow reads by itself, without importing their library.
A dict of columns will do too. Excel workbooks are read with openpyxl (extra ``excel``):
``book.xlsx``, or ``book.xlsx#sheet``.
"""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from graphfilter.tables.cells import without_views
from graphfilter.tables.parquet_files import ParquetTable
from graphfilter.tables.parts import PartsTable, find_parts, partition_values
from graphfilter.tables.source import HeldTable, TableSource
from graphfilter.tables.text_files import TextOptions, TextTable
from graphfilter.util.arrow import pa
from graphfilter.util.errors import DataFileError, GraphError, import_extra
from graphfilter.util.files import EDGE_BYTES, PARSE_ERRORS, Budget, reading
from graphfilter.util.words import listed_names

# Memory per byte of a workbook's unpacked XML, and per cell as a Python object.
_BYTES_PER_BYTE = 4
_BYTES_PER_CELL = 64


def frame_table(frame: Any, label: str) -> HeldTable:
    """Make a table of a DataFrame, or of a dict of columns."""
    table = _as_arrow(frame, label)
    columns = [without_views(column) for column in table.columns]
    made = HeldTable(label, pa.table(columns, names=table.column_names))
    made.is_typed = True
    return made


def _as_arrow(frame: Any, label: str) -> pa.Table:
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


def _as_column(values: Sequence[Any]) -> pa.Array:
    """Make a column of Python objects: of the type they share, or of words."""
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        words = [None if value is None or value != value else _as_word(value) for value in values]
        return pa.array(words, type=pa.string())


def _as_word(value: Any) -> str:
    """Write a cell as text: whole numbers without a point, dates as ISO has them.

    >>> _as_word(100.0), _as_word(True), _as_word(None)
    ('100', 'True', '')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return "" if value is None else str(value)


def _excel_file(path: Path) -> Path:
    """Return the workbook that a path with a sheet's name behind it is in; other paths as they are.

    >>> _excel_file(Path("folder/book.xlsx#people")).name, _excel_file(Path("a#b.csv")).name
    ('book.xlsx', 'a#b.csv')
    """
    file, sign, _ = path.name.partition("#")
    return path.with_name(file) if sign and file.lower().endswith(".xlsx") else path


def _read_excel(path: Path, options: TextOptions) -> HeldTable:
    """Read a sheet of a workbook: the one that is named, else the first that shows anything.

    Its first row that holds anything is the header.
    """
    file = path if path.is_file() else _excel_file(path)
    with reading(file, "Save it again as .xlsx, or as .csv.", (*PARSE_ERRORS, pa.ArrowException)):
        rows, notes = _read_sheet(file, "" if file is path else path.name.partition("#")[2], path)
        filled = [sum(cell is not None for cell in row) for row in rows]
        if not any(filled):
            raise DataFileError(file, "the workbook is empty; it must have columns.")
        # A title is one cell, above rows of three and more.
        least = 2 if max(filled) >= 3 else 1
        first = next(i for i, n in enumerate(filled) if n >= least)
        last = max(i for i, n in enumerate(filled) if n)
        head, body = rows[first], rows[first + 1 : last + 1]
        Budget(file).spend(EDGE_BYTES * len(body), f"{len(body):,} rows")
        width = max(i + 1 for i, cell in enumerate(head) if cell is not None)
        columns = [
            _as_column([row[i] if i < len(row) else None for row in body]) for i in range(width)
        ]
        names = [_as_word(cell) for cell in head[:width]]
        table = HeldTable(path, pa.Table.from_arrays(columns, names=names))
    table.first_row, table.notes, table.decimal = first + 2, notes, options.decimal
    return table


def _read_sheet(file: Path, title: str, path: Path) -> tuple[list[Sequence[Any]], tuple[str, ...]]:
    """Return the rows of a sheet, and what there is to say about it."""
    openpyxl = import_extra("openpyxl", "excel", "reading .xlsx")
    budget = Budget(file)
    with zipfile.ZipFile(file) as archive:
        n_bytes = sum(info.file_size for info in archive.infolist())
        budget.spend(_BYTES_PER_BYTE * n_bytes, f"it unpacks to {n_bytes:,} bytes")
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
        has_formulas = any(
            name.endswith(".xml") and re.search(rb"<f[ />]", archive.read(name)) for name in sheets
        )
    with warnings.catch_warnings():
        # openpyxl warns of styles and extensions that have no bearing on the cells.
        warnings.simplefilter("ignore")
        book: Any = openpyxl.load_workbook(file, read_only=True, data_only=True)
        try:
            sheets = _choose_sheets(file, list(book.worksheets), title)
            for sheet in sheets:
                rows: list[Sequence[Any]] = []
                for row in sheet.iter_rows(values_only=True):
                    budget.spend(_BYTES_PER_CELL * (1 + len(row)), "so many cells")
                    rows.append(row)
                if not any(cell is not None for row in rows for cell in row):
                    continue
                notes: list[str] = []
                if len(sheets) > 1:
                    note = f"{path.name}: using sheet {sheet.title!r}, one of {len(sheets)}"
                    other = next(one.title for one in sheets if one is not sheet)
                    notes.append(f"{note}; name another as {path.name}#{other}.")
                if has_formulas:
                    notes.append(
                        f"{path.name} has formulas: those without a stored value are read as empty."
                        " Saving it in a spreadsheet program stores the values."
                    )
                return rows, tuple(notes)
        finally:
            book.close()
    return [], ()


def _choose_sheets(file: Path, sheets: list[Any], title: str) -> list[Any]:
    """Return the sheet that is named, or all of them, hidden ones last."""
    if not title:
        return sorted(sheets, key=lambda sheet: sheet.sheet_state != "visible")
    by_title = {sheet.title.strip().lower(): sheet for sheet in sheets}
    if (sheet := by_title.get(title.strip().lower())) is not None:
        return [sheet]
    listed = listed_names([sheet.title for sheet in sheets])
    raise DataFileError(file, f"there is no sheet {title!r}. Sheets: {listed}. Name one behind #.")


TABLES: dict[str, Callable[[Any, TextOptions], TableSource]] = {
    **dict.fromkeys((".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz"), TextTable),
    ".xlsx": _read_excel,
    ".parquet": ParquetTable,
}


def open_table(table: Any, text: TextOptions | None = None, label: str = "table") -> TableSource:
    """Open a file by its suffix, or a frame, and find out whether it can be read at all; once.

    A sheet of a workbook is named behind its path: ``book.xlsx#sheet``. A folder, a glob or a URL
    may name several files, whose rows are those of one table.
    """
    if isinstance(table, TableSource):
        return table
    if not isinstance(table, str | PathLike):
        return frame_table(table, label)
    path, text = Path(table), text or TextOptions()
    if path.is_file() or _excel_file(path).is_file():
        return _kind_of(_excel_file(path))(path, text)
    parts = find_parts(table)
    tables = [_kind_of(part)(part, text) for part in parts]
    if any(isinstance(one, HeldTable) for one in tables):
        raise DataFileError(table, "a workbook must be a file of this machine. Save it as .csv.")
    values = [partition_values(part.path) for part in parts]
    return PartsTable(table, tables, values, [part.written for part in parts])


def _kind_of(path: Any) -> Callable[[Any, TextOptions], TableSource]:
    """Return what opens a file, by its suffix."""
    suffix = next((suffix for suffix in TABLES if path.name.lower().endswith(suffix)), None)
    if suffix is None:
        raise DataFileError(path, f"a table must be {', '.join(TABLES)}. Save it as one of them.")
    return TABLES[suffix]
