"""Serving the studio: on this machine only, at an address that cannot be guessed."""

from __future__ import annotations

import secrets
import socket
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from graphfilter.errors import ConfigError
from graphfilter.run_folder import Source
from graphfilter.studio.app import Handlers, make_app
from graphfilter.studio.runs import RunQueue
from graphfilter.studio.sources import Sources

LOOPBACK = "127.0.0.1"
UPLOAD_LIMIT_MB = 64


class Studio:
    """A running studio; a context manager that stops it.

    Parameters
    ----------
    source : Source, optional
        A graph to start with, and ``arguments``, the words of the command line that name it.
    port : int
        0 takes any that is free.
    upload_limit_mb : int
        The largest table that may be uploaded.

    Attributes
    ----------
    url : str
        Where it is, the token included.
    """

    def __init__(
        self,
        source: Source | None = None,
        arguments: tuple[str, ...] = (),
        *,
        port: int = 0,
        upload_limit_mb: int = UPLOAD_LIMIT_MB,
    ) -> None:
        uvicorn = _import_uvicorn()
        if upload_limit_mb < 1:
            raise ConfigError(f"the upload limit must be at least 1 MB; got {upload_limit_mb}.")
        with ExitStack() as stack:
            self._socket = stack.enter_context(_listen(port))
            name = stack.enter_context(tempfile.TemporaryDirectory(prefix="graphfilter-studio-"))
            sources = Sources(Path(name), upload_limit_mb << 20)
            start = None if source is None else sources.add(source, arguments).to_dict()
            runs = RunQueue(Path(name))
            stack.callback(runs.close)
            self._stack = stack.pop_all()
        number = self._socket.getsockname()[1]
        token = secrets.token_urlsafe(24)
        self.url = f"http://{LOOPBACK}:{number}/{token}/"
        hosts = {f"{LOOPBACK}:{number}", f"localhost:{number}"}
        app = make_app(Handlers(sources, runs, start), token, hosts)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, ws="none", lifespan="off",
            server_header=False,
        )  # fmt: skip
        self._server: Any = uvicorn.Server(config)

    def run(self) -> None:
        """Serve until interrupted."""
        self._server.run(sockets=[self._socket])

    def __enter__(self) -> Self:
        """Serve on a thread."""
        self._thread = threading.Thread(target=self.run, name="studio-server", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=30)
        self.close()

    def close(self) -> None:
        """Stop the runs and remove what was uploaded and trained."""
        self._stack.close()


def serve(studio: Studio) -> None:
    """Serve until interrupted, then clean up."""
    try:
        studio.run()
    finally:
        studio.close()


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        # At once, so that a browser that comes before the server is up waits instead of failing.
        listener.listen(100)
    except (OSError, OverflowError) as error:
        listener.close()
        raise ConfigError(f"port {port} cannot be used ({error}); choose another.") from None
    return listener


def _import_uvicorn() -> Any:
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        raise ConfigError(
            "the studio needs packages that are missing: pip install graphfilter[studio]"
        ) from None
    return uvicorn
