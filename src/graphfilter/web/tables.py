"""Tables that were sent to the studio, how each column was read, and the graphs they make."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool

from graphfilter.data.datasets import dataset_names, describe, load_dataset, locate
from graphfilter.data.from_tables import read_tables
from graphfilter.report.page import describe_size
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.tables.cells import Cells
from graphfilter.tables.encoder import ASKED_KINDS
from graphfilter.tables.formats import TABLES, open_table
from graphfilter.tables.roles import END_NAMES, Columns, key_of
from graphfilter.util.errors import ConfigError, DataFileError, GraphFilterError, check_name
from graphfilter.util.words import Noun
from graphfilter.web.server import RequestError, receive

# Tables on disk, and graphs in memory: the oldest goes when there are more. Runs keep their own.
MOST_TABLES, MOST_GRAPHS = 8, 16
# A packed file would hide how large it is.
ENDINGS = tuple(ending for ending in TABLES if not ending.endswith(".gz"))
# The most columns that are listed.
MOST_LISTED = 500
# An upload goes on within so many seconds, or is given up.
SECONDS_BETWEEN = 10.0
# What a column can be beside a feature of some kind.
VERTEX_ROLES = ("id", "label", "split")
EDGE_ROLES = ("source", "target", "weight", "edge_kind", "edge_time")
_NO_LABEL = "choose “label” beside the column that is to be predicted"
# How the command line and notebooks change what was guessed; the page has a list beside the column.
_TO_CHANGE = re.compile(r"(?:; | \()to change this: (?:`[^`]*`(?:, )?)+\)?")


class GraphRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A graph to read: a dataset, or tables by key and what was chosen for their columns."""

    dataset: str = ""
    vertices: str = ""
    edges: str = ""
    columns: dict[str, str] = {}
    edge_columns: dict[str, str] = {}

    def chosen(self) -> Columns:
        """Return the columns as they were chosen; the others are guessed."""
        roles: dict[str, Any] = {}
        kinds = {}
        for name, kind in self.columns.items():
            if check_name("kind of column", kind, (*VERTEX_ROLES, *ASKED_KINDS)) in VERTEX_ROLES:
                roles[kind] = name
            else:
                kinds[name] = kind
        for name, role in self.edge_columns.items():
            roles[check_name("role of a column", role, EDGE_ROLES)] = name
        drop = tuple(name for name, kind in kinds.items() if kind == "drop")
        features = tuple((name, kind) for name, kind in kinds.items() if kind != "drop")
        return Columns(**roles, drop=drop, kinds=features)

    def words(self, vertices: str, edges: str) -> tuple[str, ...]:
        """Return the words of the command line for the same graph."""
        words = ["--vertices", vertices, *(["--edges", edges] if edges else [])]
        for name, kind in (self.columns | self.edge_columns).items():
            is_role = kind in (*VERTEX_ROLES, *EDGE_ROLES)
            option = {"source": "--from", "target": "--to"}.get(kind, f"--{kind.replace('_', '-')}")
            words += [option, name] if is_role else ["--column", f"{name}={kind}"]
        return tuple(words)


@dataclass(frozen=True, eq=False)
class Entry:
    """A graph that can be fitted, and what there is to say of it."""

    key: str
    source: Source
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        graph, noun = self.source.graph, self.source.called
        notes = [noun.put(_TO_CHANGE.sub("", note)) for note in self.notes]
        size = describe_size(graph, noun)
        return {"key": self.key, "name": graph.name, "size": size, "notes": notes}


