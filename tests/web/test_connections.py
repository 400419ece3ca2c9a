"""Connections that are opened and hardly used are closed; those that ask are answered."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from tests.web_client import WebClient

pytest.importorskip("starlette", reason="the packages of the servers are not installed")
pytest.importorskip("uvicorn", reason="the packages of the servers are not installed")

from graphfilter.web import SlowBodyError, WebServer, as_json, listen, read_body


def make_app(seconds: float) -> Any:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.routing import Route

    async def echo(request: Request) -> Any:
        try:
            body = await read_body(request, 100, seconds)
        except SlowBodyError as error:
            return as_json({"error": str(error)}, 408)
        return as_json({"n": len(body)})

    return Starlette(routes=[Route("/", echo, methods=["GET", "POST"])])


@pytest.fixture
def port() -> Iterator[int]:
    listener = listen(0, what="a test", extra="serve")
    server = WebServer(make_app(0.2), listener, seconds_to_send=0.2)
    server.start()
    yield listener.getsockname()[1]
    server.close()


def until_closed(connection: socket.socket) -> bytes:
    connection.settimeout(30)
    found = b""
    while piece := connection.recv(1 << 16):
        found += piece
    return found


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
