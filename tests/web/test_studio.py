"""The studio's server: who may ask, what it takes in, and that nothing takes it down."""

from __future__ import annotations

import io
import socket
import zipfile

import pytest


def test_page_is_served_with_its_token_and_asks_nothing_outside(client) -> None:
    page = client("GET", "")
    assert page.status == 200
    assert b"graphfilter studio" in page.body
    assert b"http" not in page.body
    assert "connect-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["referrer-policy"] == "no-referrer"
    for name in ("plots.js", "studio.js", "studio.css"):
        assert client("GET", f"assets/{name}").status == 200
    assert client("GET", "assets/report.js").status == 422


@pytest.mark.parametrize("base", ["/wrong/", "/", "/%00/"])
def test_wrong_token_is_refused(client, base: str) -> None:
    assert client("GET", "api/runs", base=base).status in (403, 404)
    assert client("POST", "api/runs", {}, base=base).status in (403, 404, 405)


@pytest.mark.parametrize(("method", "path"), [("GET", "nothing"), ("POST", "assets/x"), ("X", "")])
def test_other_addresses_and_methods_are_refused_as_json(client, method: str, path: str) -> None:
    reply = client(method, path)
    assert reply.status in (404, 405)
    assert "Use the address printed" in reply.json["remedy"]


def test_error_of_our_own_is_told_as_json(client, monkeypatch) -> None:
    def fail(self: object, request: object) -> None:
        raise KeyError(request)

    monkeypatch.setattr("graphfilter.web.studio.Tables.read", fail)
    reply = client("POST", "api/graphs", {"dataset": "karate"})
    assert reply.status == 500
    assert "report it" in reply.json["error"]


def test_other_hosts_and_origins_are_refused(client) -> None:
    """A page elsewhere whose name is made to point here (DNS rebinding) gets nothing."""
    own = f"127.0.0.1:{client.port}"
    assert client("GET", "", headers={"Host": f"evil.example:{client.port}"}).status == 403
    assert client("GET", "", headers={"Host": f"localhost:{client.port}"}).status == 200
    evil = {"Host": own, "Origin": "http://evil.example"}
    assert client("POST", "api/runs", {}, headers=evil).status == 403
    same = {"Host": own, "Origin": f"http://{own}"}
    assert client("POST", "api/runs", {}, headers=same).status == 422


def test_server_listens_on_one_loopback_address_only(client) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", client.port), timeout=5)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"max_epochs": "many"}, "max_epochs: Expected `int`"),
        ({"max_epochs": True}, "max_epochs: Expected `int`"),
        ({"max_epochs": 10_001}, "max_epochs: Expected `int` <= 10000"),
        ({"seed": 2**32}, "seed: Expected `int` <= 4294967295"),
        ({"seed": -1}, "seed: "),
        ({"seed": 10**400}, "seed: "),
        ({"baselines": 1}, "baselines: Expected `bool`, got `int`"),
        ({"max_epochs": 0}, "max_epochs"),
        ({"colour": 1}, "setting: Object contains unknown field `colour`"),
        ({"model": "gcn"}, "model: Invalid enum value 'gcn'"),
    ],
)
def test_bad_settings_are_refused_with_reasons(client, setting, words: str) -> None:
    setting = {"model": "filter", **setting}
    reply = client("POST", "api/runs", {"graph": client.dataset(), "setting": setting})
    assert reply.status == 422
    assert words in reply.json["error"]


HALVES = (b'{"graph": "\xed\xa0\x80"}', b'{"graph": "\\ud800"}')


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"null", b"[" * 100_000, *HALVES])
def test_requests_that_are_no_objects_are_refused(client, body: bytes) -> None:
    reply = client("POST", "api/runs", body=body)
    wrong_shape = 422 if body in (b"[]", b"null") else 400
    assert reply.status == (413 if len(body) > 64 << 10 else wrong_shape)


@pytest.mark.research
def test_datasets_that_are_not_at_hand_are_not_downloaded(client, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("GRAPHFILTER_DATA", str(tmp_path))
    monkeypatch.setenv("GRAPHFILTER_CACHE", str(tmp_path))
    reply = client("POST", "api/graphs", {"dataset": "cora"})
    assert reply.status == 422
    assert "graphfilter data get cora" in reply.json["error"]
    assert "did you mean" in client("POST", "api/graphs", {"dataset": "karat"}).json["error"]


def test_finished_run_is_downloaded_as_fit_writes_it(client) -> None:
    key = client.train(client.dataset(), max_epochs=10, baselines=False)
    client.wait_for(key, lambda run: run["state"] == "done")
    reply = client("GET", f"runs/{key}/download")
    names = zipfile.ZipFile(io.BytesIO(reply.body)).namelist()
    assert {n.split("/")[1] for n in names if not n.endswith("/")} == {
        "predictions.csv", "metrics.json", "filter.png", "report.html", "model.safetensors",
        "config.json", "graph.npz", "reference.safetensors", "cases.safetensors",
    }  # fmt: skip
    report = client("GET", f"runs/{key}/report")
    assert b"graphfilter fit --dataset karate --model sgf --epochs 10" in report.body
    assert client("GET", "runs/99/download").status == 422
