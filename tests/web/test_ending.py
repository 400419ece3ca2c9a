"""The command: it says where it serves, and ends by Ctrl-C or SIGTERM with the right code."""

from __future__ import annotations

import itertools
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.processes import Command
from tests.web.conftest import QUICK
from tests.web_client import WebClient

pytest.importorskip("starlette", reason="the packages of the endpoint are not installed")
pytest.importorskip("uvicorn", reason="the packages of the endpoint are not installed")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
NUMBERS = itertools.count()


@contextmanager
def started(run: Path, folder: Path, *words: object) -> Iterator[tuple[Command, WebClient]]:
    said = folder / f"said{next(NUMBERS)}"
    with Command(["serve", run, "--port", 0, *words], said, {"COLUMNS": "300"}) as command:
        yield command, WebClient(command.first_line().split()[-1])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_signal_ends_the_endpoint(
    run: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """The graph is the one that is kept with the run."""
    with started(run, tmp_path, "--quiet") as (command, ask):
        reply = ask("POST", "/score", {"ids": ["v3"]})
        assert reply.json["vertices"][0]["id"] == "v3"
        command.send(number)
        assert command.wait()
        assert command.code == code
        assert "Traceback" not in command.err


def test_tables_are_read_again_where_no_graph_is_kept(
    run: Path, tables: Path, tmp_path: Path
) -> None:
    named = ("--edges", tables / "edges.csv", "--vertices", tables / "vertices.csv")
    with started(run, tmp_path) as (kept, ask):
        expected = ask("POST", "/score", {"ids": ["v3"]}).json
        assert "the graph saved with the run: 60 vertices" in kept.err
    with started(run, tmp_path, *named) as (read, ask):
        assert ask("POST", "/score", {"ids": ["v3"]}).json == expected
        assert "saved with the run" not in read.err


def test_run_of_a_store_is_served_from_the_store(run: Path, tables: Path, tmp_path: Path) -> None:
    """With the answers of a run of the same tables, for known and for new vertices."""
    pytest.importorskip("duckdb", reason="stores are built by duckdb")
    store, own = tmp_path / "store", tmp_path / "run"
    build = ("store", tables / "edges.csv", tables / "vertices.csv", "--label", "drink")
    fit = ("fit", "--graph", store, "--set", "keep_graph=no", "--out", own, *QUICK)
    for i, words in enumerate(((*build, "--out", store), fit)):
        with Command(words, tmp_path / str(i)) as command:
            assert command.wait()
            assert command.code == 0, command.err
    features = {"age": 0.4, "size": None, "colour": "red"}
    asked = {"ids": ["v3"], "vertices": [{"features": features, "neighbours": ["v1", "v2"]}]}
    said = []
    for folder in (run, own):
        with started(folder, tmp_path) as (_, ask):
            reply = ask("POST", "/score", asked)
            assert reply.status == 200, reply.body
            said += [[one["probabilities"] for one in reply.json["vertices"]]]
    for expected, found in zip(*said, strict=True):
        assert found == pytest.approx(expected, abs=1e-6)


def test_token_of_a_file_is_asked_for_and_not_printed(run: Path, tmp_path: Path) -> None:
    token = "x" * 20
    (tmp_path / "token").write_text(token)
    with started(run, tmp_path, "--token-file", tmp_path / "token") as (command, ask):
        assert ask("GET", "/model").status == 401
        headers = {"Authorization": f"Bearer {token}"}
        assert ask("GET", "/model", headers=headers).status == 200
        assert token not in command.out + command.err


def test_bad_options_are_one_line(graphfilter, run: Path, tmp_path: Path) -> None:
    for words in (
        ("serve", tmp_path / "none"),
        ("serve", run, "--seconds", 0),
        ("serve", run, "--dataset", "karate"),
        ("serve", run, "--token-file", tmp_path / "none"),
        ("serve", run, "--host", "no such host"),
    ):
        done = graphfilter(*words, "--quiet", code=2)
        assert len(done.err.strip().splitlines()) == 1, done.err
