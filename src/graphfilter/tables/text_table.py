"""CSV and its kin, plain or gzipped, as tables of text.

pyarrow parses: it is many times as fast as Python's csv module. It reads UTF-8, so other encodings
are written again in memory.
"""

from __future__ import annotations

import codecs
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfilter.storage import EDGE_BYTES, Budget
from graphfilter.tables.source import TableSource, check_width, reading_table
from graphfilter.tables.text_format import (
    HEAD_BYTES,
    TextFormat,
    TextOptions,
    expected_delimiter,
    find_delimiter,
    find_encoding,
)

if TYPE_CHECKING:
    import pyarrow as pa

# Ids are looked up block by block in a hash table that is built for each block: large blocks
# are faster, small ones take less memory. A row must fit into a block.
BLOCK_BYTES = 16 << 20
# A byte of text becomes part of a cell, which has a place to start as well.
_BYTES_PER_BYTE = 2
_CHUNK_BYTES = 1 << 20


class TextTable(TableSource):
    """A table in a text file: how it is written is found when it is opened."""

    may_lack_header = True
    row_word = "line"

    def __init__(self, path: Path, options: TextOptions) -> None:
        super().__init__(path)
        self._path, self._packed = path, path.name.lower().endswith(".gz")
        self.decimal = options.decimal
        with reading_table(path):
            # Each file is read once to the end: what it unpacks to is counted, its encoding found.
            encoding = find_encoding(self._chunks())
            self._format = self._find_format(options, options.encoding or encoding)
        self.in_pieces = self._format.encoding == "utf-8"
        self.decimal_hint = "," if self._format.delimiter == ";" else "."
        self.first_row = 2 + self._format.skip_lines
        told = options.delimiter is not None and options.encoding is not None
        self.found = () if told else self._format.describe(path.name, expected_delimiter(path))

    def read_names(self) -> list[str]:
        import pyarrow as pa
        from pyarrow import csv

        with reading_table(self._path):
            head = self._first_lines(HEAD_BYTES) or self._first_lines(BLOCK_BYTES)
            n_columns = head.count(self._format.delimiter.encode()) + 1
            check_width(self._path, n_columns)
            # The first line alone is parsed, unless a quoted name goes on in the next.
            alone = head and head.count(b'"') % 2 == 0
            source = pa.BufferReader(_own(head)) if alone else self._source()
            with csv.open_csv(source, **self._options()) as reader:
                return reader.schema.names

    def _first_lines(self, n_bytes: int) -> bytes:
        """Return the header and what is above it; nothing where so many bytes do not hold it."""
        with self._open_utf8() as stream:
            lines = stream.read(n_bytes).splitlines(keepends=True)
        skip = self._format.skip_lines
        header = next((line for line in lines[skip:] if line.strip()), b"")
        whole = bool(header) and header is not lines[-1]
        return b"".join([*lines[:skip], header]) if whole or n_bytes == BLOCK_BYTES else b""

    def read(self, names: list[str]) -> pa.Table:
        import pyarrow as pa
        from pyarrow import csv

        with reading_table(self._path):
            try:
                return csv.read_csv(self._source(), **self._options(names, use_threads=True))
            except pa.ArrowInvalid:
                # One thread alone knows the line of what is wrong.
                return csv.read_csv(self._source(), **self._options(names))

    def read_batches(self, names: list[str], header: bool) -> Iterator[pa.RecordBatch]:
        from pyarrow import csv

        budget, n_rows = Budget(self._path), 0
        with (
            reading_table(self._path),
            csv.open_csv(self._source(), **self._options(names, header=header)) as reader,
        ):
            for batch in reader:
                n_rows += len(batch)
                budget.spend(EDGE_BYTES * len(batch), f"it lists {n_rows:,} edges or more")
                yield batch

    def _find_format(self, told: TextOptions, encoding: str) -> TextFormat:
        with self._open() as stream:
            head = stream.read(HEAD_BYTES)
        text = codecs.getincrementaldecoder(encoding)("replace").decode(head)
        expected = expected_delimiter(self._path)
        delimiter, skip = find_delimiter(text, expected, whole=len(head) < HEAD_BYTES)
        return TextFormat(encoding, told.delimiter or delimiter, skip)

    def _options(
        self, names: list[str] | None = None, *, header: bool = True, use_threads: bool = False
    ) -> dict[str, Any]:
        """Read these columns, or all, as text: what the text means is decided later, not here."""
        import pyarrow as pa
        from pyarrow import csv

        reading = csv.ReadOptions(use_threads=use_threads, block_size=BLOCK_BYTES)
        reading.autogenerate_column_names = not header
        reading.skip_rows = self._format.skip_lines
        parsing = csv.ParseOptions(delimiter=self._format.delimiter, newlines_in_values=True)
        types = dict.fromkeys(names or (), pa.string())
        return {
            "read_options": reading,
            "parse_options": parsing,
            "convert_options": csv.ConvertOptions(include_columns=names, column_types=types),
        }

    def _source(self) -> Any:
        """Return what pyarrow reads UTF-8 from: the file, or a copy of it in memory."""
        import pyarrow as pa

        return self._path if self._format.encoding == "utf-8" else pa.BufferReader(self._utf8)

    @cached_property
    def _utf8(self) -> Any:
        """The file in UTF-8.

        pyarrow could decode by itself, but calls Python from its own threads for it.
        """
        import pyarrow as pa

        decoder = codecs.getincrementaldecoder(self._format.encoding)()
        budget, sink = Budget(self._path), pa.BufferOutputStream()
        for chunk in self._chunks():
            budget.spend(2 * _BYTES_PER_BYTE * len(chunk), "it is written again in UTF-8")
            sink.write(decoder.decode(chunk).encode())
        sink.write(decoder.decode(b"", final=True).encode())
        return sink.getvalue()

    @contextmanager
    def _open_utf8(self) -> Generator[Any]:
        import pyarrow as pa

        if self._format.encoding == "utf-8":
            with self._open() as stream:
                yield stream
        else:
            with pa.BufferReader(self._utf8) as stream:
                yield stream

    @contextmanager
    def _open(self) -> Generator[Any]:
        """Open the file as what it unpacks to."""
        import pyarrow as pa

        with pa.OSFile(str(self._path)) as file:
            if not self._packed:
                yield file
                return
            with pa.CompressedInputStream(file, "gzip") as stream:
                yield stream

    def _chunks(self) -> Iterator[bytes]:
        """Read the file piece by piece, counting what a packed one unpacks to.

        Counting while Arrow parses would call Python from Arrow's threads, which may then never
        end.
        """
        budget, n_bytes = Budget(self._path), 0
        with self._open() as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                n_bytes += len(chunk)
                if self._packed:
                    what = f"it unpacks to {n_bytes:,} bytes or more"
                    budget.spend(_BYTES_PER_BYTE * len(chunk), what)
                yield chunk


def _own(content: bytes) -> Any:
    """Copy bytes to memory that is Arrow's own.

    A thread of Arrow's may be the last to let go of what it reads. Where that is an object of
    Python's while Python shuts down, the process aborts.
    """
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    sink.write(content)
    return sink.getvalue()
