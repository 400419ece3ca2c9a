"""However the studio ends, it leaves no files; those of a killed one are removed by the next."""

from __future__ import annotations

import itertools
import json
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.processes import Command

pytest.importorskip("starlette", reason="the studio's packages are not installed")
pytest.importorskip("uvicorn", reason="the studio's packages are not installed")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such signals and locks there")


WORDS = ("studio", "--dataset", "karate", "--no-browser")
NUMBERS = itertools.count()


@contextmanager
def started(folder: Path) -> Iterator[tuple[Command, str]]:
    """Start a studio whose temporary files are in a folder of their own; give its address."""
    environment = {"TMPDIR": str(folder), "COLUMNS": "300"}
    with Command(WORDS, folder / f"said{next(NUMBERS)}", environment) as command:
        yield command, command.first_line().split()[-1]


def studio_folders(folder: Path) -> list[Path]:
    """List what studios keep there; torch has a cache of its own beside it."""
    return list(folder.glob("graphfilter-*"))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_signal_ends_the_studio_and_leaves_no_files(
    tmp_path: Path, connect: Callable, number: signal.Signals, code: int
) -> None:
    """In the middle of a run, with an upload that nobody has read."""
    with started(tmp_path) as (command, url):
        client = connect(url)
        key = client.train(client.dataset("karate"), max_epochs=10_000, baselines=False)
        client.wait_for(key, lambda run: run["progress"].get("epoch", 0) > 1)
        client.upload("e.csv", b"a")
        command.send(number)
        assert command.wait()
        assert command.code == code
        assert "Traceback" not in command.err
    assert studio_folders(tmp_path) == []


def test_signal_while_a_table_is_read_is_no_traceback(tmp_path: Path, connect: Callable) -> None:
    n = 30_000
    vertices = "id,kind,x\n" + "".join(f"v{i},{i % 2},a{i % 99} b{i % 7}\n" for i in range(n))
    edges = "u,v\n" + "".join(f"v{i},v{(i + 1) % n}\n" for i in range(n))
    with started(tmp_path) as (command, url):
        client = connect(url)
        tables = (("e.csv", edges), ("v.csv", vertices))
        sent = [client.upload(name, text.encode()) for name, text in tables]
        keys = dict(zip(("edges", "vertices"), (one.json["key"] for one in sent), strict=True))
        place = urlsplit(url)
        with socket.create_connection((place.hostname, place.port)) as connection:
            body = json.dumps(keys)
            head = f"POST {place.path}api/graphs HTTP/1.1\r\nHost: {place.netloc}\r\n"
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
            time.sleep(0.2)
            command.send(signal.SIGTERM)
            assert command.wait()
        assert command.code == 143
        assert "Traceback" not in command.err
        assert "Error" not in command.err


def test_files_of_a_killed_studio_are_removed_by_the_next(tmp_path: Path) -> None:
    with started(tmp_path) as (command, _):
        command.send(signal.SIGKILL)
        assert command.wait()
    (left,) = studio_folders(tmp_path)
    with started(tmp_path) as (command, _):
        assert len(studio_folders(tmp_path)) == 1
        assert not left.exists()
        command.send(signal.SIGTERM)
        assert command.wait()
    assert studio_folders(tmp_path) == []


def test_studio_that_runs_keeps_its_files_when_another_starts(tmp_path: Path) -> None:
    with started(tmp_path):
        (own,) = studio_folders(tmp_path)
        with started(tmp_path):
            assert len(studio_folders(tmp_path)) == 2
        assert own.exists()
