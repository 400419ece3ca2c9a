"""A web server on a thread of its own: its socket, its start, and its end by a signal."""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self

from graphfilter.errors import ConfigError
from graphfilter.runtime import allow_open_files
from graphfilter.web.connections import MOST_CONNECTIONS, prompt_protocol

LOOPBACK = "127.0.0.1"
# The exit code of a process that ends by SIGTERM.
TERMINATED = 128 + signal.SIGTERM
STOPPING = (signal.SIGINT, signal.SIGTERM)
SECONDS_BETWEEN_LOOKS = 0.2
# Connections that wait to be taken.
_BACKLOG = 100
# A request must be sent, and a connection be used again, within so many seconds.
SECONDS_TO_SEND = 10.0
SECONDS_IDLE = 5.0
# The client must take a part of its answer within so many seconds.
SECONDS_TO_TAKE = 20.0


class Service:
    """What :func:`serve` runs: a server with what belongs to it; a context manager that stops it.

    A subclass sets ``_server`` and, for what is cleaned up after it, ``_stack``.
    """

    # What is under way when the service stops has this long to end.
    seconds_to_end: float
    _server: WebServer
    _stack: ExitStack

    def start(self) -> None:
        """Begin to serve, on another thread."""
        self._server.start()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until serving ends, or for so long; return whether it has ended."""
        return self._server.wait(seconds)

    def close(self) -> None:
        """Stop, and clean up."""
        self._server.close()
        self._stack.close()

    def abandon(self) -> None:
        """Clean up what must be, whatever still runs: the process ends next."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class WebServer:
    """An ASGI application on a thread of its own, where uvicorn leaves the signals alone.

    Parameters
    ----------
    app : ASGI application
    listener : socket
        As :func:`listen` gives it; closed with the server.
    seconds_to_end : float
        How long requests that are being answered may go on once the server is closed.
    seconds_to_send : float
        A connection whose request takes longer to arrive is closed.
    seconds_to_take : float
        A connection whose client reads nothing of its answer for longer is closed.
    """

    def __init__(
        self,
        app: Any,
        listener: socket.socket,
        *,
        seconds_to_end: float = 0.0,
        seconds_to_send: float = SECONDS_TO_SEND,
        seconds_to_take: float = SECONDS_TO_TAKE,
    ) -> None:
        uvicorn = importlib.import_module("uvicorn")
        config = uvicorn.Config(
            app, log_level="error", access_log=False, ws="none", lifespan="off",
            server_header=False, http=prompt_protocol(seconds_to_send, seconds_to_take),
            timeout_keep_alive=min(SECONDS_IDLE, seconds_to_send),
            timeout_graceful_shutdown=seconds_to_end or None, backlog=_BACKLOG,
        )  # fmt: skip
        logging.getLogger("uvicorn.error").addFilter(_is_no_end)
        self._listener = listener
        self._patient = seconds_to_end > 0
        self._server: Any = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._serve, name="web-server", daemon=True)
        self._thread.start()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until serving ends, or for so long; return whether it has ended."""
        if self._thread is None:
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Stop serving: at once, or when the requests under way are answered."""
        self._server.should_exit = True
        self._server.force_exit = not self._patient
        if self._thread is not None:
            self._thread.join(timeout=30)
        self._listener.close()

    def _serve(self) -> None:
        try:
            self._server.run(sockets=[self._listener])
        except Exception:
            # A server that was told to stop may fail in the middle of its work, unreported.
            if not self._server.should_exit:
                raise


def _is_no_end(record: logging.LogRecord) -> bool:
    """Return whether a line of the log is of anything but a request that the end cut off."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def serve(service: Service, on_start: Callable[[], None] | None = None) -> None:
    """Serve until Ctrl-C or SIGTERM, then clean up; ``on_start`` is called once it serves.

    Python cannot end a thread that is in the middle of its work. One that goes on for longer than
    ``service.seconds_to_end`` is given up, and the process with it.
    """
    allow_open_files(2 * MOST_CONNECTIONS)
    asked: list[int] = []
    # Noted, not raised: an exception may come where nobody lets it pass.
    before = {n: signal.signal(n, lambda number, _: asked.append(number)) for n in STOPPING}
    # What is there now stays: the collector need not look through it at every request.
    gc.freeze()
    service.start()
    if on_start is not None:
        on_start()
    while not asked and not service.wait(SECONDS_BETWEEN_LOOKS):
        pass
    code = TERMINATED if signal.SIGTERM in asked[:1] else 0
    # A second signal must not break off the cleaning.
    for number in before:
        signal.signal(number, signal.SIG_IGN)
    timer = threading.Timer(service.seconds_to_end, _give_up, (service, code))
    timer.daemon = True
    timer.start()
    service.close()
    timer.cancel()
    gc.unfreeze()
    for number, handler in before.items():
        signal.signal(number, handler)
    if code:
        raise SystemExit(code)


def _give_up(service: Service, code: int) -> None:
    service.abandon()
    os._exit(code)


def listen(port: int, host: str = LOOPBACK, *, what: str, extra: str) -> socket.socket:
    """Return a socket that listens there; ``what`` needs the packages of ``extra`` to use it."""
    for name in ("starlette", "uvicorn"):
        try:
            importlib.import_module(name)
        except ImportError:
            raise ConfigError(
                f"{what} needs packages that are not installed: pip install 'graphfilter[{extra}]'"
            ) from None
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # At once, so that a browser that comes before the server is up waits instead of failing.
        listener.listen(_BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        if listener is not None:
            listener.close()
        place = f"port {port}" if host == LOOPBACK else f"{host}, port {port},"
        raise ConfigError(f"{place} cannot be used ({error}); choose another.") from None
    return listener
