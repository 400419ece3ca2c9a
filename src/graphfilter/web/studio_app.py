"""The studio's pages and requests. Each carries the token in its path, or is refused."""

from __future__ import annotations

import zipfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from graphfilter.operators import OPERATORS
from graphfilter.report.html import TEMPLATES, make_environment, plotly_source
from graphfilter.runs.loading import REPORT_FILE, RUN_FILES
from graphfilter.tables.formats import TABLES
from graphfilter.tables.roles import Columns
from graphfilter.util.errors import ConfigError, GraphFilterError
from graphfilter.util.files import atomic_file
from graphfilter.web.graph_store import COLUMNS, GraphStore
from graphfilter.web.run_setting import LIMITS, RunSetting
from graphfilter.web.server import (
    HEADERS,
    BodySizeError,
    SlowBodyError,
    as_json,
    is_own_host,
    is_right_token,
    parse_json,
    read_body,
    with_headers,
)
from graphfilter.web.training_queue import TrainingQueue

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

OWN_TEMPLATES = Path(__file__).parent / "templates"
LARGEST_REQUEST = 64 << 10  # of JSON
WRONG_ADDRESS = "This address is wrong; use the one printed where the studio was started."
SCRIPT_NAMES = ("plots.js", "studio.js")

Handler = Callable[["Request"], Awaitable["Response"]]


