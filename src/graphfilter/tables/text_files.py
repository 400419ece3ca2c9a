"""CSV and its kin, plain or gzipped, as tables of text.

Nothing is demanded of a file; how it is written is found out, said, and can be overridden.

- **Encoding**: a mark at the beginning decides; then UTF-16 by its zero bytes; then UTF-8, where
  the whole file is. What is left is read as Windows-1252, which Excel writes and of which Latin-1
  is all but a part. charset-normalizer, made for prose, named five of eight small Western tables
  wrongly (cp1250, cp864, cp1006), so it is asked only where most letters are not ASCII, as in
  Cyrillic, Greek, Chinese or Japanese.
- **Delimiter**: ``sep=`` in the first line decides, as in Excel. Otherwise the first lines are
  parsed with each candidate by the standard library's csv module, and the one that gives every
  line as many fields as the header wins. csv.Sniffer counts characters instead, and takes
  decimal commas for the delimiter.
- **Cells**: pyarrow parses; it is many times as fast as Python's csv module. It reads UTF-8, so
  other encodings are written again in memory.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from graphfilter.tables.source import Part, TableSource, check_width, counted, opened, reading_table
from graphfilter.util.arrow import csv as arrow_csv, pa
from graphfilter.util.errors import ConfigError, import_extra
from graphfilter.util.files import Budget
from graphfilter.util.words import count

CANDIDATES = (",", ";", "\t", "|", " ")
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "space"}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SEP_LINE = re.compile(r'\ufeff?"?sep=([!#-/:-@\[-`{-~\t ])"?\s*?(\r\n|\r|\n|$)', re.IGNORECASE)
# The first lines decide on the delimiter: so much text, and so many records of it.
_HEAD_BYTES = 1 << 16
_MOST_RECORDS = 200
# A report may have so many lines of title above its header.
_MOST_TITLE = 5
# Above this share of letters that are not ASCII, a text is not in a Western language.
_NOT_WESTERN = 0.4


@dataclass(frozen=True)
class TextOptions:
    r"""What the user says about text files; None is found out.

    Attributes
    ----------
    delimiter : str or None
        One character, or its name: comma, semicolon, tab, pipe, space.
    encoding : str or None
        As Python names it: utf-8, utf-16, cp1252, latin-1, ...
    decimal : str or None
        ``'.'`` or ``','``.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.data.TextOptions(delimiter=";", decimal=",")
    TextOptions(delimiter=';', encoding=None, decimal=',')
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            by_name = {name: sign for sign, name in _NAMES.items()}
            sign = by_name.get(self.delimiter.lower(), self.delimiter.replace("\\t", "\t"))
            if len(sign) != 1 or not sign.isascii() or sign in '"\r\n\0':
                known = ", ".join(by_name)
                raise ConfigError(
                    f"the delimiter must be one character or {known}; got {self.delimiter!r}."
                )
            object.__setattr__(self, "delimiter", sign)
        if self.decimal not in (None, ".", ","):
            raise ConfigError(f"the decimal sign must be '.' or ','; got {self.decimal!r}.")
        if self.encoding is not None:
            try:
                "é".encode(self.encoding, "replace").decode(self.encoding, "replace")
            except LookupError:
                raise ConfigError(
                    f"unknown encoding {self.encoding!r}. Known: utf-8, utf-16, cp1252, latin-1 "
                    "and the others of Python."
                ) from None


def find_encoding(chunks: Iterable[bytes]) -> str:
    """Find the encoding of a file, given piece by piece from its beginning.

    Every piece is taken, whatever the first ones show, so that the caller can count them.
    """
    decoder, encoding, n_letters = codecs.getincrementaldecoder("utf-8")(), "", 0
    for i, chunk in enumerate(chunks):
        if i == 0:
            encoding = _by_mark(chunk)
        if encoding:
            continue
        try:
            text = decoder.decode(chunk)
        except UnicodeDecodeError as error:
            n_letters += _count_high(error.object[: error.start].decode("utf-8", "ignore"))
            encoding = _without_mark(chunk, n_letters)
        else:
            n_letters += 0 if text.isascii() else _count_high(text)
    return encoding or "utf-8"


def _by_mark(head: bytes) -> str:
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    # Western text in UTF-16 has a zero in every other byte; text in UTF-8 has none.
    sample = head[: 1 << 12]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) > 0.4 * len(sample) / 2 and min(even, odd) < 0.1 * len(sample) / 2:
        return "utf-16-le" if odd > even else "utf-16-be"
    return ""


