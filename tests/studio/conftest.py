from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from graphfilter.data import make_karate
from graphfilter.fits import Source


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Sends requests as no browser would: any path, host and body."""

    def __init__(self, url: str, folder: Path = Path()) -> None:
        parts = urlsplit(url)
        self.folder = folder
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

    def wait_for(self, key: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Ask for a run until it is as wanted."""
        for _ in range(600):
            run = next(r for r in self("GET", "api/runs").json["runs"] if r["key"] == key)
            if wanted(run):
                return run
            time.sleep(0.05)
        raise AssertionError(f"run {key} is {run}")

    def dataset(self, name: str = "karate") -> str:
        return self("POST", "api/graphs", {"dataset": name}).json["key"]

    def train(self, graph: str, **setting: Any) -> str:
        reply = self("POST", "api/runs", {"graph": graph, "setting": setting})
        assert reply.status == 200, reply.body
        return reply.json["key"]


@pytest.fixture
def client() -> Iterator[Client]:
    pytest.importorskip("starlette", reason="the studio's packages are not installed")
    pytest.importorskip("uvicorn", reason="the studio's packages are not installed")
    from graphfilter.studio import Studio

    with Studio(Source(make_karate(), words=("--dataset", "karate")), upload_limit_mb=1) as studio:
        yield Client(studio.url, studio.folder)


@pytest.fixture
def connect() -> type[Client]:
    return Client
