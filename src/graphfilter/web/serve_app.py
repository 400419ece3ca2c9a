"""The addresses of an endpoint, what each answers, and every error as JSON."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from graphfilter.version import __version__
from graphfilter.web.asked import NewVertex, read_score_request
from graphfilter.web.limits import Limits, RequestError
from graphfilter.web.openapi import describe_endpoint, describe_model
from graphfilter.web.page import render_docs
from graphfilter.web.scorer import Scorer, Scores
from graphfilter.web.server import (
    BodySizeError,
    SlowBodyError,
    as_json,
    is_own_host,
    is_right_token,
    read_body,
    with_headers,
)

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

SECONDS_TO_SEND = 10.0

Handler = Callable[["Request"], Awaitable["Response"]]


class Handlers:
    """What each address does. New vertices are computed one request after another.

    All but that is done by the thread that serves.
    """

    def __init__(self, scorer: Scorer, limits: Limits, *, token: bool = False) -> None:
        self.scorer, self.limits, self.token = scorer, limits, token
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="scoring")
        self._free = threading.Semaphore(limits.waiting)

    async def score(self, request: Request) -> Response:
        body = await read_body(request, self.limits.bytes, SECONDS_TO_SEND)
        asked = read_score_request(body, self.limits)
        known = self.scorer.score_known(asked.ids)
        new = await self._score_new(asked.new) if asked.new else Scores([])
        found = {"vertices": [*known.vertices, *new.vertices], "notes": [*new.notes]}
        return as_json(found)

    async def health(self, request: Request) -> Response:
        return as_json({"status": "ok", "version": __version__})

    async def model(self, request: Request) -> Response:
        return as_json(describe_model(self.scorer, self.limits))

    async def openapi(self, request: Request) -> Response:
        return as_json(describe_endpoint(self.scorer, self.limits))

    async def docs(self, request: Request) -> Response:
        from starlette.responses import HTMLResponse

        url = str(request.base_url).rstrip("/")
        return HTMLResponse(render_docs(self.scorer, self.limits, url, token=self.token))

    def close(self) -> None:
        """End the computing; what has not begun is not begun."""
        self._worker.shutdown(cancel_futures=True)

    async def _score_new(self, vertices: tuple[NewVertex, ...]) -> Scores:
        limits = self.limits
        if not self._free.acquire(blocking=False):
            raise RequestError(
                429,
                f"at most {limits.waiting} requests with new vertices are taken at a time.",
                "Try again soon, or send several vertices per request.",
                wait=math.ceil(limits.seconds),
            )
        work = self._worker.submit(self.scorer.score_new, vertices)
        # A computation that has begun goes on when nobody waits for it any more, and counts.
        work.add_done_callback(lambda _: self._free.release())
        try:
            async with asyncio.timeout(limits.seconds):
                return await asyncio.wrap_future(work)
        except TimeoutError:
            raise RequestError(
                503,
                f"new vertices must be scored within {limits.seconds:g} seconds; these were not.",
                "Try again when there are fewer requests, or raise graphfilter serve --seconds.",
                wait=math.ceil(limits.seconds),
            ) from None


def make_app(handlers: Handlers, token: str | None, hosts: Collection[str] | None) -> Starlette:
    """Return the application.

    Parameters
    ----------
    token : str or None
        Asked for in ``Authorization: Bearer``; None where everyone on this machine may ask.
    hosts : names or None
        The values of Host that are answered to; None where the token keeps other pages out.
    """
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect
    from starlette.routing import Route

    def guarded(handler: Handler) -> Handler:
        # Whether it is up is told to whoever asks.
        needed = None if handler == handlers.health else token

        async def endpoint(request: Request) -> Response:
            try:
                check_access(request, needed, hosts)
                response = await handler(request)
            except RequestError as error:
                response = as_error(error)
            except BodySizeError as error:
                remedy = "Send fewer vertices per request."
                response = as_error(RequestError(413, str(error), remedy))
            except SlowBodyError as error:
                response = as_error(RequestError(408, str(error), "Send it again, faster."))
            except ClientDisconnect:
                # Broken off by the sender, who will not read this.
                response = as_error(RequestError(400, "the request was incomplete.", "Try again."))
            return with_headers(response)

        return endpoint

    async def not_found(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        problem = (
            f"{request.url.path} does not take {request.method[:80]}."
            if error.status_code == 405
            else f"there is nothing at {request.url.path[:80]}."
        )
        own = RequestError(error.status_code, problem, f"Addresses: {', '.join(table)}.")
        return with_headers(as_error(own, dict(error.headers or {})))

    async def failed(request: Request, error: Exception) -> Response:
        own = RequestError(500, "an internal error.", "Please report it, with the request.")
        return with_headers(as_error(own))

    table: dict[str, tuple[str, Handler]] = {
        "/score": ("POST", handlers.score),
        "/health": ("GET", handlers.health),
        "/model": ("GET", handlers.model),
        "/openapi.json": ("GET", handlers.openapi),
        "/docs": ("GET", handlers.docs),
    }
    app = Starlette(
        routes=[
            Route(path, guarded(handler), methods=[method])
            for path, (method, handler) in table.items()
        ],
        exception_handlers={404: not_found, 405: not_found, 500: failed},
    )
    app.router.redirect_slashes = False
    return app


def check_access(request: Request, token: str | None, hosts: Collection[str] | None) -> None:
    """Raise unless the request may be answered."""
    if hosts is not None and not is_own_host(request, hosts):
        raise RequestError(
            403,
            "requests must be sent to the printed address, and not by a page of another site.",
            "Send it to that address, without Origin.",
        )
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if token is not None and not (scheme.lower() == "bearer" and is_right_token(given, token)):
        raise RequestError(
            401,
            "the token is missing or wrong.",
            "Send the header Authorization: Bearer TOKEN.",
        )


def as_error(error: RequestError, headers: dict[str, str] | None = None) -> Response:
    """Return an error as JSON: what must be and what was got, and what to do."""
    own = dict(headers or {})
    if error.wait is not None:
        own["Retry-After"] = str(error.wait)
    if error.status == 401:
        own["WWW-Authenticate"] = "Bearer"
    return as_json({"error": str(error), "remedy": error.remedy}, error.status, own)
