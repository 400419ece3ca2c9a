"""The studio: a page for a table, on this machine only, at an address that cannot be guessed.

Every address holds the token; a request without it, under another host name or from another
origin is refused.
"""

from __future__ import annotations

import secrets
import shutil
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import unquote

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response

from graphfilter.report.html import TEMPLATES as SHARED_TEMPLATES, make_environment
from graphfilter.runs.loading import REPORT_FILE
from graphfilter.runs.plan import Source
from graphfilter.util.errors import ConfigError
from graphfilter.util.files import scratch_folder
from graphfilter.web.fits import ENDINGS, GraphRequest, Queue, Setting, Tables
from graphfilter.web.server import (
    HEADERS,
    LOOPBACK,
    RequestError,
    Service,
    is_local_request,
    is_right_token,
    listen,
    make_app,
    read_body,
    read_json,
)

TEMPLATES = Path(__file__).parent / "templates"
UPLOAD_LIMIT_MB = 64
LARGEST_REQUEST = 64 << 10  # of JSON
RIGHT_ADDRESS = "Use the address printed where the studio was started."
SCRIPTS = ("plots.js", "studio.js")


class FitRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fit to begin."""

    graph: str = ""
    setting: Setting = Setting()


class Studio(Service):
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
        self,
        source: Source | None = None,
        *,
        port: int = 0,
        upload_limit_mb: int = UPLOAD_LIMIT_MB,
    ) -> None:
        if upload_limit_mb < 1:
            raise ConfigError(f"the upload limit must be at least 1 MB; got {upload_limit_mb}.")
        with ExitStack() as stack:
            listener = stack.enter_context(listen(port))
            self.folder = stack.enter_context(scratch_folder("graphfilter-studio-"))
            self.tables = Tables(self.folder, upload_limit_mb << 20, source)
            self.fits = Queue(self.folder)
            stack.callback(self.fits.close)
            on_close = stack.pop_all().close
        number = listener.getsockname()[1]
        self._token = secrets.token_urlsafe(24)
        self._hosts = {f"{LOOPBACK}:{number}", f"localhost:{number}"}
        self.url = f"http://{LOOPBACK}:{number}/{self._token}/"
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
        app = make_app(routes, self.check_access, RIGHT_ADDRESS)
        super().__init__(app, listener, on_close=on_close)

    def check_access(self, request: Request) -> None:
        """Raise unless the request carries the token and comes from this page."""
        is_right = is_right_token(request.path_params["token"], self._token)
        if not (is_right and is_local_request(request, self._hosts)):
            raise RequestError(403, "this address is wrong.", RIGHT_ADDRESS)

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
        graph = read_json(await read_body(request, LARGEST_REQUEST), GraphRequest)
        return JSONResponse(await run_in_threadpool(self.tables.read, graph))

    async def list_runs(self, request: Request) -> Response:
        return JSONResponse({"runs": self.fits.list()})

    async def add_run(self, request: Request) -> Response:
        fit = read_json(await read_body(request, LARGEST_REQUEST), FitRequest)
        return JSONResponse(self.fits.add(self.tables.get(fit.graph), fit.setting).to_dict())

    async def command_run(self, request: Request) -> Response:
        content = read_json(await read_body(request, LARGEST_REQUEST), dict[str, str])
        self.fits.get(request.path_params["key"]).command(content.get("wish", ""))
        return JSONResponse({})

    async def report(self, request: Request) -> Response:
        headers = {**HEADERS, "Content-Security-Policy": "frame-ancestors 'none'"}
        return FileResponse(self._kept(request) / REPORT_FILE, headers=headers)

    async def download(self, request: Request) -> Response:
        folder = self._kept(request)
        place = str(folder), "zip", folder.parent, folder.name
        packed = await run_in_threadpool(shutil.make_archive, *place)
        return FileResponse(packed, filename=f"graphfilter-{folder.name}.zip")

    def _kept(self, request: Request) -> Path:
        """Return the folder of a run that left one."""
        fit = self.fits.get(request.path_params["key"])
        if not fit.kept:
            raise ConfigError(f"run {fit.key} is {fit.state}: there is nothing to download.")
        return fit.folder
