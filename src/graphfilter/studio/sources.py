"""The graphs of a studio: named datasets that are at hand, and tables that were uploaded."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphfilter.data import Columns, dataset_names, describe, load_dataset, locate, read_tables
from graphfilter.errors import ConfigError, DataFileError, GraphFilterError
from graphfilter.report.run_page import describe_size
from graphfilter.run_folder import Source, plan_fit

TABLE_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
# What is sent beyond the limit is read and thrown away up to so many times it, so that the
# sender gets its answer; beyond that the connection is cut.
_PATIENCE = 20


class UploadSizeError(GraphFilterError):
    """More bytes than the studio takes."""


@dataclass(frozen=True)
class Upload:
    """A file that was sent, under the name it had."""

    path: Path
    name: str


@dataclass(frozen=True, eq=False)
class Entry:
    """A graph that runs can be made on, and the words of the command line that name it."""

    key: str
    source: Source
    arguments: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        graph = self.source.graph
        notes = [*graph.notes, *plan_fit(self.source, 0).notes[len(graph.notes) :]]
        return {"key": self.key, "name": graph.name, "size": describe_size(graph), "notes": notes}


class Sources:
    """Keeps uploads in a folder and graphs in memory, each under a key."""

    def __init__(self, folder: Path, upload_limit: int) -> None:
        self._folder = folder
        self._limit = upload_limit
        self._uploads: dict[str, Upload] = {}
        self._entries: dict[str, Entry] = {}
        self._lock = threading.Lock()

    @staticmethod
    def at_hand() -> list[dict[str, str]]:
        """List the datasets that need no download: embedded ones first, then those on disk."""
        embedded = [n for n in dataset_names() if describe(n).reader == "make"]
        on_disk = [n for n in dataset_names() if n not in embedded and locate(n) is not None]
        return [{"name": n, "summary": describe(n).summary} for n in (*embedded, *on_disk)]

    def add(self, source: Source, arguments: tuple[str, ...]) -> Entry:
        """Take in a graph; it must be fit for fitting."""
        plan_fit(source, 0)
        entry = Entry(secrets.token_hex(8), source, arguments)
        with self._lock:
            self._entries[entry.key] = entry
        return entry

    def add_dataset(self, name: str) -> Entry:
        """Load a dataset that is at hand."""
        entry = describe(name)
        if entry.reader != "make" and locate(entry.name) is None:
            raise ConfigError(
                f"{entry.name} is not on this machine yet: graphfilter data get {entry.name} "
                "downloads it."
            )
        graph = load_dataset(entry.name)
        return self.add(Source(graph, origin={"dataset": entry.name}), ("--dataset", entry.name))

    def add_tables(self, edges: str, vertices: str, label: str | None) -> Entry:
        """Read two uploaded tables, with the errors that the command line gives."""
        first, second = self._upload(edges), self._upload(vertices)
        try:
            graph, encoder = read_tables(first.path, second.path, columns=Columns(label=label))
        except GraphFilterError as error:
            raise ConfigError(_named(str(error), first, second)) from None
        name = second.name.split(".")[0]
        notes = tuple(_named(note, first, second) for note in graph.notes)
        graph = graph.replace(name=name, notes=notes)
        origin = {"edges": first.name, "vertices": second.name}
        arguments = ("--edges", first.name, "--vertices", second.name)
        if label is not None:
            arguments += ("--label", label)
        return self.add(Source(graph, encoder, origin), arguments)

    def get(self, key: str) -> Entry:
        """Return the graph of this key."""
        with self._lock:
            if key not in self._entries:
                raise ConfigError("there is no such graph; load or upload it again.")
            return self._entries[key]

    async def receive(self, name: str, chunks: AsyncIterator[bytes]) -> str:
        """Write an upload to disk as it comes, and return its key; nothing large is in memory."""
        ending = next((e for e in TABLE_ENDINGS if name.lower().endswith(e)), None)
        if ending is None:
            known = ", ".join(TABLE_ENDINGS)
            raise DataFileError(name, f"must be a table: {known}. Export it as CSV.")
        key = secrets.token_hex(8)
        path = self._folder / f"upload-{key}{ending}"
        size = 0
        with path.open("wb") as file:
            async for chunk in chunks:
                size += len(chunk)
                if size <= self._limit:
                    file.write(chunk)
                elif size > _PATIENCE * self._limit:
                    break
        if size > self._limit:
            path.unlink()
            raise UploadSizeError(
                f"{name}: must be at most {self._limit >> 20} MB to be uploaded. "
                "Fit it with graphfilter fit, or raise graphfilter studio --upload-limit."
            )
        # Only the last part of the name, without what could break a command or a folder.
        shown = re.sub(r"[^\w.\- ]", "_", re.split(r"[/\\]", name)[-1])
        with self._lock:
            self._uploads[key] = Upload(path, shown)
        return key

    def _upload(self, key: str) -> Upload:
        with self._lock:
            if key not in self._uploads:
                raise ConfigError("a table is missing; upload the edges and the vertices again.")
            return self._uploads[key]


def _named(text: str, *uploads: Upload) -> str:
    """Speak of uploads by the names the user knows, not by where they are kept."""
    for upload in uploads:
        text = text.replace(str(upload.path), upload.name).replace(upload.path.name, upload.name)
    return text
