"""A table of edges or vertices, wherever it is: the contract that files and frames fulfil."""

from __future__ import annotations

import errno
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from graphfilter.tables.cells import as_ids, clean_ids
from graphfilter.util.arrow import pa
from graphfilter.util.errors import DataFileError, GraphError
from graphfilter.util.files import EDGE_BYTES, Budget

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TEXT = re.compile(r"\.(csv|tsv|txt)(\.gz)?$", re.IGNORECASE)
# The beginning of a table: enough to see which columns fit those of the other.
_PEEK_ROWS = 10_000
_NO_MEMORY = "its content does not fit in memory."
_REMEDIES = {
    errno.EMFILE: "Let the process open more files (ulimit -n)",
    errno.ENFILE: "Close other programs that have too many files open",
    errno.EACCES: "Ask for permission to read it",
}
# Each is understood by itself, in half a millisecond.
MOST_COLUMNS = 100_000


class TableSource(ABC):
    """A table that can be read column by column.

    A subclass says what a row is called in messages and how the columns are read. It is a path to
    itself, so that messages name it as they name a file.

    Attributes
    ----------
    label : str
        The file's path, or the frame's name, for messages.
    notes : tuple of str
        What was found out about the file, in sentences: its encoding, what separates its columns.
    decimal : str or None
        The decimal point that the user named, ``'.'`` or ``','``.
    decimal_hint : str
        The decimal sign to expect where no cell shows it.
    may_lack_header : bool
        Whether the first line may be data.
    is_typed : bool
        Whether its ids and labels are values to keep, not just words.
    in_pieces : bool
        Whether :meth:`read_batches` holds one piece in memory at a time, not the whole.
    cleans_ids : bool
        Whether blanks around ids, and what else cannot be seen of them, is taken away.
    row_word, first_row : str, int
        What a row is called in messages, and the number of the first one below the header.
    kind_column : str or None
        The column that says of which kind a vertex is, where there was a table of each.
    kept : int array or None
        Which rows of the file these are, where some were left out.
    """

    notes: tuple[str, ...] = ()
    decimal: str | None = None
    decimal_hint: str = "."
    may_lack_header: bool = False
    is_typed: bool = False
    in_pieces: bool = False
    cleans_ids: bool = False
    row_word: str = "row"
    first_row: int = 1
    kind_column: str | None = None
    kept: NDArray[np.int64] | None = None

    def __init__(self, label: str | PathLike[str]) -> None:
        self.label = fspath(label)

    def __fspath__(self) -> str:
        return self.label

    def __str__(self) -> str:
        return self.label

    @property
    def name(self) -> str:
        """The name without the folder."""
        return Path(self.label).name

    @cached_property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of the columns."""

    @property
    def usable_names(self) -> list[str]:
        """The columns that share their name with no other; those cannot be told apart."""
        return [name for name, n in Counter(self.names).items() if n == 1]

    def cleaning(self, cleans_ids: bool) -> Self:
        """Return the table, as one that cleans its ids or does not."""
        if cleans_ids == self.cleans_ids:
            return self
        table = copy(self)
        table.cleans_ids = cleans_ids
        return table

    def as_ids(self, column: Any) -> Any:
        """Turn a column into ids, as text."""
        ids = as_ids(column)
        return clean_ids(ids) if self.cleans_ids else ids

    def peek(self) -> pa.Table:
        """Read the beginning of the table, all columns that have a name of their own."""
        names = self.usable_names
        batch = next(iter(self.read_batches(names, True)), None) if names else None
        if batch is None:
            return pa.table({name: pa.array([], pa.string()) for name in names})
        return pa.Table.from_batches([batch.slice(0, _PEEK_ROWS)])

    def count_rows(self) -> tuple[int, int]:
        """Estimate the rows, and the bytes of each as text."""
        return 0, 0

    def fingerprint(self) -> list[Any]:
        """Return what changes with the file: its size and time of change."""
        status = Path(self.label).stat()
        return [str(Path(self.label).resolve()), status.st_size, status.st_mtime_ns]

    @abstractmethod
    def read(self, names: list[str]) -> pa.Table:
        """Read these columns; those of text files are strings."""

    @abstractmethod
    def read_batches(self, names: list[str], header: bool) -> Iterator[pa.RecordBatch]:
        """Read these columns piece by piece; without a header they are called f0, f1, ..."""


def counted(
    batches: Iterator[pa.RecordBatch], path: str | PathLike[str]
) -> Iterator[pa.RecordBatch]:
    """Count what rows of edges take, piece by piece, against the memory there is."""
    budget, n_rows = Budget(path), 0
    for batch in batches:
        n_rows += len(batch)
        budget.spend(EDGE_BYTES * len(batch), f"it lists {n_rows:,} edges or more")
        yield batch


class HeldTable(TableSource):
    """A table that is in memory as a whole."""

    def __init__(self, label: str | PathLike[str], table: pa.Table) -> None:
        super().__init__(label)
        self._table, self.names = table, table.column_names

    def read(self, names: list[str]) -> pa.Table:
        return self._table.select(names)

    def read_batches(self, names: list[str], header: bool) -> Iterator[pa.RecordBatch]:
        yield from self._table.select(names).to_batches()


def place_of_row(where: str | PathLike[str], row: int, *, header: bool = True) -> tuple[str, int]:
    """Return what a row, counted from 0, is called, and its number there."""
    if isinstance(where, TableSource):
        row = row if where.kept is None else int(where.kept[row])
        return where.row_word, row + where.first_row - (not header)
    if _TEXT.search(fspath(where)):
        return "line", row + 1 + header
    return "row", row + 1


def check_width(path: str | PathLike[str], n_columns: int) -> None:
    """Raise where a table has more columns than can be understood one by one."""
    if n_columns > MOST_COLUMNS:
        problem = f"a table must have at most {MOST_COLUMNS:,} columns; got {n_columns:,}"
        raise DataFileError(path, f"{problem}. Split it, or make it a .npz file.")


def at_row(
    where: str | PathLike[str], row: int, problem: str, *, header: bool = True
) -> DataFileError:
    """Make the error for what is wrong in a row, counted from 0."""
    word, number = place_of_row(where, row, header=header)
    if word == "line":
        return DataFileError(where, problem, line=number)
    return DataFileError(where, f"{word} {number}: {problem}")


@dataclass(frozen=True)
class Part:
    """A file on a filesystem of pyarrow, in the place of a path."""

    system: Any
    path: str
    url: str
    written: tuple[int, int]

    def __fspath__(self) -> str:
        return self.url

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def opened(path: Path | Part) -> Any:
    """Open a file, here or elsewhere, as pyarrow reads it: at any place."""
    return (
        path.system.open_input_file(path.path) if isinstance(path, Part) else pa.OSFile(str(path))
    )


@contextmanager
def reading_table(where: str | PathLike[str]) -> Generator[None]:
    """Turn what pyarrow, the system and our checks say of a table into an error that names it."""
    try:
        yield
    except GraphError as error:
        raise DataFileError(where, str(error)) from error
    except MemoryError:
        raise DataFileError(where, _NO_MEMORY) from None
    except (pa.ArrowException, OSError, UnicodeError, OverflowError) as error:
        text = " ".join(str(error).split())[:200]
        number = error.errno if isinstance(error, OSError) else None
        if number == errno.ENOMEM or "allocate memory" in text:
            raise DataFileError(where, _NO_MEMORY) from None
        if "://" in fspath(where):
            remedy = "Check that it is there, the address, and the credentials"
            raise DataFileError(where, f"cannot be read: {text.rstrip('.')}. {remedy}.") from None
        if number is not None:
            # An error of the system, not of the file's content.
            remedy = _REMEDIES.get(number, "Check the file and the disk")
            problem = f"{os.strerror(number)}. {remedy}."
            raise DataFileError(where, f"cannot be read: {problem}") from None
        row = re.search(r"Row #(\d+): ", text)
        is_text = _TEXT.search(fspath(where))
        remedy = "name its `encoding` or `delimiter`" if is_text else "save it again as .csv"
        problem = f"cannot be read ({text}). Fix it, or {remedy}."
        problem = "the file is empty; it must have columns." if "Empty CSV" in text else problem
        raise DataFileError(where, problem, line=int(row[1]) if row else None) from None
