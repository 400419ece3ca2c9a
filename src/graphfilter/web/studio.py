"""The studio: a page for a table, on this machine only, at an address that cannot be guessed.

Tables are read once, when they are sent: how each column was read is shown, and what graph they
make. One fit is trained at a time, each watched, paused or stopped. Every address holds the token;
a request without it, under another host name or from another origin is refused.
"""

from __future__ import annotations

import re
import secrets
import shutil
import threading
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import unquote

import msgspec
import torch
from msgspec import Meta
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response

from graphfilter.data.datasets import dataset_names, describe, load_dataset, locate
from graphfilter.data.from_tables import read_tables
from graphfilter.estimators.graph import GraphClassifier, SGFClassifier
from graphfilter.report.html import TEMPLATES as SHARED_TEMPLATES, make_environment, plain
from graphfilter.report.page import describe_size, draw_run
from graphfilter.runs.folder import fit_folder
from graphfilter.runs.loading import REPORT_FILE
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.tables.cells import Cells
from graphfilter.tables.encoder import ASKED_KINDS
from graphfilter.tables.formats import TABLES, open_table
from graphfilter.tables.roles import END_NAMES, Columns, key_of
from graphfilter.training import Callback, Progress
from graphfilter.util.errors import ConfigError, DataFileError, GraphFilterError, check_name
from graphfilter.util.files import scratch_folder
from graphfilter.util.words import Noun
from graphfilter.web import server
from graphfilter.web.server import receive

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
                raise server.RequestError(413, f"{problem} {remedy}", remedy)
            names = set(map(key_of, await run_in_threadpool(lambda: open_table(path).names)))
        except BaseException as error:
            shutil.rmtree(path.parent)
            if isinstance(error, TimeoutError):
                problem = f"{shown}: the upload stopped on its way; send it again."
                raise server.RequestError(408, problem, "Send it again.") from None
            if isinstance(error, GraphFilterError) and not isinstance(error, server.RequestError):
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


SECONDS_TO_END = 5.0
WAITING, TRAINING, PAUSED, COMPARING = "waiting", "training", "paused", "comparing"
DONE, STOPPED, FAILED = "done", "stopped", "failed"


