"""Connections that are opened and hardly used: closed, so that they keep nobody else out.

One whose bytes are no HTTP is told so in JSON, as of everything else that is wrong.

Requests and answers: who may ask, how much may be sent, and JSON.

A web server on a thread of its own: its socket, its start, and its end by a signal.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import importlib
import json
import logging
import math
import os
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Collection
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from graphfilter.util.errors import ConfigError, GraphFilterError
from graphfilter.util.machine import allow_open_files

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

# Stands for uvicorn's protocol, which is not imported before it is used.
_Protocol: Any = object

# Connections at a time; one more is closed.
MOST_CONNECTIONS = 500
# Bytes of answers that nobody takes, of all connections; one more that is not taken is closed.
MOST_UNTAKEN = 256 << 20
_NO_HTTP = json.dumps({
    "error": "a request must be HTTP/1.1 with a Host and at most 64 KiB of headers; this is not.",
    "remedy": "Send it with a client for HTTP, to an address that begins with http://.",
}).encode()  # fmt: skip


@functools.cache
def prompt_protocol(seconds: float, seconds_to_take: float) -> type[Any]:
    """Return uvicorn's protocol with limits on the time between two requests and of an answer.

    uvicorn itself waits without end for the rest of a request line or of a header, and for a
    client that does not read. The time to send runs from the start of a connection, or the first
    byte after an answer, to the end of the headers; that of the body is limited where it is read.
    """
    base: Any = importlib.import_module("uvicorn.protocols.http.h11_impl").H11Protocol
    limits = {"seconds": seconds, "seconds_to_take": seconds_to_take}
    return type("PromptProtocol", (_Prompt, base), limits)


class _Prompt(_Protocol):
    seconds: float
    seconds_to_take: float
    _late: Any = None
    _untaken: Any = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # Whatever the system does not take at once is waited for, and timed.
        transport.set_write_buffer_limits(high=0)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.close()
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watch()
        self._stop_waiting()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_less()
        others = (one.transport for one in self.connections if one is not self)
        if sum(other.get_write_buffer_size() for other in others) > MOST_UNTAKEN:
            self.transport.abort()

    def _wait_for_less(self, than: float = math.inf) -> None:
        if (size := self.transport.get_write_buffer_size()) >= than:
            self.transport.abort()
        else:
            self._untaken = self.loop.call_later(self.seconds_to_take, self._wait_for_less, size)

    def resume_writing(self) -> None:
        self._stop_waiting()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            head = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n"
            head += f"Content-Length: {len(_NO_HTTP)}\r\nConnection: close\r\n\r\n"
            self.transport.write(head.encode() + _NO_HTTP)
        self.transport.close()

    def _watch(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_watch()
        elif self._late is None:
            self._late = self.loop.call_later(self.seconds, self.transport.close)

    def _stop_watch(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _stop_waiting(self) -> None:
        if self._untaken is not None:
            self._untaken.cancel()
            self._untaken = None


# No page may load or send anything elsewhere, even if something in it tried to.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src data: blob:; form-action 'none'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


# What is sent beyond a limit is read and thrown away up to so many times it, so that the sender
# gets its answer; beyond that the connection is cut.
PATIENCE = 20


class BodySizeError(GraphFilterError):
    """More bytes than are taken."""


class SlowBodyError(GraphFilterError):
    """A body that did not arrive in time."""


def is_right_token(given: str, token: str) -> bool:
    """Compare tokens in a time that does not tell how much of one is right."""
    return secrets.compare_digest(given.encode(), token.encode())


def is_own_host(request: Request, hosts: Collection[str]) -> bool:
    """Check the Host of a request, against DNS rebinding, and the Origin, against other pages."""
    origin = request.headers.get("origin")
    return request.headers.get("host", "").lower() in hosts and (
        origin is None or origin.lower() in {f"http://{host}" for host in hosts}
    )


def as_json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer in JSON."""
    from starlette.responses import JSONResponse

    return JSONResponse(content, status, headers)


def parse_json(body: bytes, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """Parse JSON that can be sent back: in UTF-8, without half of a pair; ValueError otherwise."""
    content = json.loads(body.decode("utf-8-sig"), parse_constant=parse_constant)
    if b"\\u" in body:
        json.dumps(content, ensure_ascii=False).encode()
    return content


def with_headers(response: Response) -> Response:
    """Return an answer that no page can use to load or send anything elsewhere."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


async def read_body(request: Request, limit: int, seconds: float = 10.0) -> bytes:
    """Read the body of a request, of at most ``limit`` bytes, within so many seconds."""
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size > PATIENCE * limit:
                    break
                if size <= limit:
                    body += chunk
    except TimeoutError:
        raise SlowBodyError(
            f"a request must be sent within {seconds:g} seconds; this one was not."
        ) from None
    if size > limit:
        raise BodySizeError(f"a request must be at most {limit:,} bytes; got more.")
    return bytes(body)


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
