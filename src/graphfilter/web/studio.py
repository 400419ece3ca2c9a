"""Serving the studio: on this machine only, at an address that cannot be guessed."""

from __future__ import annotations

import secrets
import shutil
from contextlib import ExitStack

from graphfilter.runs.plan import Source
from graphfilter.util.errors import ConfigError
from graphfilter.util.files import scratch_folder
from graphfilter.web.graph_store import GraphStore
from graphfilter.web.server import LOOPBACK, Service, WebServer, listen
from graphfilter.web.studio_app import Handlers, make_app
from graphfilter.web.training_queue import TrainingQueue

UPLOAD_LIMIT_MB = 64


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

    # A running request or epoch has this long to end when the studio stops.
    seconds_to_end = 1.0

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
            listener = stack.enter_context(listen(port, what="the studio", extra="studio"))
            self.folder = stack.enter_context(scratch_folder("graphfilter-studio-"))
            graphs = GraphStore(self.folder, upload_limit_mb << 20, source)
            runs = TrainingQueue(self.folder)
            stack.callback(runs.close)
            self._stack = stack.pop_all()
        number = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        self.url = f"http://{LOOPBACK}:{number}/{token}/"
        hosts = {f"{LOOPBACK}:{number}", f"localhost:{number}"}
        self._server = WebServer(make_app(Handlers(graphs, runs), token, hosts), listener)

    def abandon(self) -> None:
        """Remove the files now, whatever still runs: the process ends next."""
        shutil.rmtree(self.folder, ignore_errors=True)
