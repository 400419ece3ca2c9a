"""Connections that are opened and hardly used are closed; those that ask are answered."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.web_client import WebClient

pytest.importorskip("starlette", reason="the packages of the servers are not installed")
pytest.importorskip("uvicorn", reason="the packages of the servers are not installed")

from graphfilter.web.server import RequestError, Service, listen, read_body

# More than a system keeps for a client that does not read.
LARGE = 32 << 20


def make_app(seconds: float) -> Any:
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def echo(request: Request) -> Any:
        try:
            body = await read_body(request, 100, seconds)
        except RequestError as error:
            return JSONResponse({"error": str(error)}, error.status)
        except ClientDisconnect:  # As the servers of the package do.
            return JSONResponse({}, 400)
        return JSONResponse({"n": len(body)})

    async def large(request: Request) -> Any:
        return JSONResponse("x" * LARGE)

    routes = [Route("/", echo, methods=["GET", "POST"]), Route("/large", large)]
    return Starlette(routes=routes)


@pytest.fixture
def port() -> Iterator[int]:
    listener = listen(0)
    server = Service(make_app(0.2), listener, seconds_to_send=0.2, seconds_to_take=0.5)
    server.start()
    yield listener.getsockname()[1]
    server.close()


def until_closed(connection: socket.socket) -> bytes:
    connection.settimeout(30)
    found = []
    while piece := connection.recv(1 << 16):
        found.append(piece)
    return b"".join(found)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "])
def test_connection_without_a_whole_request_is_closed(port: int, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(sent)
        assert until_closed(connection) == b""


def test_second_request_that_does_not_end_is_closed(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP")
        answers = until_closed(connection)
    assert answers.count(b"200 OK") == 1


def test_body_that_does_not_come_is_answered_and_closed(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nabc")
        answer = until_closed(connection)
    assert b" 408 " in answer.splitlines()[0]


def test_others_are_answered_while_slow_connections_wait(port: int) -> None:
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(30)]
    try:
        reply = WebClient(f"http://127.0.0.1:{port}")("POST", "/", body=b"x" * 7)
        assert reply.json == {"n": 7}
    finally:
        for connection in slow:
            connection.close()


def ask_for_large(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
    return connection


def size_until_closed(connection: socket.socket) -> int:
    try:
        return len(until_closed(connection))
    except ConnectionResetError:
        return 0


def test_answer_that_nobody_takes_is_given_up(port: int) -> None:
    with ask_for_large(port) as idle:
        time.sleep(1.5)
        assert size_until_closed(idle) < LARGE
    with ask_for_large(port) as prompt:
        assert size_until_closed(prompt) > LARGE


def test_answers_that_nobody_takes_are_limited_together(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphfilter.web.server.MOST_UNTAKEN", 1 << 20)
    with ask_for_large(port), ask_for_large(port) as second:
        time.sleep(0.2)
        began = time.monotonic()
        assert size_until_closed(second) < LARGE
        assert time.monotonic() - began < 20


def test_one_connection_too_many_is_closed(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphfilter.web.server.MOST_CONNECTIONS", 1)
    with socket.create_connection(("127.0.0.1", port)) as first:
        first.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n")
        with socket.create_connection(("127.0.0.1", port)) as second:
            assert until_closed(second) == b""
        first.sendall(b"x")
        assert b'{"n":1}' in until_closed(first)


CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"\0\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03" + b"x" * 200 + b"\r\n\r\n",
        CHUNKED + b"zz\r\n",
    ],
)
def test_bytes_that_are_no_http_are_answered_in_json(
    port: int, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(sent)
        head, _, body = until_closed(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert set(json.loads(body)) == {"error", "remedy"}
    assert not caplog.records


def test_bad_rest_of_an_answered_request_is_no_traceback(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(CHUNKED.replace(b"POST /", b"POST /large"))  # Refused: it is for GET.
        connection.settimeout(30)
        answer = connection.recv(1 << 16)
        connection.sendall(b"zz\r\n")
        answer += until_closed(connection)
    assert answer.startswith(b"HTTP/1.1 405 ")
    assert not caplog.records