class Setting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may be chosen for a fit: the committee, or the paper's filter alone.

    The limits hold whatever a page sends.
    """

    model: Literal["committee", "filter"] = "committee"
    effort: Literal["low", "full", "high"] = "full"
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] = 0
    baselines: bool = True
    max_epochs: Annotated[int, Meta(ge=1, le=10_000)] = 1500

    def classifier(self) -> GraphClassifier | SGFClassifier:
        """Return the classifier to be fitted."""
        about = {"random_state": self.seed, "max_epochs": self.max_epochs}
        if self.model == "filter":
            return SGFClassifier(**about)
        return GraphClassifier(effort=self.effort, **about)


class _Closed(Exception):  # noqa: N818 - the end of the studio, not an error
    """Raised at the end of an epoch when the studio closes and the fit is no longer needed."""


@dataclass(eq=False)
class StudioFit:
    """One fit: how far it is, and what the page draws of it.

    One that was stopped is kept with the best weights it had, like one that is done.
    """

    key: str
    graph: str
    source: Source | None
    setting: Setting
    folder: Path
    state: str = WAITING
    problem: str = ""
    headline: str = ""
    progress: dict[str, Any] = field(default_factory=dict)
    kept: bool = False
    running: threading.Event = field(default_factory=threading.Event)
    stopping: bool = False
    ending: bool = False
    told: bool = False
    closing: bool = False

    def __post_init__(self) -> None:
        self.running.set()

    def train(self) -> None:
        """Fit into the folder, watched every epoch; ends in one of the ended states."""
        if self.stopping:
            self.state = STOPPED
            return
        self.state = TRAINING
        # A bug of ours must not leave the page waiting forever.
        end, self.problem = FAILED, "an internal error; please report it."
        try:
            self._fit()
            self.kept, self.problem, end = True, "", STOPPED if self.stopping else DONE
        except _Closed:
            end, self.problem = STOPPED, ""
        except (MemoryError, torch.cuda.OutOfMemoryError):
            self.problem = "not enough memory for this graph."
        except (GraphFilterError, OSError) as error:
            self.problem = str(error).replace("`", "")
        finally:
            self.state = end
            self.source = None  # A studio may be left open for days.

    def _fit(self) -> None:
        assert self.source is not None
        summary = fit_folder(
            plan_fit(self.source, self.setting.seed), self.setting.classifier(), self.folder,
            baselines=self.setting.baselines, callback=Callback(self._watch), command_out="run",
            draw=draw_run,
        )  # fmt: skip
        self.headline = " ".join(summary.conclusion.lines)

    def _watch(self, progress: Progress) -> bool:
        """Take what there is to show of an epoch; wait while paused; return whether to stop."""
        if not progress.compared:
            name, score = progress.monitored or (progress.score_name, progress.val_score)
            self.progress = {
                "stage": progress.stage, "epoch": progress.epoch, "max_epochs": progress.max_epochs,
                "score": plain(score), "score_name": name.replace("_", " "),
                "pool_score": plain(progress.pool_score),
                "seconds_left": plain(progress.seconds_left),
            }  # fmt: skip
        elif self.state != COMPARING:
            # What ended the model does not end the comparison.
            self.state, self.ending = COMPARING, self.ending and not self.told
        if not self.running.is_set() and not self.ending:
            before, self.state = self.state, PAUSED
            self.running.wait()
            self.state = before
        if self.closing:
            raise _Closed
        self.told = self.ending
        return self.ending

    def command(self, wish: str) -> None:
        """Pause, resume or stop."""
        if wish == "pause":
            self.running.clear()
        elif wish == "resume":
            self.running.set()
        elif wish == "stop":
            self.stopping = self.ending = True
            self.running.set()
            if self.state == WAITING:
                self.state = STOPPED
        else:
            raise ConfigError(f"a fit can pause, resume or stop; got {wish!r}.")

    def to_dict(self) -> dict[str, Any]:
        """Return what the page draws."""
        shown = ("key", "graph", "state", "problem", "headline", "progress", "kept")
        about = {name: getattr(self, name) for name in shown}
        return about | {"setting": msgspec.structs.asdict(self.setting)}


TEMPLATES = Path(__file__).parent / "templates"
UPLOAD_LIMIT_MB = 64
LARGEST_REQUEST = 64 << 10  # of JSON
RIGHT_ADDRESS = "Use the address printed where the studio was started."
SCRIPTS = ("plots.js", "studio.js")


class FitRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fit to begin."""

    graph: str = ""
    setting: Setting = Setting()


