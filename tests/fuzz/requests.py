"""Requests to the endpoint of a run and to the studio, damaged: raw bytes, or a body alone.

Each must be answered in JSON, without an error of our own, or the connection be closed.
"""

from __future__ import annotations

import http.client
import io
import json
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.samples import Format

from graphfilter.data import make_karate
from graphfilter.estimators import SGFClassifier
from graphfilter.fits import Source, plan_fit
from graphfilter.run_folder import fit_folder, load_run

HOST = "x"
HEAD = f"HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n"
# An answer comes sooner; a request that does not end by then is ended.
SECONDS = 0.05
NEW = {"id": "a", "features": np.zeros(34).tolist(), "neighbours": ["1", {"id": "2", "weight": 1}]}
SETTING = {"n_layers": 2, "filter_init": 0.5, "dropout": 0.1, "max_epochs": 1, "baselines": False}


def request(line: str, body: bytes, headers: str = "") -> bytes:
    return f"{line} {HEAD}{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _serve(app: Any) -> int:
    """Serve on a thread of this process, for as long as it lasts; return the port."""
    from graphfilter.web import WebServer, listen

    listener = listen(0, what="the fuzzer", extra="serve")
    WebServer(app, listener).start()
    return listener.getsockname()[1]


@cache
def _endpoint() -> int:
    from graphfilter.serving import Limits, Scorer
    from graphfilter.serving.app import Handlers, make_app

    graph = make_karate()
    graph = graph.replace(features=np.eye(graph.n_vertices, dtype=np.float32))
    place = Path(tempfile.mkdtemp(prefix="fuzz-endpoint-")) / "run"
    model = SGFClassifier(n_layers=2, hidden_size=4, max_epochs=2, random_state=0)
    fit_folder(plan_fit(Source(graph), 0), model, place, baselines=False)
    scorer = Scorer(*load_run(place), graph)
    return _serve(make_app(Handlers(scorer, Limits(vertices=20)), None, {HOST}))


@cache
def _studio() -> int:
    from graphfilter.studio.app import Handlers, make_app
    from graphfilter.studio.graph_store import GraphStore
    from graphfilter.studio.training_queue import StudioRun, TrainingQueue

    StudioRun.train = lambda self: None  # What is sent is read; nothing is trained.
    folder = Path(tempfile.mkdtemp(prefix="fuzz-studio-"))
    graphs = GraphStore(folder, 1 << 20, Source(make_karate()))
    assert graphs.start is not None
    graphs.start = replace(graphs.start, key="0")
    return _serve(make_app(Handlers(graphs, TrainingQueue(folder)), "t", {HOST}))


def _answers(port: int, sent: bytes) -> Iterator[tuple[int, bytes]]:
    """Send bytes and no more; yield the status and the body of each answer until the end."""
    found = b""
    connection = socket.create_connection(("127.0.0.1", port), timeout=25)
    with connection, suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(sent)
        connection.settimeout(SECONDS)
        with suppress(TimeoutError):
            found = connection.recv(1 << 16)
        connection.settimeout(25)
        connection.shutdown(socket.SHUT_WR)
        while piece := connection.recv(1 << 16):
            found += piece
    stream = io.BytesIO(found)
    while stream.tell() < len(found):
        reply = http.client.HTTPResponse(_Received(stream))  # pyright: ignore[reportArgumentType]
        reply.begin()
        yield reply.status, reply.read()


class _Received:
    """What :class:`http.client.HTTPResponse` takes for a socket."""

    def __init__(self, stream: io.BytesIO) -> None:
        self._stream = stream

    def makefile(self, mode: str) -> Any:
        return _Kept(self._stream)


class _Kept(io.BufferedReader):
    """A stream that an answer does not close: another may follow."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, 1)  # pyright: ignore[reportArgumentType]

    def close(self) -> None: ...


def request_format(
    port: Callable[[], int], line: str, content: Any, others: dict[str, bytes], headers: str = ""
) -> Format:
    """Make the entry of a server: a body that is sent with a right head, and whole requests."""
    good = request(line, json.dumps(content).encode(), headers)

    answered: set[bytes] = set()

    def write(folder: Path) -> None:
        (folder / "body").write_text(json.dumps(content))
        for name, sent in {"whole": good, **others}.items():
            (folder / name).write_bytes(sent)

    def read(folder: Path) -> None:
        is_sample = not answered  # It is read first; what is whole of a mutant is not sent again.
        for path in sorted(folder.iterdir()):
            sent = path.read_bytes()
            if path.name == "body":
                sent = request(line, sent, headers)
            if sent in answered:
                continue
            for status, body in _answers(port(), sent):
                assert status < 500, body[:200]
                assert status == 200 or not body or isinstance(json.loads(body), dict)
            if is_sample:
                answered.add(sent)

    return Format(write, read)


def _ask(line: str, body: bytes = b"", headers: str = "") -> Any:
    """Return what the studio answers to a request."""
    answer: Any = {}
    for status, said in _answers(_studio(), request(line, body, headers)):
        answer = json.loads(said)
        assert status < 500, said[:200]
        assert isinstance(answer, dict)
    return answer


@cache
def _run() -> str:
    asked = {"graph": "0", "setting": SETTING}
    return _ask("POST /t/api/runs", json.dumps(asked).encode())["key"]


def write_tables(folder: Path) -> None:
    rows = "".join(f"v{i},{'xy'[i % 2]},{i / 3:.2f}\n" for i in range(12))
    (folder / "vertices.csv").write_text(f"id,label,size\n{rows}")
    ends = "".join(f"v{i},v{(i + 1) % 12}\nv{i},v{i * 5 % 12}\n" for i in range(12))
    (folder / "edges.csv").write_text(f"source,target\n{ends}")
    asked = {"edges": "edges.csv", "vertices": "vertices.csv", "id": "id", "label": "label"}
    (folder / "asked").write_text(json.dumps(asked | {"source": "source", "target": None}))
    (folder / "wish").write_text(json.dumps({"wish": "stop"}))


def send_tables(folder: Path) -> None:
    """Send two tables, ask for their columns, the graph of them and its spectrum; stop a run."""
    asked = (folder / "asked").read_bytes()
    for name in ("edges.csv", "vertices.csv"):
        sent = _ask("POST /t/api/uploads", (folder / name).read_bytes(), f"X-File-Name: {name}\r\n")
        _ask(f"GET /t/api/uploads/{sent['key']}")
        asked = asked.replace(name.encode(), sent["key"].encode())
    made = _ask("POST /t/api/graphs", asked)
    if "key" in made:
        _ask(f"GET /t/api/graphs/{made['key']}/energy")
    _ask(f"POST /t/api/runs/{_run()}", (folder / "wish").read_bytes())


REQUESTS = {
    "studio_tables": Format(write_tables, send_tables),
    "endpoint_requests": request_format(
        _endpoint,
        "POST /score",
        {"ids": ["0", 1], "vertices": [NEW]},
        {"health": f"GET /health HTTP/1.1\r\nHost: {HOST}\r\n\r\nGET /model {HEAD}\r\n".encode()},
    ),
    "studio_requests": request_format(
        _studio,
        "POST /t/api/runs",
        {"graph": "0", "setting": SETTING},
        {
            "upload": request("POST /t/api/uploads", b"a,b\n1,2\n", "X-File-Name: e.csv\r\n"),
            "graph": request("POST /t/api/graphs", b'{"edges": "0", "vertices": "0"}'),
        },
    ),
}