class Tables:
    """Keeps what was sent on disk, and graphs in memory, each under a key.

    Parameters
    ----------
    folder : Path
    limit : int
        The most bytes of one table, as it is sent and unpacked.
    source : Source, optional
        The graph that the studio was started with; it always stays.
    """

    def __init__(self, folder: Path, limit: int, source: Source | None = None) -> None:
        self._folder, self._limit = folder, limit
        self._uploads: dict[str, Path] = {}
        self._entries: dict[str, Entry] = {}
        self.start = None if source is None else _make_entry(source)

    @staticmethod
    def datasets() -> list[dict[str, str]]:
        """List the datasets that need no download."""
        names = [name for name in dataset_names() if describe(name).base is None]
        local = [n for n in names if describe(n).is_made or locate(n) is not None]
        return [{"name": name, "summary": describe(name).summary} for name in local]

    async def receive(self, name: str, chunks: AsyncIterator[bytes]) -> dict[str, Any]:
        """Write an upload to disk as it comes; one that is broken off or too large leaves no file.

        Returned are its key, and whether its columns are named like those of edges.
        """
        # Only the last part of the name, without what could break a command or a folder.
        shown = re.sub(r"[^\w.\- ]", "_", re.split(r"[/\\]", name)[-1])[-100:]
        if not shown.lower().endswith(ENDINGS):
            raise DataFileError(shown, f"must be a table: {', '.join(ENDINGS)}. Export it as CSV.")
        key = secrets.token_hex(8)
        path = self._folder / f"upload-{key}" / shown
        path.parent.mkdir()
        try:
            with path.open("wb") as file:
                fits = await receive(chunks, self._limit, SECONDS_BETWEEN, file.write, each=True)
            if not fits:
                problem = f"{shown}: must be at most {self._limit >> 20} MB."
                remedy = "Fit it with graphfilter fit, or raise graphfilter studio --upload-limit."
                raise RequestError(413, f"{problem} {remedy}", remedy)
            names = set(map(key_of, await run_in_threadpool(lambda: open_table(path).names)))
        except BaseException as error:
            shutil.rmtree(path.parent)
            if isinstance(error, TimeoutError):
                problem = f"{shown}: the upload stopped on its way; send it again."
                raise RequestError(408, problem, "Send it again.") from None
            if isinstance(error, GraphFilterError) and not isinstance(error, RequestError):
                raise ConfigError(_named(str(error), path)) from None
            raise
        self._uploads[key] = path
        if len(self._uploads) > MOST_TABLES:
            shutil.rmtree(self._uploads.pop(next(iter(self._uploads))).parent)
        return {"key": key, "has_ends": any(names.issuperset(pair) for pair in END_NAMES)}

    def read(self, request: GraphRequest) -> dict[str, Any]:
        """Read a graph; say how each column was read, and what is wrong where it cannot be fitted.

        The errors are those of the command line.
        """
        if request.dataset:
            return self._add_dataset(request.dataset).to_dict()
        vertices = self._upload(request.vertices)
        edges = self._upload(request.edges) if request.edges else None
        uploads = [vertices, *([edges] if edges else [])]
        columns, answer = request.chosen(), {"key": "", "problem": "", "notes": []}
        encoder = None
        try:
            graph, encoder = read_tables(edges, vertices, columns=columns)
            notes = tuple(_named(note, *uploads) for note in graph.notes)
            graph = graph.replace(name=vertices.name.split(".")[0], notes=notes)
            origin = {"vertices": vertices.name} | ({"edges": edges.name} if edges else {})
            words = request.words(vertices.name, edges.name if edges else "")
            answer |= self._add(Source(graph, encoder, origin, columns, words)).to_dict()
        except GraphFilterError as error:
            problem = _named(str(error), *uploads)
            problem = problem.replace("name the column of the labels with `label`", _NO_LABEL)
            answer["problem"] = Noun.found("", "").put(problem.replace("`", ""))
            notes = [_named(note, *uploads) for note in getattr(error, "__notes__", ())]
            answer["notes"] = [_TO_CHANGE.sub("", note) for note in notes]
        roles, edge_roles = {**request.columns}, {**request.edge_columns}
        if encoder is not None:
            place = {name: role for role, name in encoder.roles}
            roles = {column.name: column.kind for column in encoder.columns}
            roles |= {name: role for name, role in place.items() if role in VERTEX_ROLES}
            edge_roles |= {name: role for name, role in place.items() if role in EDGE_ROLES}
        answer["columns"] = self._list(vertices, roles, "drop" if encoder else "")
        answer["edge_columns"] = self._list(edges, edge_roles, "") if edges else []
        return answer

    def get(self, key: str) -> Entry:
        """Return the graph of this key."""
        entry = self.start if self.start and key == self.start.key else self._entries.get(key)
        if entry is None:
            raise ConfigError("there is no such graph; load or upload it again.")
        return entry

    def _upload(self, key: str) -> Path:
        if key not in self._uploads:
            raise ConfigError("a table is no longer here; choose it again.")
        return self._uploads[key]

    @staticmethod
    def _list(upload: Path, roles: Mapping[str, str], other: str) -> list[dict[str, Any]]:
        """Return each column of a table with how it was read, an example and what is missing."""
        table, columns = open_table(upload), []
        content = table.read(table.usable_names[:MOST_LISTED])
        for name in content.column_names:
            column = content.column(name)
            blank = Cells(column).blank
            example = "" if blank.all() else str(column[int(blank.argmin())].as_py())[:60]
            columns.append({
                "name": name, "kind": roles.get(name, other), "example": example,
                "missing": int(blank.sum()), "rows": len(blank),
            })  # fmt: skip
        return columns

    def _add(self, source: Source) -> Entry:
        entry = _make_entry(source)
        self._entries[entry.key] = entry
        if len(self._entries) > MOST_GRAPHS:
            del self._entries[next(iter(self._entries))]
        return entry

    def _add_dataset(self, name: str) -> Entry:
        """Load a dataset that is on this machine, once."""
        dataset = describe(name)
        if not dataset.is_made and locate(dataset.name) is None:
            raise ConfigError(
                f"{dataset.name} is not on this machine yet: graphfilter data get {dataset.name} "
                "downloads it."
            )
        words = ("--dataset", dataset.name)
        for entry in [*self._entries.values()]:
            if entry.source.words == words:
                return entry
        graph = load_dataset(dataset.name)
        return self._add(Source(graph, origin={"dataset": dataset.name}, words=words))


def _make_entry(source: Source) -> Entry:
    return Entry(secrets.token_hex(8), source, plan_fit(source, 0).notes)


def _named(text: str, *uploads: Path) -> str:
    """Name uploads as the user does, not by where they are stored."""
    for upload in uploads:
        text = text.replace(str(upload), upload.name)
    return text
