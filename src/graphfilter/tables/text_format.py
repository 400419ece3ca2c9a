"""How a text file is written: its encoding, and what separates its columns.

Nothing is demanded of a file; what was found is said, and can be overridden.

- **Encoding**: a mark at the beginning decides; then UTF-16 by its zero bytes; then UTF-8, where
  the whole file is. What is left is read as Windows-1252, which Excel writes and of which Latin-1
  is all but a part. charset-normalizer, made for prose, named five of eight small Western tables
  wrongly (cp1250, cp864, cp1006), so it is asked only where most letters are not ASCII, as in
  Cyrillic, Greek, Chinese or Japanese.
- **Delimiter**: ``sep=`` in the first line decides, as in Excel. Otherwise the first lines are
  parsed with each candidate by the standard library's csv module, and the one that gives every
  line as many fields as the header wins. csv.Sniffer counts characters instead, and takes
  decimal commas for the delimiter.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike

from graphfilter.errors import ConfigError
from graphfilter.wording import count

CANDIDATES = (",", ";", "\t", "|", " ")
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "space"}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SEP_LINE = re.compile(r'\ufeff?"?sep=([!#-/:-@\[-`{-~\t ])"?\s*?(\r\n|\r|\n|$)', re.IGNORECASE)
# The first lines decide on the delimiter: so much text, and so many records of it.
HEAD_BYTES = 1 << 16
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
            by_name = {name: sign for sign, name in NAMES.items()}
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


@dataclass(frozen=True)
class TextFormat:
    """How one file is written.

    Attributes
    ----------
    encoding : str
    delimiter : str
    skip_lines : int
        Lines above the header: ``sep=``, or a title.
    """

    encoding: str
    delimiter: str
    skip_lines: int = 0

    def describe(self, name: str, expected: str) -> tuple[str, ...]:
        """Say what was found, where it is not what the file's name promises in UTF-8."""
        found: list[str] = []
        if self.delimiter != expected:
            found.append(f"columns separated by {NAMES.get(self.delimiter, self.delimiter)}")
        if self.encoding != "utf-8":
            found.append(f"encoding {self.encoding}")
        if self.skip_lines:
            found.append(f"{count(self.skip_lines, 'line')} above the header")
        return (f"{name}: found {', '.join(found)}.",) if found else ()


def expected_delimiter(path: str | PathLike[str]) -> str:
    """Return the delimiter that a file's name promises."""
    return "\t" if ".tsv" in str(path).lower() else ","


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
    letters = sum(byte >= 128 or chr(byte).isalpha() for byte in chunk[:HEAD_BYTES])
    if sum(byte >= 128 for byte in chunk[:HEAD_BYTES]) > _NOT_WESTERN * letters:
        from charset_normalizer import from_bytes

        best = from_bytes(chunk[:HEAD_BYTES]).best()
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
        found = Shape(expected)
        for sign in sorted(CANDIDATES, key=lambda sign: sign != expected):
            shape = _try(head.lstrip("\ufeff"), sign, whole, strict)
            # A space separates only what nothing else does: words may hold one each.
            fits = shape.n_fields >= 2 and (shape.share == 1 or sign != " ")
            if fits and shape.score > found.score:
                found = shape
        if found.n_fields:
            return found.sign, found.skip
    return expected, 0


@dataclass(frozen=True)
class Shape:
    """What the first lines are with one delimiter.

    Attributes
    ----------
    sign : str
        The delimiter.
    n_fields, share : int, float
        How many fields the header has, and the share of the lines below that have as many.
    skip : int
        The lines above the header.
    """

    sign: str
    n_fields: int = 0
    share: float = 0.0
    skip: int = 0

    @property
    def score(self) -> tuple[float, bool, int]:
        return self.share, self.sign != " ", self.n_fields


def _try(head: str, sign: str, whole: bool, strict: bool) -> Shape:
    """Parse the first lines with a delimiter."""
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
            return Shape(sign)
    else:
        if not whole and 1 < len(records) < _MOST_RECORDS:
            records.pop()  # its line is cut off
    first = _find_header([record for record, _ in records])
    counts = [len(record) for record, _ in records[first:]]
    if not counts:
        return Shape(sign)
    skip = records[first][1] - 1 if first else 0
    return Shape(sign, counts[0], counts.count(counts[0]) / len(counts), skip)


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
