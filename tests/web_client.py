"""A client that sends requests as no browser would: any path, host and body."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class WebClient:
    """Sends to the addresses below one; each request has a connection of its own."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.port is not None
        self.host, self.port, self.base = parts.hostname or "", parts.port, parts.path

    def __call__(
        self,
        method: str,
        path: str,
        content: Any = None,
        *,
        body: Any = None,
        base: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        if content is not None:
            body = json.dumps(content)
        try:
            where = (self.base if base is None else base) + path
            connection.request(method, where, body, headers or {})
            reply = connection.getresponse()
            return Reply(reply.status, reply.read(), dict(reply.getheaders()))
        finally:
            connection.close()