def _without_mark(chunk: bytes, n_letters: int) -> str:
    """Choose for a file that is not UTF-8, after ``n_letters`` letters that were."""
    text = chunk.decode("utf-8", "replace")
    if n_letters + _count_high(text.replace("\ufffd", "")) > text.count("\ufffd"):
        return "utf-8"  # with some damage, which the parser will name
    letters = sum(byte >= 128 or chr(byte).isalpha() for byte in chunk[:_HEAD_BYTES])
    if sum(byte >= 128 for byte in chunk[:_HEAD_BYTES]) > _NOT_WESTERN * letters:
        what = "finding the encoding of text that is neither Unicode nor Western"
        found = import_extra("charset_normalizer", "formats", what).from_bytes(chunk[:_HEAD_BYTES])
        best = found.best()
        if best is not None and "\0" not in str(best):
            return best.encoding
    undefined = chunk.translate(None, bytes(b for b in range(256) if b not in _UNDEFINED_1252))
    return "latin-1" if undefined else "cp1252"


_UNDEFINED_1252 = b"\x81\x8d\x8f\x90\x9d"


def _count_high(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))


def find_delimiter(head: str, expected: str, *, whole: bool) -> tuple[str, int]:
    r"""Find what separates the columns, and the number of lines to skip before the header.

    Parameters
    ----------
    head : str
        The beginning of the file; ``whole`` where it is all of it.
    expected : str
        Taken where nothing shows otherwise.

    Examples
    --------
    >>> find_delimiter("id;price\n1;2,5\n2;3,5\n", ",", whole=True)
    (';', 0)
    >>> find_delimiter("sep=|\nid|price\n", ",", whole=True)
    ('|', 1)
    """
    if told := _SEP_LINE.match(head):
        return told[1], 1
    # Unescaped quotes inside a cell are an error of the strict parser, though people write them.
    for strict in (True, False):
        best, answer = (0.0, False, 0), (expected, 0)
        for sign in sorted(CANDIDATES, key=lambda sign: sign != expected):
            n_fields, share, skip = _try(head.lstrip("\ufeff"), sign, whole, strict)
            # A space separates only what nothing else does: words may hold one each.
            fits = n_fields >= 2 and (share == 1 or sign != " ")
            if fits and (score := (share, sign != " ", n_fields)) > best:
                best, answer = score, (sign, skip)
        if best[0]:
            return answer
    return expected, 0


def _try(head: str, sign: str, whole: bool, strict: bool) -> tuple[int, float, int]:
    """Parse the first lines with a delimiter.

    Return how many fields the header has, the share of the lines below with as many, and the
    number of lines above it.
    """
    records: list[tuple[list[str], int]] = []
    reader = csv.reader(io.StringIO(head, newline=""), delimiter=sign, strict=strict)
    try:
        for record in reader:
            if record:
                records.append((record, reader.line_num))
            if len(records) == _MOST_RECORDS:
                break
    except csv.Error:
        # A quote where this delimiter has none; or, where the text is cut off, an open one.
        if whole or len(records) < 2:
            return 0, 0.0, 0
    else:
        if not whole and 1 < len(records) < _MOST_RECORDS:
            records.pop()  # its line is cut off
    first = _find_header([record for record, _ in records])
    counts = [len(record) for record, _ in records[first:]]
    if not counts:
        return 0, 0.0, 0
    skip = records[first][1] - 1 if first else 0
    return counts[0], counts.count(counts[0]) / len(counts), skip


def _find_header(records: list[list[str]]) -> int:
    """Return which record is the header: the first, or the first below the lines of a title.

    A title has one cell, or the others are empty, above at least three lines of more.
    """
    counts = Counter(len(record) for record in records)
    usual = counts.most_common(1)[0][0] if counts else 0
    for i, record in enumerate(records[: 1 + _MOST_TITLE]):
        filled = sum(bool(cell.strip()) for cell in record)
        if usual < 3 or filled > 1:
            return i if usual >= 3 and len(record) == usual and len(records) > i + 2 else 0
    return 0


# Ids are looked up block by block in a hash table that is built for each block: large blocks
# are faster, small ones take less memory. A row must fit into a block.
BLOCK_BYTES = 16 << 20
# A byte of text becomes part of a cell, which has a place to start as well.
_BYTES_PER_BYTE = 2
_CHUNK_BYTES = _COUNTED_BYTES = 1 << 20


