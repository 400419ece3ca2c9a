"""Tables in parts, here or elsewhere: folders of files, globs, partitioned datasets and URLs.

Below a URL rows are written as Parquet files, and in the end a manifest that names them.

URLs (``s3://``, ``gs://``, ``abfs://``, ``hdfs://``) are read through the filesystems of pyarrow,
others through those of fsspec. Of a Delta table the parts of its last version are read.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from fnmatch import fnmatch
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from graphfilter.tables.source import Part, TableSource, reading_table
from graphfilter.util.arrow import pa, parquet
from graphfilter.util.errors import ConfigError, DataFileError, import_extra
from graphfilter.util.files import IS_URL
from graphfilter.util.words import count

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
# What a filesystem that does not answer is given, in seconds, and how often it is asked again.
_CONNECT, _REQUEST, _ATTEMPTS = 5, 30, 3
# How long a filesystem has for its first answer.
_SECONDS = 20.0
T = TypeVar("T")


def find_parts(place: str | PathLike[str]) -> list[Part]:
    """List the files of a folder, of a glob or below a URL, in the order of their names.

    Those whose name, or that of a folder above them, begins with a dot or an underscore are notes
    of the programs that wrote the others.
    """
    from pyarrow import fs

    text = fspath(place)
    with reading_table(text):
        system, path = _within(_SECONDS, lambda: open_system(text))
        root = re.split(r"/[^/]*[*?\[]", path, maxsplit=1)[0]
        infos = [_within(_SECONDS, lambda: system.get_file_info(root))]
        if infos[0].type == fs.FileType.Directory:
            infos = system.get_file_info(fs.FileSelector(root, recursive=True))
    kept = [
        info
        for info in infos
        if info.is_file and not re.search(r"(^|/)[._]", info.path[len(root) :])
        and (root == path or fnmatch(info.path, path))
    ]  # fmt: skip
    if any("/_delta_log/" in info.path for info in infos):
        what = "reading a Delta table"
        live = import_extra("deltalake", "lake", what).DeltaTable(text).file_uris()
        names = {unquote(uri).rpartition("/")[2] for uri in live}
        kept = [info for info in kept if unquote(info.base_name) in names]
    if not kept:
        raise DataFileError(text, "there is no such file. Check the path.")
    before = text[: -len(path)] if text.endswith(path) else f"{text.partition('://')[0]}://"
    return [
        Part(system, info.path, before + info.path, (info.size or 0, info.mtime_ns or 0))
        for info in sorted(kept, key=lambda info: info.path)
    ]


def _within(seconds: float, ask: Callable[[], T]) -> T:
    """Return what is asked for; raise where there is no answer after so many seconds.

    Some filesystems ask again for a quarter of an hour.
    """
    answer: Future[T] = Future()

    def call() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    try:
        return answer.result(seconds)
    except TimeoutError:
        raise OSError(f"no answer within {seconds:g} seconds") from None


def open_system(text: str) -> tuple[Any, str]:
    """Return the filesystem of a path or URL, and the path in it."""
    from pyarrow import fs

    if not IS_URL.match(text):
        return fs.LocalFileSystem(), text
    url = urlsplit(text)
    if url.scheme == "s3":
        again = fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS)
        asked: dict[str, Any] = dict(parse_qsl(url.query))
        named = (os.environ.get(name) for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"))
        asked.setdefault("endpoint_override", next(filter(None, named), None))
        system = fs.S3FileSystem(
            connect_timeout=_CONNECT, request_timeout=_REQUEST, retry_strategy=again, **asked
        )
        return system, f"{url.netloc}{url.path}".rstrip("/")
    try:
        return fs.FileSystem.from_uri(text)
    except pa.ArrowInvalid:
        fsspec = import_extra("fsspec", "lake", f"reading {url.scheme}://")
        try:
            own, path = fsspec.core.url_to_fs(text)
        except (ValueError, ImportError) as error:
            raise OSError(f"no filesystem for it is installed ({error})") from None
        return fs.PyFileSystem(fs.FSSpecHandler(own)), path


def partition_values(path: str) -> dict[str, str | None]:
    """Return what the folders above a file say of its rows.

    >>> partition_values("orders/day=2024-01-02/land=a%20b/part-0.parquet")
    {'day': '2024-01-02', 'land': 'a b'}
    """
    pairs = (folder.partition("=") for folder in path.split("/")[:-1])
    said = {name: unquote(value) for name, sign, value in pairs if sign and name}
    return {name: None if value == _NO_VALUE else value for name, value in said.items()}


MANIFEST = "_manifest.json"


def check_place(url: str, *, overwrite: bool) -> None:
    """Raise where a URL cannot be asked, or holds rows that :func:`write_parts` has written."""
    with reading_table(url):
        system, folder = _within(_SECONDS, lambda: open_system(url))
        found = _within(_SECONDS, lambda: system.get_file_info(f"{folder}/{MANIFEST}"))
    if found.is_file and not overwrite:
        raise ConfigError(f"{url}: exists; pass `overwrite=True` to replace it, or another name.")


def write_parts(url: str, batches: Iterable[pa.RecordBatch]) -> None:
    """Write each batch as a Parquet file below a URL; those of an earlier manifest are replaced."""
    try:
        system, folder = open_system(url)

        def put(name: str, content: Any) -> None:
            with system.open_output_stream(f"{folder}/{name}") as stream:
                stream.write(content)

        if system.get_file_info(f"{folder}/{MANIFEST}").is_file:
            with system.open_input_stream(f"{folder}/{MANIFEST}") as stream:
                before = json.loads(stream.read())
            for name in (MANIFEST, *(Path(part["file"]).name for part in before["parts"])):
                system.delete_file(f"{folder}/{name}")
        parts: list[dict[str, Any]] = []
        for i, batch in enumerate(batches):
            sink = pa.BufferOutputStream()
            parquet.write_table(pa.Table.from_batches([batch]), sink)
            parts.append({"file": f"part-{i:05}.parquet", "rows": len(batch)})
            put(parts[-1]["file"], sink.getvalue())
        rows = sum(part["rows"] for part in parts)
        put(MANIFEST, json.dumps({"rows": rows, "parts": parts}).encode())
    except (pa.ArrowException, OSError, KeyError) as error:
        text = " ".join(str(error).split())[:200].rstrip(".")
        remedy = "Check the address and the credentials; without a manifest, what is there is part"
        raise DataFileError(url, f"cannot be written: {text}. {remedy}.") from None


class PartsTable(TableSource):
    """Several files as one table: the rows of one after another.

    Parameters
    ----------
    label : path
        What was asked for.
    tables : sequence of TableSource
        All with the columns of the first; those in parts of a dataset have columns besides that
        its folders name.
    values : sequence of mappings
        The values of these columns in each.
    """

    def __init__(
        self,
        label: str | PathLike[str],
        tables: Sequence[TableSource],
        values: Sequence[Mapping[str, str | None]],
        written: Sequence[tuple[int, int]],
    ) -> None:
        super().__init__(label)
        self._tables, self._values, self._written = tables, values, written
        first = tables[0]
        self.decimal, self.decimal_hint = first.decimal, first.decimal_hint
        self.in_pieces = all(table.in_pieces for table in tables)
        self.notes = first.notes
        if len(tables) > 1:
            self.notes = (*first.notes, f"{self.name}: {count(len(tables), 'part')}.")

    @property
    def name(self) -> str:
        place = self.label.partition("?")[0] if IS_URL.match(self.label) else self.label
        plain = [part for part in Path(place).parts if not re.search(r"[*?\[=]", part)]
        return plain[-1] if plain else self.label

    @cached_property
    def names(self) -> list[str]:
        own = self._tables[0].names
        return [*own, *(name for name in self._values[0] if name not in own)]

    def count_rows(self) -> tuple[int, int]:
        rows, widths = zip(*(table.count_rows() for table in self._tables), strict=True)
        return sum(rows), max(widths)

    def fingerprint(self) -> list[Any]:
        return [[table.label, *own] for table, own in zip(self._tables, self._written, strict=True)]

    def read(self, names: list[str]) -> pa.Table:
        with reading_table(self):
            parts = [
                self._rows(at, table.read(self._own(at, names)), names)
                for at, table in enumerate(self._tables)
            ]
            return pa.concat_tables(parts, promote_options="permissive")

    def read_batches(self, names: list[str], header: bool) -> Iterator[pa.RecordBatch]:
        kinds: pa.Schema | None = None
        for at, table in enumerate(self._tables):
            for batch in table.read_batches(self._own(at, names), header):
                with reading_table(table):
                    rows = self._rows(at, pa.Table.from_batches([batch]), names)
                    kinds = kinds or rows.schema
                    yield from rows.cast(kinds).to_batches()

    def _own(self, at: int, names: list[str]) -> list[str]:
        """Return which of these columns a part holds, or one that says how many rows it has."""
        table, values = self._tables[at], self._values[at]
        lacking = [name for name in names if name not in table.names and name not in values]
        if lacking:
            problem = f"there is no column {lacking[0]!r}, which the first part has"
            raise DataFileError(table, f"{problem}. Write the parts with the same columns.")
        return [name for name in names if name in table.names] or table.names[:1]

    def _rows(self, at: int, rows: pa.Table, names: list[str]) -> pa.Table:
        """Return these columns of a part, those of its folders among them."""
        for name, value in self._values[at].items():
            if name in names and name not in rows.column_names:
                rows = rows.append_column(name, pa.array([value] * len(rows), pa.string()))
        return rows.select(names)
