"""The graphs of a studio: named datasets that are available, and tables that were uploaded."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from graphfilter.data.datasets import dataset_names, describe, load_dataset, locate
from graphfilter.data.from_tables import read_tables
from graphfilter.report.html import plain
from graphfilter.report.page import describe_size
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.spectral import label_energy
from graphfilter.tables.formats import open_table
from graphfilter.tables.roles import Columns
from graphfilter.util.errors import ConfigError, GraphFilterError
from graphfilter.web.uploads import Upload, Uploads

# Graphs in memory: the oldest goes when there are more. Runs keep their own.
MOST_GRAPHS = 16
# The columns that a page can choose: options of the command line too.
COLUMNS = ("id", "label", "source", "target")


@dataclass(frozen=True, eq=False)
class Entry:
    """A graph that runs can be made on."""

    key: str
    source: Source
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        graph = self.source.graph
        notes = list(self.notes)
        return {"key": self.key, "name": graph.name, "size": describe_size(graph), "notes": notes}

    @cached_property
    def energy(self) -> dict[str, Any]:
        """The energy of the labels over the spectrum, the mean of the classes; slow to make."""
        found = label_energy(self.source.graph)
        known = found.values[np.isfinite(found.values).all(axis=1)]
        mean = known.mean(axis=0) if len(known) else []
        return {"x": plain(found.centres), "y": plain(mean)}


class GraphStore:
    """Keeps graphs in memory, each under a key, and the uploads they are read from.

    Attributes
    ----------
    start : Entry or None
        The graph that the studio was started with; it always stays.
    """

    def __init__(
        self,
        folder: Path,
        upload_limit: int,
        source: Source | None = None,
    ) -> None:
        self.uploads = Uploads(folder, upload_limit)
        self._entries: dict[str, Entry] = {}
        self._lock = threading.Lock()
        self.start = None if source is None else _make_entry(source)

    @staticmethod
    def at_hand() -> list[dict[str, str]]:
        """List the datasets that need no download: embedded ones first, then those on disk."""
        embedded = [n for n in dataset_names() if describe(n).is_made]
        # With directions a fit trains twice, which a page that shows one training cannot show.
        others = [n for n in dataset_names() if n not in embedded and describe(n).base is None]
        on_disk = [n for n in others if locate(n) is not None]
        return [{"name": n, "summary": describe(n).summary} for n in (*embedded, *on_disk)]

    def add(self, source: Source) -> Entry:
        """Add a graph, which must be suitable for fitting."""
        entry = _make_entry(source)
        with self._lock:
            self._entries[entry.key] = entry
            if len(self._entries) > MOST_GRAPHS:
                del self._entries[next(iter(self._entries))]
        return entry

    def add_dataset(self, name: str) -> Entry:
        """Load a dataset that is available, once."""
        dataset = describe(name)
        if not dataset.is_made and locate(dataset.name) is None:
            raise ConfigError(
                f"{dataset.name} is not on this machine yet: graphfilter data get {dataset.name} "
                "downloads it."
            )
        words = ("--dataset", dataset.name)
        with self._lock:
            for entry in self._entries.values():
                if entry.source.words == words:
                    return entry
        graph = load_dataset(dataset.name)
        return self.add(Source(graph, origin={"dataset": dataset.name}, words=words))

    def columns_of(self, key: str) -> list[str]:
        """Return the names of the columns of an uploaded table."""
        upload = self.uploads.look_up(key)
        try:
            return open_table(upload.path).names
        except GraphFilterError as error:
            raise _renamed(error, upload) from None

    def add_tables(self, edges: str, vertices: str, columns: Columns) -> Entry:
        """Read two uploaded tables, with the errors of the command line; the files go then."""
        first = self.uploads.take(edges)
        try:
            second = self.uploads.take(vertices)
            try:
                return self._read(first, second, columns)
            finally:
                second.path.unlink(missing_ok=True)
        finally:
            first.path.unlink(missing_ok=True)

    def _read(self, first: Upload, second: Upload, columns: Columns) -> Entry:
        try:
            graph, encoder = read_tables(first.path, second.path, columns=columns)
        except GraphFilterError as error:
            raise _renamed(error, first, second) from None
        name = second.name.split(".")[0]
        notes = tuple(_named(note, first, second) for note in graph.notes)
        graph = graph.replace(name=name, notes=notes)
        origin = {"edges": first.name, "vertices": second.name}
        words = ("--edges", first.name, "--vertices", second.name)
        for name in COLUMNS:
            if (chosen := getattr(columns, name)) is not None:
                words += (f"--{name}", chosen)
        return self.add(Source(graph, encoder, origin, columns, words))

    def get(self, key: str) -> Entry:
        """Return the graph of this key."""
        if self.start is not None and key == self.start.key:
            return self.start
        with self._lock:
            if key not in self._entries:
                raise ConfigError("there is no such graph; load or upload it again.")
            return self._entries[key]


def _make_entry(source: Source) -> Entry:
    return Entry(secrets.token_hex(8), source, plan_fit(source, 0).notes)


def _renamed(error: GraphFilterError, *uploads: Upload) -> ConfigError:
    """Return an error of reading, and the notes of what was found before, in the user's names."""
    renamed = ConfigError(_named(str(error), *uploads))
    for note in getattr(error, "__notes__", ()):
        renamed.add_note(_named(note, *uploads))
    return renamed


def _named(text: str, *uploads: Upload) -> str:
    """Name uploads as the user does, not by where they are stored."""
    for upload in uploads:
        text = text.replace(str(upload.path), upload.name).replace(upload.path.name, upload.name)
    return text