class TextTable(TableSource):
    """A table in a text file: how it is written is found when it is opened."""

    may_lack_header = True
    row_word = "line"

    def __init__(self, path: Path | Part, options: TextOptions) -> None:
        super().__init__(path)
        self._path, self._packed = path, path.name.lower().endswith(".gz")
        self.decimal = options.decimal
        expected = "\t" if ".tsv" in str(path).lower() else ","
        with reading_table(path):
            # Each file is read once to the end: what it unpacks to is counted, its encoding found.
            encoding = find_encoding(self._chunks())
            self._encoding = options.encoding or encoding
            with self._open(path) as stream:
                head = stream.read(_HEAD_BYTES)
            text = codecs.getincrementaldecoder(self._encoding)("replace").decode(head)
            sign, self._skip = find_delimiter(text, expected, whole=len(head) < _HEAD_BYTES)
        self._delimiter = options.delimiter or sign
        self.in_pieces = self._encoding == "utf-8"
        self.decimal_hint = "," if self._delimiter == ";" else "."
        self.first_row = 2 + self._skip
        said: list[str] = []
        if self._delimiter != expected:
            said.append(f"columns separated by {_NAMES.get(self._delimiter, self._delimiter)}")
        if self._encoding != "utf-8":
            said.append(f"encoding {self._encoding}")
        if self._skip:
            said.append(f"{count(self._skip, 'line')} above the header")
        if said and (options.delimiter is None or options.encoding is None):
            self.notes = (f"{path.name}: found {', '.join(said)}.",)

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns, from the first lines alone where these hold the header."""
        with reading_table(self._path):
            for n_bytes in (_HEAD_BYTES, BLOCK_BYTES):
                with self._open(self._source()) as stream:
                    lines = stream.read(n_bytes).splitlines(keepends=True)
                header = next((line for line in lines[self._skip :] if line.strip()), b"")
                if header and header is not lines[-1]:
                    break
            check_width(self._path, header.count(self._delimiter.encode()) + 1)
            source = self._source()
            # A quoted name may go on in the next line.
            if header and (header.count(b'"') % 2 == 0):
                # In memory of Arrow's own: its threads may let go of it after Python shut down.
                sink = pa.BufferOutputStream()
                sink.write(b"".join([*lines[: self._skip], header]))
                source = pa.BufferReader(sink.getvalue())
            with arrow_csv.open_csv(source, **self._options()) as reader:
                return reader.schema.names

    def count_rows(self) -> tuple[int, int]:
        with opened(self._path) as file:
            stream = pa.CompressedInputStream(file, "gzip") if self._packed else file
            head = stream.read(_COUNTED_BYTES)
            # How far the file itself was read, which is less where it is packed.
            size, read = file.size(), file.tell()
        n_lines = max(1, head.count(b"\n"))
        return size * n_lines // max(1, read), len(head) // n_lines

    def read(self, names: list[str]) -> pa.Table:
        with reading_table(self._path):
            try:
                return arrow_csv.read_csv(self._source(), **self._options(names, use_threads=True))
            except pa.ArrowInvalid:
                # One thread alone knows the line of what is wrong.
                return arrow_csv.read_csv(self._source(), **self._options(names))

    def read_batches(self, names: list[str], header: bool) -> Iterator[pa.RecordBatch]:
        with (
            reading_table(self._path),
            arrow_csv.open_csv(self._source(), **self._options(names, header=header)) as reader,
        ):
            yield from counted(reader, self._path)

    def _options(
        self, names: list[str] | None = None, *, header: bool = True, use_threads: bool = False
    ) -> dict[str, Any]:
        """Read these columns, or all, as text: what the text means is decided later, not here."""
        reading = arrow_csv.ReadOptions(use_threads=use_threads, block_size=BLOCK_BYTES)
        reading.autogenerate_column_names = not header
        reading.skip_rows = self._skip
        types = dict.fromkeys(names or (), pa.string())
        return {
            "read_options": reading,
            "parse_options": arrow_csv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True
            ),
            "convert_options": arrow_csv.ConvertOptions(include_columns=names, column_types=types),
        }

    def _source(self) -> Any:
        """Return what pyarrow reads UTF-8 from: the file, or a copy of it in memory."""
        if self._encoding != "utf-8":
            return pa.BufferReader(self._utf8)
        return self._path if isinstance(self._path, Path) else self._open(self._path)

    @cached_property
    def _utf8(self) -> Any:
        """The file in UTF-8: pyarrow could decode, but calls Python from its own threads for it."""
        decoder = codecs.getincrementaldecoder(self._encoding)()
        budget, sink = Budget(self._path), pa.BufferOutputStream()
        for chunk in self._chunks():
            budget.spend(2 * _BYTES_PER_BYTE * len(chunk), "it is written again in UTF-8")
            sink.write(decoder.decode(chunk).encode())
        sink.write(decoder.decode(b"", final=True).encode())
        return sink.getvalue()

    def _open(self, source: Any) -> Any:
        """Open the file as what it unpacks to, or its copy in memory."""
        if source is not self._path:
            return source
        file = opened(source)
        return pa.CompressedInputStream(file, "gzip") if self._packed else file

    def _chunks(self) -> Iterator[bytes]:
        """Read the file piece by piece, counting what a packed one unpacks to.

        Counting while Arrow parses would call Python from Arrow's threads, which may then never
        end.
        """
        budget, n_bytes = Budget(self._path), 0
        with self._open(self._path) as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                n_bytes += len(chunk)
                if self._packed:
                    what = f"it unpacks to {n_bytes:,} bytes or more"
                    budget.spend(_BYTES_PER_BYTE * len(chunk), what)
                yield chunk