class Studio(server.Service):
    """A running studio; a context manager that stops it.

    Parameters
    ----------
    source : Source, optional
        A graph to start with.
    port : int
        0 takes any that is free.
    upload_limit_mb : int
        The largest table that may be uploaded, packed or not.

    Attributes
    ----------
    url : str
        Where it is, the token included.
    folder : Path
        Where uploads and runs are kept while it runs.
    """

    def __init__(
        self, source: Source | None = None, *, port: int = 0, upload_limit_mb: int = UPLOAD_LIMIT_MB
    ) -> None:
        if upload_limit_mb < 1:
            raise ConfigError(f"the upload limit must be at least 1 MB; got {upload_limit_mb}.")
        with ExitStack() as stack:
            listener = stack.enter_context(server.listen(port))
            self.folder = stack.enter_context(scratch_folder("graphfilter-studio-"))
            self.tables = Tables(self.folder, upload_limit_mb << 20, source)
            self._fits: dict[str, StudioFit] = {}
            # One fit after the other.
            self._training = ThreadPoolExecutor(1, thread_name_prefix="studio-training")
            self._last: Future[None] | None = None
            stack.callback(self._give_up)
            on_close = stack.pop_all().close
        number = listener.getsockname()[1]
        self._token = secrets.token_urlsafe(24)
        self._hosts = {f"{server.LOOPBACK}:{number}", f"localhost:{number}"}
        self.url = f"http://{server.LOOPBACK}:{number}/{self._token}/"
        routes = [
            ("GET", "/", self.page),
            ("GET", "/assets/{name}", self.asset),
            ("POST", "/api/uploads", self.upload),
            ("POST", "/api/graphs", self.graph),
            ("GET", "/api/runs", self.list_runs),
            ("POST", "/api/runs", self.add_run),
            ("POST", "/api/runs/{key}", self.command_run),
            ("GET", "/runs/{key}/report", self.report),
            ("GET", "/runs/{key}/download", self.download),
        ]
        routes = [(method, "/{token}" + path, handler) for method, path, handler in routes]
        app = server.make_app(routes, self.check_access, RIGHT_ADDRESS)
        super().__init__(app, listener, on_close=on_close)

    def check_access(self, request: Request) -> None:
        """Raise unless the request carries the token and comes from this page."""
        is_right = server.is_right_token(request.path_params["token"], self._token)
        if not (is_right and server.is_local_request(request, self._hosts)):
            raise server.RequestError(403, "this address is wrong.", RIGHT_ADDRESS)

    async def page(self, request: Request) -> Response:
        template = make_environment(TEMPLATES).get_template("studio.html.j2")
        start = {
            "datasets": self.tables.datasets(),
            "graph": None if self.tables.start is None else self.tables.start.to_dict(),
            "endings": ",".join(ENDINGS),
        }
        return HTMLResponse(template.render(start=start))

    async def asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name == "studio.css":
            sheets = [SHARED_TEMPLATES / "base.css", TEMPLATES / "studio.css"]
            return Response("\n".join(s.read_text("utf-8") for s in sheets), media_type="text/css")
        if name not in SCRIPTS:
            raise ConfigError(f"there is no {name}.")
        folder = TEMPLATES if (TEMPLATES / name).exists() else SHARED_TEMPLATES
        return Response((folder / name).read_text("utf-8"), media_type="text/javascript")

    async def upload(self, request: Request) -> Response:
        name = unquote(request.headers.get("x-file-name", ""))
        return JSONResponse(await self.tables.receive(name, request.stream()))

    async def graph(self, request: Request) -> Response:
        graph = server.read_json(await server.read_body(request, LARGEST_REQUEST), GraphRequest)
        return JSONResponse(await run_in_threadpool(self.tables.read, graph))

    async def list_runs(self, request: Request) -> Response:
        return JSONResponse({"runs": [fit.to_dict() for fit in [*self._fits.values()]]})

    async def add_run(self, request: Request) -> Response:
        fit = server.read_json(await server.read_body(request, LARGEST_REQUEST), FitRequest)
        key, source = str(len(self._fits) + 1), self.tables.get(fit.graph).source
        new = StudioFit(key, source.graph.name, source, fit.setting, self.folder / f"run-{key}")
        self._fits[key] = new
        self._last = self._training.submit(new.train)
        return JSONResponse(new.to_dict())

    async def command_run(self, request: Request) -> Response:
        content = server.read_json(await server.read_body(request, LARGEST_REQUEST), dict[str, str])
        self._fit_of(request).command(content.get("wish", ""))
        return JSONResponse({})

    async def report(self, request: Request) -> Response:
        headers = {**server.HEADERS, "Content-Security-Policy": "frame-ancestors 'none'"}
        return FileResponse(self._kept(request) / REPORT_FILE, headers=headers)

    async def download(self, request: Request) -> Response:
        folder = self._kept(request)
        place = str(folder), "zip", folder.parent, folder.name
        packed = await run_in_threadpool(shutil.make_archive, *place)
        return FileResponse(packed, filename=f"graphfilter-{folder.name}.zip")

    def _give_up(self) -> None:
        """Give up every fit; wait for the end of the one under way, but not for long."""
        for fit in self._fits.values():
            fit.closing = True
            fit.command("stop")
        self._training.shutdown(wait=False, cancel_futures=True)
        wait([self._last] if self._last else [], SECONDS_TO_END)

    def _fit_of(self, request: Request) -> StudioFit:
        key = request.path_params["key"]
        if key not in self._fits:
            raise ConfigError(f"there is no run {key}.")
        return self._fits[key]

    def _kept(self, request: Request) -> Path:
        """Return the folder of a run that left one."""
        fit = self._fit_of(request)
        if not fit.kept:
            raise ConfigError(f"run {fit.key} is {fit.state}: there is nothing to download.")
        return fit.folder
