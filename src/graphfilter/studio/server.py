"""Serving the studio: on this machine only, at an address that cannot be guessed."""

from __future__ import annotations

import importlib
import os
import secrets
import shutil
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self

from graphfilter.errors import ConfigError
from graphfilter.fits import Source
from graphfilter.storage import scratch_folder
from graphfilter.studio.app import Handlers, make_app
from graphfilter.studio.graph_store import GraphStore
from graphfilter.studio.training_queue import TrainingQueue

LOOPBACK = "127.0.0.1"
UPLOAD_LIMIT_MB = 64
# A running request or epoch has this long to end when the studio stops.
SECONDS_TO_END = 1.0
# The exit code of a process that ends by SIGTERM.
TERMINATED = 128 + signal.SIGTERM
STOPPING = (signal.SIGINT, signal.SIGTERM)
SECONDS_BETWEEN_LOOKS = 0.2


class Studio:
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
        uvicorn = _import_uvicorn()
        if upload_limit_mb < 1:
            raise ConfigError(f"the upload limit must be at least 1 MB; got {upload_limit_mb}.")
        with ExitStack() as stack:
            self._socket = stack.enter_context(_listen(port))
            self.folder = stack.enter_context(scratch_folder("graphfilter-studio-"))
            graphs = GraphStore(self.folder, upload_limit_mb << 20, source)
            runs = TrainingQueue(self.folder)
            stack.callback(runs.close)
            self._stack = stack.pop_all()
        number = self._socket.getsockname()[1]
        token = secrets.token_urlsafe(24)
        self.url = f"http://{LOOPBACK}:{number}/{token}/"
        hosts = {f"{LOOPBACK}:{number}", f"localhost:{number}"}
        app = make_app(Handlers(graphs, runs), token, hosts)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, ws="none", lifespan="off",
            server_header=False,
        )  # fmt: skip
        self._server: Any = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Serve on a thread of its own, where uvicorn leaves the signals alone."""
        self._thread = threading.Thread(target=self._serve, name="studio-server", daemon=True)
        self._thread.start()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until serving ends, or for so long; return whether it has ended."""
        if self._thread is None:
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Stop serving and training, and remove what was uploaded and trained."""
        # Connections that are open are not waited for.
        self._server.should_exit = self._server.force_exit = True
        if self._thread is not None:
            self._thread.join(timeout=30)
        self._stack.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        except Exception:
            # Of a server that was told to end, in the middle of whatever it did, nobody need know.
            if not self._server.should_exit:
                raise

    def abandon(self) -> None:
        """Remove the files now, whatever still runs: the process ends next."""
        shutil.rmtree(self.folder, ignore_errors=True)


def serve(studio: Studio, on_start: Callable[[], None] | None = None) -> None:
    """Serve until Ctrl-C or SIGTERM, then clean up; ``on_start`` is called once it serves.

    Python cannot end a thread that is in the middle of an epoch or reads a table. One that goes
    on for longer than ``SECONDS_TO_END`` is given up, and the process with it.
    """
    asked: list[int] = []
    # Noted, not raised: an exception may come where nobody lets it pass.
    before = {n: signal.signal(n, lambda number, _: asked.append(number)) for n in STOPPING}
    studio.start()
    if on_start is not None:
        on_start()
    while not asked and not studio.wait(SECONDS_BETWEEN_LOOKS):
        pass
    code = TERMINATED if signal.SIGTERM in asked[:1] else 0
    # A second signal must not break off the cleaning.
    for number in before:
        signal.signal(number, signal.SIG_IGN)
    timer = threading.Timer(SECONDS_TO_END, _give_up, (studio, code))
    timer.daemon = True
    timer.start()
    studio.close()
    timer.cancel()
    for number, handler in before.items():
        signal.signal(number, handler)
    if code:
        raise SystemExit(code)


def _give_up(studio: Studio, code: int) -> None:
    studio.abandon()
    os._exit(code)


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
        importlib.import_module("starlette")
        return importlib.import_module("uvicorn")
    except ImportError:
        raise ConfigError(
            "the studio needs packages that are missing: pip install graphfilter[studio]"
        ) from None
