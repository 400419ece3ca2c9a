"""A web server on a thread of its own: who may ask, how much may be sent, and how it ends.

Connections that are opened and hardly used are closed, so that they keep nobody else out. Every
error is answered in JSON: what must be and what was got, and what to do.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self, TypeVar

import msgspec
import uvicorn
from h11 import LocalProtocolError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from graphfilter.util.errors import ConfigError, GraphFilterError

Handler = Callable[[Request], Awaitable[Response]]

LOOPBACK = "127.0.0.1"
# Requests at a time; one more is told to come again.
MOST_REQUESTS = 500
# Connections that wait to be taken.
BACKLOG = 100
# A request must be sent, and a connection be used again, within so many seconds.
SECONDS_TO_SEND = 10.0
SECONDS_IDLE = 5
SECONDS_BETWEEN_LOOKS = 0.2
# What is sent beyond a limit is read and thrown away up to so many times it, so that the sender
# gets its answer; beyond that the connection is cut.
PATIENCE = 20
# The exit code of a process that ends by SIGTERM.
TERMINATED = 128 + signal.SIGTERM
# No page may load or send anything elsewhere, even if something in it tried to.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src data: blob:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_COME_AGAIN = {"Retry-After": "10"}
_MORE_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 429: _COME_AGAIN, 503: _COME_AGAIN}

# The longest id or name in an error message: a sender may have made up any length.
LONGEST = 80
T = TypeVar("T")


class RequestError(GraphFilterError):
    """A request that cannot be answered.

    Attributes
    ----------
    status : int
        Of HTTP.
    remedy : str
        What to do instead.
    """

    def __init__(self, status: int, message: str, remedy: str) -> None:
        super().__init__(message)
        self.status, self.remedy = status, remedy


def is_right_token(sent: str, token: str) -> bool:
    """Compare tokens in a time that does not tell how much of one is right."""
    return secrets.compare_digest(sent.encode(), token.encode())


def is_local_request(request: Request, hosts: Collection[str]) -> bool:
    """Check the Host of a request, against DNS rebinding, and the Origin, against other pages."""
    origin = request.headers.get("origin")
    return request.headers.get("host", "").lower() in hosts and (
        origin is None or origin.lower() in {f"http://{host}" for host in hosts}
    )


async def receive(
    chunks: AsyncIterable[bytes],
    limit: int,
    seconds: float,
    write: Callable[[bytes], object],
    *,
    each: bool = False,
) -> bool:
    """Write what is sent; return whether it was at most ``limit`` bytes.

    TimeoutError where it takes longer than so many seconds: all of it, or ``each`` part.
    """
    size = 0
    async with asyncio.timeout(seconds) as timer:
        async for chunk in chunks:
            if each:
                timer.reschedule(asyncio.get_running_loop().time() + seconds)
            size += len(chunk)
            if size <= limit:
                write(chunk)
            elif size > PATIENCE * limit:
                break
    return size <= limit


async def read_body(request: Request, limit: int, seconds: float = SECONDS_TO_SEND) -> bytes:
    """Read the body of a request, of at most ``limit`` bytes, within so many seconds."""
    body = bytearray()
    try:
        fits = await receive(request.stream(), limit, seconds, body.extend)
    except TimeoutError:
        problem = f"a request must be sent within {seconds:g} seconds; this one was not."
        raise RequestError(408, problem, "Send it again, faster.") from None
    if not fits:
        problem = f"a request must be at most {limit:,} bytes; got more."
        raise RequestError(413, problem, "Send less per request.")
    return bytes(body)


def as_error(error: GraphFilterError, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error as JSON, and the notes of what was found before it."""
    content: dict[str, Any] = {"error": str(error), "remedy": getattr(error, "remedy", "")}
    if notes := getattr(error, "__notes__", []):
        content["notes"] = notes
    status = getattr(error, "status", 422)
    more = {**(headers or {}), **_MORE_HEADERS.get(status, {})}
    return JSONResponse(content, status, HEADERS | more)


