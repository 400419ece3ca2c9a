"""Tables that were sent to the studio: kept on disk until they are read, within a limit."""

from __future__ import annotations

import asyncio
import re
import secrets
import threading
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from graphfilter.tables.formats import TABLES
from graphfilter.util.errors import ConfigError, DataFileError
from graphfilter.web.server import PATIENCE, BodySizeError, SlowBodyError

# Tables that were sent and never read: the oldest goes when there are more.
MOST_WAITING = 8
_CHUNK = 1 << 16
# An upload goes on within so many seconds, or is given up.
SECONDS_BETWEEN = 10.0


@dataclass(frozen=True)
class Upload:
    """A file that was sent, under the name it had."""

    path: Path
    name: str


class Uploads:
    """Receives tables into a folder and returns each once.

    Parameters
    ----------
    folder : Path
    limit : int
        The most bytes of one table, as it is sent and unpacked.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._waiting: dict[str, Upload] = {}
        self._lock = threading.Lock()

    async def receive(self, name: str, chunks: AsyncIterator[bytes]) -> str:
        """Write an upload to disk as it comes, and return its key; nothing large is in memory.

        One that is broken off, or too large, leaves no file.
        """
        ending = next((e for e in TABLES if name.lower().endswith(e)), None)
        # Only the last part of the name, without what could break a command or a folder.
        shown = re.sub(r"[^\w.\- ]", "_", re.split(r"[/\\]", name)[-1])
        if ending is None:
            known = ", ".join(TABLES)
            raise DataFileError(shown, f"must be a table: {known}. Export it as CSV.")
        key = secrets.token_hex(8)
        upload = Upload(self._folder / f"upload-{key}{ending}", shown)
        try:
            await self._write(upload, chunks)
        except BaseException:
            upload.path.unlink(missing_ok=True)
            raise
        with self._lock:
            self._waiting[key] = upload
            oldest = next(iter(self._waiting))
            forgotten = self._waiting.pop(oldest) if len(self._waiting) > MOST_WAITING else None
        if forgotten is not None:
            forgotten.path.unlink(missing_ok=True)
        return key

    def take(self, key: str) -> Upload:
        """Return an upload, to be read and removed by the caller."""
        with self._lock:
            if key not in self._waiting:
                raise ConfigError("a table is missing; upload the edges and the vertices again.")
            return self._waiting.pop(key)

    def look_up(self, key: str) -> Upload:
        """Return an upload, which stays."""
        with self._lock:
            if key not in self._waiting:
                raise ConfigError("this table is no longer here; choose it again.")
            return self._waiting[key]

    async def _write(self, upload: Upload, chunks: AsyncIterator[bytes]) -> None:
        packed = upload.path.suffix == ".gz"
        unpacked = _Unpacked(upload.name)
        size = 0
        with upload.path.open("wb") as file:
            async for chunk in _prompt(chunks, upload.name):
                size += len(chunk)
                if size > PATIENCE * self._limit:
                    break
                if max(size, unpacked.size) <= self._limit:
                    file.write(chunk)
                    if packed:
                        unpacked.add(chunk, self._limit)
        if max(size, unpacked.size) > self._limit:
            raise BodySizeError(
                f"{upload.name}: must be at most {self._limit >> 20} MB to be uploaded, unpacked "
                "too. Fit it with graphfilter fit, or raise graphfilter studio --upload-limit."
            )


async def _prompt(chunks: AsyncIterator[bytes], name: str) -> AsyncIterator[bytes]:
    """Pass on what is sent; raise where nothing comes for too long."""
    while True:
        try:
            async with asyncio.timeout(SECONDS_BETWEEN):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise SlowBodyError(f"{name}: the upload stopped on its way; send it again.") from None
        yield chunk


class _Unpacked:
    """Counts what gzipped bytes unpack to, without keeping it."""

    def __init__(self, name: str) -> None:
        self.size = 0
        self._name = name
        self._stream = zlib.decompressobj(wbits=31)

    def add(self, chunk: bytes, limit: int) -> None:
        try:
            while chunk and self.size <= limit:
                self.size += len(self._stream.decompress(chunk, _CHUNK))
                chunk = self._stream.unconsumed_tail
                if self._stream.eof:
                    # Another member may follow: gzipped files can be joined.
                    chunk = self._stream.unused_data
                    self._stream = zlib.decompressobj(wbits=31)
        except zlib.error:
            raise DataFileError(
                self._name, "must be gzipped, as its name says; it is not."
            ) from None
