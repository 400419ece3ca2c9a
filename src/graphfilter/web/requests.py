"""Requests and answers: who may ask, how much may be sent, and JSON."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from graphfilter.errors import GraphFilterError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

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
