from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web_client import WebClient

from graphfilter.data import make_karate
from graphfilter.runs.plan import Source


class Client(WebClient):
    """Asks a studio, whose files are in ``folder``."""

    def __init__(self, url: str, folder: Path = Path()) -> None:
        super().__init__(url)
        self.folder = folder

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
    from graphfilter.web.studio import Studio

    with Studio(Source(make_karate(), words=("--dataset", "karate")), upload_limit_mb=1) as studio:
        yield Client(studio.url, studio.folder)


@pytest.fixture
def connect() -> type[Client]:
    return Client
