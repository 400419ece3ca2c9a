"""Connections that are opened and hardly used are closed; those that ask are answered."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from tests.web_client import WebClient

pytest.importorskip("starlette", reason="the packages of the servers are not installed")
pytest.importorskip("uvicorn", reason="the packages of the servers are not installed")

from graphfilter.web.server import RequestError, Service, listen, read_body


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

    return Starlette(routes=[Route("/", echo, methods=["GET", "POST"])])


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr("graphfilter.web.server.SECONDS_TO_SEND", 0.2)
    monkeypatch.setattr("graphfilter.web.server.MOST_REQUESTS", 50)
    listener = listen(0)
    server = Service(make_app(0.2), listener)
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


def test_one_request_too_many_is_told_to_come_again(port: int) -> None:
    others = [socket.create_connection(("127.0.0.1", port)) for _ in range(50)]
    try:
        assert WebClient(f"http://127.0.0.1:{port}")("GET", "/").status == 503
    finally:
        for connection in others:
            connection.close()


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
def test_bytes_that_are_no_http_are_refused(
    port: int, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(sent)
        assert until_closed(connection).startswith(b"HTTP/1.1 400 ")
    assert not caplog.records


def test_bad_rest_of_an_answered_request_is_no_traceback(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(CHUNKED.replace(b"POST", b"PUT"))  # Refused.
        connection.settimeout(30)
        answer = connection.recv(1 << 16)
        connection.sendall(b"zz\r\n")
        answer += until_closed(connection)
    assert answer.startswith(b"HTTP/1.1 405 ")
    assert not caplog.records