class Handlers:
    """What each address does; blocking work goes to threads."""

    def __init__(self, graphs: GraphStore, runs: TrainingQueue) -> None:
        self.graphs = graphs
        self.runs = runs

    async def page(self, request: Request) -> Response:
        from starlette.responses import HTMLResponse

        template = make_environment(OWN_TEMPLATES).get_template("studio.html.j2")
        start = {
            "datasets": self.graphs.at_hand(),
            "operators": sorted(OPERATORS),
            "graph": None if self.graphs.start is None else self.graphs.start.to_dict(),
            "setting": vars(RunSetting()),
            "limits": LIMITS,
            "endings": ",".join(TABLES),
        }
        return HTMLResponse(template.render(start=start))

    async def asset(self, request: Request) -> Response:
        from starlette.responses import Response

        name = request.path_params["name"]
        if name == "plotly.js":
            return Response(plotly_source(), media_type="text/javascript")
        if name == "studio.css":
            sheets = [TEMPLATES / "base.css", OWN_TEMPLATES / "studio.css"]
            return Response("\n".join(s.read_text("utf-8") for s in sheets), media_type="text/css")
        if name not in SCRIPT_NAMES:
            raise ConfigError(f"there is no {name}.")
        folder = OWN_TEMPLATES if (OWN_TEMPLATES / name).exists() else TEMPLATES
        return Response((folder / name).read_text("utf-8"), media_type="text/javascript")

    async def upload(self, request: Request) -> Response:
        name = unquote(request.headers.get("x-file-name", ""))
        return as_json({"key": await self.graphs.uploads.receive(name, request.stream())})

    async def graph(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        asked = await read_request(request)
        if "dataset" in asked:
            entry = await run_in_threadpool(self.graphs.add_dataset, str(asked["dataset"]))
        else:
            edges, vertices = str(asked.get("edges", "")), str(asked.get("vertices", ""))
            chosen = {name: str(asked.get(name) or "") or None for name in COLUMNS}
            columns = replace(Columns(), **chosen)
            entry = await run_in_threadpool(self.graphs.add_tables, edges, vertices, columns)
        return as_json(await run_in_threadpool(entry.to_dict))

    async def columns(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        key = request.path_params["key"]
        return as_json({"columns": await run_in_threadpool(self.graphs.columns_of, key)})

    async def energy(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        entry = self.graphs.get(request.path_params["key"])
        return as_json(await run_in_threadpool(lambda: entry.energy))

    async def list_runs(self, request: Request) -> Response:
        return as_json({"runs": [run.to_dict() for run in self.runs.all()]})

    async def add_run(self, request: Request) -> Response:
        asked = await read_request(request)
        setting = asked.get("setting", {})
        if not isinstance(setting, dict):
            raise ConfigError("the setting must be an object of names and values.")
        entry = self.graphs.get(str(asked.get("graph", "")))
        return as_json(self.runs.add(entry, RunSetting.from_dict(setting)).to_dict())

    async def command_run(self, request: Request) -> Response:
        asked = await read_request(request)
        self.runs.command(request.path_params["key"], str(asked.get("wish")))
        return as_json({})

    async def report(self, request: Request) -> Response:
        from starlette.responses import FileResponse

        own = {**HEADERS, "Content-Security-Policy": "frame-ancestors 'none'"}
        return FileResponse(self._kept(request) / REPORT_FILE, headers=own)

    async def download(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import FileResponse

        folder = self._kept(request)
        packed = await run_in_threadpool(pack, folder)
        return FileResponse(packed, filename=f"graphfilter-{folder.name}.zip")

    def _kept(self, request: Request) -> Path:
        run = self.runs.get(request.path_params["key"])
        if not run.kept:
            raise ConfigError(f"run {run.key} is {run.state}: there is nothing to download.")
        return run.folder


def make_app(handlers: Handlers, token: str, hosts: set[str]) -> Starlette:
    """Return the application; ``hosts`` are the values of Host it answers to."""
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect
    from starlette.routing import Route

    def guarded(handler: Handler) -> Handler:
        async def endpoint(request: Request) -> Response:
            right = is_right_token(request.path_params["token"], token)
            if not (right and is_own_host(request, hosts)):
                return as_json({"error": WRONG_ADDRESS}, 403)
            try:
                response = await handler(request)
            except ClientDisconnect:
                # Broken off by the sender, who will not read this.
                response = as_json({"error": ("the request was incomplete.")}, 400)
            except BodySizeError as error:
                response = as_json({"error": str(error)}, 413)
            except SlowBodyError as error:
                response = as_json({"error": str(error)}, 408)
            except GraphFilterError as error:
                notes = getattr(error, "__notes__", [])
                response = as_json({"error": str(error), "notes": notes}, 422)
            return with_headers(response)

        return endpoint

    async def not_found(request: Request, error: Exception) -> Response:
        return as_json({"error": WRONG_ADDRESS}, getattr(error, "status_code", 404), HEADERS)

    async def failed(request: Request, error: Exception) -> Response:
        return as_json({"error": "an error of graphfilter itself; report it."}, 500, HEADERS)

    table: list[tuple[str, str, Handler]] = [
        ("GET", "/", handlers.page),
        ("GET", "/assets/{name}", handlers.asset),
        ("POST", "/api/uploads", handlers.upload),
        ("GET", "/api/uploads/{key}", handlers.columns),
        ("POST", "/api/graphs", handlers.graph),
        ("GET", "/api/graphs/{key}/energy", handlers.energy),
        ("GET", "/api/runs", handlers.list_runs),
        ("POST", "/api/runs", handlers.add_run),
        ("POST", "/api/runs/{key}", handlers.command_run),
        ("GET", "/runs/{key}/report", handlers.report),
        ("GET", "/runs/{key}/download", handlers.download),
    ]
    return Starlette(
        routes=[Route("/{token}" + path, guarded(h), methods=[m]) for m, path, h in table],
        exception_handlers={404: not_found, 405: not_found, 500: failed},
    )


async def read_request(request: Request) -> dict[str, Any]:
    """Read a small JSON object from a request."""
    body = await read_body(request, LARGEST_REQUEST)
    try:
        content = parse_json(body)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise ConfigError("a request must be a JSON object.")
    return content


def pack(folder: Path) -> Path:
    """Zip the files of a run beside its folder."""
    packed = folder.with_suffix(".zip")
    if not packed.exists():
        with atomic_file(packed) as temporary, zipfile.ZipFile(
            temporary, "w", zipfile.ZIP_DEFLATED
        ) as archive:  # fmt: skip
            for name in RUN_FILES:
                if (folder / name).exists():
                    archive.write(folder / name, f"{folder.name}/{name}")
    return packed
