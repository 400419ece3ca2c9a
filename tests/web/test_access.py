"""Who may ask an endpoint: this machine, by its own address; others with the token."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tests.web_client import WebClient

from graphfilter.util.errors import ConfigError
from graphfilter.web.endpoint import Endpoint, read_token

TOKEN = "a-token-that-is-long-enough"


def test_other_hosts_and_origins_are_refused(ask: WebClient) -> None:
    """A page elsewhere, or one whose name is made to point here (DNS rebinding), gets nothing."""
    own = f"127.0.0.1:{ask.port}"
    for headers in ({"Host": f"evil.example:{ask.port}"}, {"Host": own, "Origin": "http://x.y"}):
        for method, path in (("POST", "/score"), ("GET", "/docs"), ("GET", "/health")):
            reply = ask(method, path, {"ids": ["v1"]}, headers=headers)
            assert reply.status == 403
            assert reply.json["remedy"]
    same = {"Host": own, "Origin": f"http://{own}"}
    assert ask("POST", "/score", {"ids": ["v1"]}, headers=same).status == 200


def test_endpoint_listens_on_one_loopback_address_only(ask: WebClient) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", ask.port), timeout=5)


@pytest.mark.parametrize(
    "given", [None, "Bearer wrong", f"Basic {TOKEN}", "Bearer", f"Bearer {TOKEN}x", "Bearer é"]
)
def test_wrong_token_is_refused(scorer, given: str | None) -> None:
    with Endpoint(scorer, token=TOKEN) as endpoint:
        client = WebClient(endpoint.url)
        headers = {} if given is None else {"Authorization": given}
        for method, path in (("POST", "/score"), ("GET", "/docs"), ("GET", "/model")):
            reply = client(method, path, {"ids": ["v1"]}, headers=headers)
            assert reply.status == 401
            assert reply.headers["www-authenticate"] == "Bearer"
            assert "Authorization: Bearer" in reply.json["remedy"]
        assert client("GET", "/health", headers=headers).status == 200
        right = {"Authorization": f"Bearer {TOKEN}"}
        assert client("POST", "/score", {"ids": ["v1"]}, headers=right).status == 200


@pytest.mark.parametrize("host", ["::1", "0:0:0:0:0:0:0:1"])
def test_loopback_of_ipv6_is_this_machine_and_needs_no_token(scorer, host: str) -> None:
    try:
        endpoint = Endpoint(scorer, host=host)
    except ConfigError as error:
        pytest.skip(f"there is no IPv6 here: {error}")
    with endpoint:
        assert endpoint.token is None
        client = WebClient(endpoint.url)
        assert endpoint.url == f"http://[::1]:{client.port}"
        assert client("POST", "/score", {"ids": ["v1"]}).status == 200
        assert endpoint.url in client("GET", "/docs").body.decode()
        for name, status in (("localhost", 200), ("[::2]", 403), ("evil.example", 403)):
            headers = {"Host": f"{name}:{client.port}"}
            assert client("GET", "/model", headers=headers).status == status


def test_address_beyond_this_machine_needs_a_token(scorer) -> None:
    with Endpoint(scorer, host="0.0.0.0") as endpoint:
        assert endpoint.token is not None
        client = WebClient(endpoint.url.replace("0.0.0.0", "127.0.0.1"))
        assert client("POST", "/score", {"ids": ["v1"]}).status == 401
        headers = {"Authorization": f"Bearer {endpoint.token}", "Host": "any.example"}
        assert client("POST", "/score", {"ids": ["v1"]}, headers=headers).status == 200


@pytest.mark.parametrize("content", ["", "short", "two words of a long token", "é" * 20])
def test_token_that_could_be_guessed_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    with pytest.raises(ConfigError, match="must be one word of 16 characters"):
        read_token(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_token(tmp_path / "none")


def test_token_is_read_without_its_line_end(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    assert read_token(path) == TOKEN


def test_port_in_use_is_refused(scorer) -> None:
    with Endpoint(scorer) as endpoint:
        port = int(endpoint.url.rpartition(":")[2])
        with pytest.raises(ConfigError, match="choose another"):
            Endpoint(scorer, port=port)
    with pytest.raises(ConfigError, match="cannot be used"):
        Endpoint(scorer, host="no such host")
