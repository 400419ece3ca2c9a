"""graphfilter studio, up to the moment it would serve."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graphfilter.cli.app import app
from graphfilter.data import make_karate, write_tables
from graphfilter.util.errors import ConfigError

pytest.importorskip("starlette", reason="the studio's packages are not installed")
pytest.importorskip("uvicorn", reason="the studio's packages are not installed")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Close what would be served, and remember where it was."""
    urls: list[str] = []

    def close(running, announce) -> None:
        announce()
        urls.append(running.url)
        running.close()

    monkeypatch.setattr("graphfilter.web.server.serve", close)
    return urls


def run(*words: str):
    return CliRunner().invoke(app, ["studio", *words, "--no-browser"])


def test_studio_says_where_it_is(started: list[str], tmp_path: Path) -> None:
    edges, vertices = write_tables(make_karate(), tmp_path)
    for words in (
        (),
        ("--dataset", "karate"),
        ("--edges", str(edges), "--vertices", str(vertices)),
    ):
        result = run(*words)
        assert result.exception is None
    assert len(started) == 3
    assert len(set(started)) == 3
    assert all(url.startswith("http://127.0.0.1:") for url in started)


def test_studio_refuses_a_port_in_use(started: list[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run("--port", str(taken.getsockname()[1]))
    assert isinstance(result.exception, ConfigError)
    assert "choose another" in str(result.exception)
    assert started == []


def test_studio_refuses_half_a_graph(started: list[str]) -> None:
    result = run("--edges", "edges.csv")
    assert isinstance(result.exception, ConfigError)
    assert started == []