def make_app(
    routes: Sequence[tuple[str, str, Handler]], check: Callable[[Request], None], addresses: str
) -> Starlette:
    """Return an application that answers whatever goes wrong in JSON.

    Parameters
    ----------
    routes : sequence of (method, path, handler)
    check : callable
        Raises unless a request may be answered.
    addresses : str
        What to do where a request is for another address.
    """

    def guarded(handler: Handler) -> Handler:
        async def answer(request: Request) -> Response:
            try:
                check(request)
                response = await handler(request)
                for name, value in HEADERS.items():
                    response.headers.setdefault(name, value)
                return response
            except GraphFilterError as error:
                return as_error(error)
            except ClientDisconnect:
                # Broken off by the sender, who will not read this.
                return as_error(RequestError(400, "the request was incomplete.", "Try again."))

        return answer

    async def not_found(request: Request, error: Any) -> Response:
        problem = f"there is nothing at {request.url.path[:80]}."
        if error.status_code == 405:
            problem = f"{request.url.path[:80]} does not take {request.method[:80]}."
        return as_error(RequestError(error.status_code, problem, addresses), error.headers)

    async def failed(request: Request, error: Exception) -> Response:
        problem = "an error of graphfilter itself; please report it."
        return as_error(RequestError(500, problem, "Send the request with the report."))

    app = Starlette(
        routes=[
            Route(path, guarded(handler), methods=[method]) for method, path, handler in routes
        ],
        exception_handlers={404: not_found, 405: not_found, 500: failed},
    )
    app.router.redirect_slashes = False
    return app


def read_json(body: bytes, kind: type[T], example: str = "") -> T:
    """Read a request; an error says what is wrong with it, and where."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at ")
        where = path.strip("`").removeprefix("$").removeprefix(".") or "a request"
        raise RequestError(422, f"{where}: {text[: 2 * LONGEST]}.", example) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(400, f"a request must be JSON; it is not ({error}).", example) from None


def short(value: Any) -> str:
    """Return a value as JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


class PromptProtocol(H11Protocol):
    """uvicorn's protocol, which closes a connection whose first request does not arrive in time.

    How long a body may take is limited where it is read.
    """

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.loop.call_later(SECONDS_TO_SEND, self.close_if_silent)

    def close_if_silent(self) -> None:
        cycle: Any = self.cycle
        if cycle is None:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        # The bad rest of a request that was answered is not answered again.
        with suppress(LocalProtocolError):
            super().send_400_response(msg)
        self.transport.close()


def listen(port: int, host: str = LOOPBACK) -> socket.socket:
    """Return a socket that listens there: a browser that comes before the server is up waits."""
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(address, family=family, backlog=BACKLOG, dualstack_ipv6=both)
    except (OSError, OverflowError, UnicodeError) as error:
        raise ConfigError(
            f"{host}, port {port}, cannot be used ({error}); choose another."
        ) from None


class Service:
    """An application on a thread of its own, where uvicorn leaves the signals alone.

    A context manager that stops it.

    Parameters
    ----------
    app : ASGI application
    listener : socket
        As :func:`listen` gives it; closed with the service.
    on_close : callable, optional
        Cleans up when serving has ended.
    seconds_to_answer : int
        How long requests that are being answered may go on once the service is closed.
    """

    def __init__(
        self,
        app: Any,
        listener: socket.socket,
        *,
        on_close: Callable[[], object] | None = None,
        seconds_to_answer: int = 0,
    ) -> None:
        config = uvicorn.Config(
            app, log_level="error", access_log=False, ws="none", lifespan="off", backlog=BACKLOG,
            server_header=False, http=PromptProtocol, limit_concurrency=MOST_REQUESTS,
            timeout_keep_alive=SECONDS_IDLE, timeout_graceful_shutdown=seconds_to_answer or None,
        )  # fmt: skip
        logging.getLogger("uvicorn.error").addFilter(_is_no_end)
        self._listener, self._on_close = listener, on_close
        self._seconds_to_answer = seconds_to_answer
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="web-server", daemon=True)

    def start(self) -> None:
        """Begin to serve, on another thread."""
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether it still serves."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Stop, at once or when the requests under way are answered, and clean up."""
        self._server.should_exit = True
        self._server.force_exit = not self._seconds_to_answer
        if self._thread.ident is not None:
            self._thread.join(self._seconds_to_answer + 1)
        self._listener.close()
        if self._on_close is not None:
            self._on_close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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


def serve(service: Service, on_start: Callable[[], None]) -> None:
    """Serve until Ctrl-C or SIGTERM, then clean up; ``on_start`` is called once it serves.

    Python cannot end a thread that is in the middle of its work: the process ends whatever others
    still do.
    """
    signals: list[int] = []
    # Noted, not raised: an exception may come where nobody lets it pass.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: signals.append(number))
    service.start()
    on_start()
    while not signals and service.is_running:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    service.close()
    sys.stdout.flush()
    os._exit(TERMINATED if signal.SIGTERM in signals[:1] else 0)
