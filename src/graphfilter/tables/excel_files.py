"""Excel workbooks, read with openpyxl (extra ``excel``): ``book.xlsx``, or ``book.xlsx#sheet``."""

from __future__ import annotations

import datetime
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfilter.tables.source import HeldTable
from graphfilter.tables.text_files import TextOptions
from graphfilter.util.errors import DataFileError
from graphfilter.util.files import EDGE_BYTES, PARSE_ERRORS, Budget, reading
from graphfilter.util.words import count, listed_names

if TYPE_CHECKING:
    import pyarrow as pa

_REMEDY = "Save it again as .xlsx, or as .csv."
# Memory per byte of unpacked XML, and per cell as a Python object.
_BYTES_PER_BYTE = 4
_BYTES_PER_CELL = 64


def excel_file(path: Path) -> Path:
    """Return the workbook that a path with a sheet's name behind it is in; other paths as they are.

    >>> excel_file(Path("folder/book.xlsx#people")).name, excel_file(Path("a#b.csv")).name
    ('book.xlsx', 'a#b.csv')
    """
    file, sign, _ = path.name.partition("#")
    return path.with_name(file) if sign and file.lower().endswith(".xlsx") else path


class ExcelTable(HeldTable):
    """A sheet of a workbook: the one that is named, else the first that shows anything.

    Its first row that holds anything is the header.
    """

    def __init__(self, path: Path, options: TextOptions) -> None:
        super().__init__(path)
        self._path = path if path.is_file() else excel_file(path)
        self._sheet = "" if path.is_file() else path.name.partition("#")[2]
        self.decimal = options.decimal
        self._table = self._read_table()

    def read_batches(self, names: list[str], header: bool) -> Iterator[pa.RecordBatch]:
        Budget(self._path).spend(EDGE_BYTES * len(self._table), f"{len(self._table):,} edges")
        yield from super().read_batches(names, header)

    def _read_table(self) -> pa.Table:
        import pyarrow as pa

        with reading(self._path, _REMEDY, (*PARSE_ERRORS, pa.ArrowException)):
            rows = self._rows()
            filled = [sum(cell is not None for cell in row) for row in rows]
            if not any(filled):
                raise DataFileError(self._path, "the workbook is empty; it must have columns.")
            # A title is one cell, above rows of three and more.
            least = 2 if max(filled) >= 3 else 1
            first = next(i for i, n in enumerate(filled) if n >= least)
            last = max(i for i, n in enumerate(filled) if n)
            self.first_row = first + 2
            head, body = rows[first], rows[first + 1 : last + 1]
            width = max(i + 1 for i, cell in enumerate(head) if cell is not None)
            names = [as_word(cell) for cell in head[:width]]
            columns = [
                as_column([row[i] if i < len(row) else None for row in body]) for i in range(width)
            ]
            return pa.Table.from_arrays(columns, names=names)

    def _rows(self) -> list[Sequence[Any]]:
        """Read the first sheet that holds anything."""
        try:
            import openpyxl
        except ImportError:
            raise DataFileError(
                self._path,
                "reading .xlsx needs openpyxl. Install it with pip install 'graphfilter[excel]', "
                "or save the sheet as .csv.",
            ) from None
        budget = Budget(self._path)
        with zipfile.ZipFile(self._path) as archive:
            n_bytes = sum(info.file_size for info in archive.infolist())
        budget.spend(_BYTES_PER_BYTE * n_bytes, f"it unpacks to {n_bytes:,} bytes")
        with warnings.catch_warnings():
            # openpyxl warns of styles and extensions that have no bearing on the cells.
            warnings.simplefilter("ignore")
            book: Any = openpyxl.load_workbook(self._path, read_only=True, data_only=True)
            try:
                sheets = self._choose(list(book.worksheets))
                for sheet in sheets:
                    rows: list[Sequence[Any]] = []
                    for row in sheet.iter_rows(values_only=True):
                        budget.spend(_BYTES_PER_CELL * (1 + len(row)), "so many cells")
                        rows.append(row)
                    if any(cell is not None for row in rows for cell in row):
                        if len(sheets) > 1:
                            note = f"using sheet {sheet.title!r}, one of {len(sheets)}"
                            other = next(one.title for one in sheets if one is not sheet)
                            note += f"; name another as {self.name}#{other}"
                            self.found = (f"{self.name}: {note}.",)
                        self.found += self._note_formulas(sheet.title, rows)
                        return rows
            finally:
                book.close()
        return []

    def _note_formulas(self, title: str, rows: list[Sequence[Any]]) -> tuple[str, ...]:
        """Count the empty cells that are formulas: a program wrote them that computed none."""
        if not self._has_formulas():
            return ()
        import openpyxl
        from openpyxl.utils import get_column_letter

        book: Any = openpyxl.load_workbook(self._path, read_only=True)
        try:
            lines = book[title].iter_rows(values_only=True)
            found = [
                (i, j)
                for i, (line, row) in enumerate(zip(lines, rows, strict=False))
                for j, (written, cell) in enumerate(zip(line, row, strict=False))
                if cell is None and str(written or "").startswith("=")
            ]
        finally:
            book.close()
        if not found:
            return ()
        row, column = found[0]
        place = f"{get_column_letter(column + 1)}{row + 1}"
        n = count(len(found), "cell is a formula", "cells are formulas")
        return (
            f"{self.name}: {n} without a stored value (the first is {place}), read as empty. Open "
            "the workbook in a spreadsheet program and save it, which stores the values.",
        )

    def _has_formulas(self) -> bool:
        with zipfile.ZipFile(self._path) as archive:
            for info in archive.infolist():
                if not info.filename.startswith("xl/worksheets/"):
                    continue
                with archive.open(info) as stream:
                    tail = b""
                    while piece := stream.read(1 << 20):
                        if re.search(rb"<f[ />]", tail + piece):
                            return True
                        tail = piece[-2:]
        return False

    def _choose(self, sheets: list[Any]) -> list[Any]:
        """Return the sheet that is named, or all of them, hidden ones last."""
        if not self._sheet:
            return sorted(sheets, key=lambda sheet: sheet.sheet_state != "visible")
        titles = {sheet.title.strip().lower(): sheet for sheet in sheets}
        if (found := titles.get(self._sheet.strip().lower())) is not None:
            return [found]
        listed = listed_names([sheet.title for sheet in sheets])
        raise DataFileError(
            self._path, f"there is no sheet {self._sheet!r}. Sheets: {listed}. Name one behind #."
        )


def as_column(values: Sequence[Any]) -> pa.Array:
    """Make a column of cells: of the type they share, or of words."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or kinds in ({bool}, {datetime.datetime}, {datetime.time}):
        try:
            return pa.array([float(v) if float in kinds and v is not None else v for v in values])
        except (pa.ArrowException, OverflowError):
            pass  # beyond 64 bits: words
    words = [None if value is None else as_word(value) for value in values]
    return pa.array(words, type=pa.string())


def as_word(value: Any) -> str:
    """Write a cell as text: whole numbers without a point, dates as ISO has them.

    >>> as_word(100.0), as_word(None), as_word(datetime.datetime(2024, 5, 1))
    ('100', '', '2024-05-01 00:00:00')
    """
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)
