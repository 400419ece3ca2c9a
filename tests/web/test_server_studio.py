"""The studio's server: who may ask, what it takes in, and that nothing takes it down."""

from __future__ import annotations

import io
import socket
import zipfile
from collections.abc import Iterator
from urllib.parse import quote

import pytest

EDGES = "source,target\n" + "".join(f"v{i},v{(i + 1) % 12}\n" for i in range(12))
VERTICES = "id,x,label\n" + "".join(f"v{i},{i / 10},{'ab'[i % 2]}\n" for i in range(12))


def send(client, name: str, body: object):
    return client("POST", "api/uploads", body=body, headers={"X-File-Name": quote(name)})


def upload(client, edges: str = EDGES, vertices: str = VERTICES, **more):
    keys = [send(client, n, b).json["key"] for n, b in (("e.csv", edges), ("v.csv", vertices))]
    return client("POST", "api/graphs", {"edges": keys[0], "vertices": keys[1], **more})


def test_page_is_served_with_its_token_and_asks_nothing_outside(client) -> None:
    page = client("GET", "")
    assert page.status == 200
    assert b"graphfilter studio" in page.body
    assert b"http" not in page.body
    assert "connect-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["referrer-policy"] == "no-referrer"
    for name in ("plotly.js", "plots.js", "studio.js", "studio.css"):
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
    assert "use the one printed" in reply.json["error"]


def test_error_of_our_own_is_told_as_json(client, monkeypatch) -> None:
    def fail(self: object, name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr("graphfilter.web.graph_store.GraphStore.add_dataset", fail)
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


def test_uploaded_tables_become_a_graph(client) -> None:
    reply = upload(client)
    assert reply.status == 200, reply.body
    assert reply.json["name"] == "v"
    assert reply.json["size"] == "12 vertices, 12 edges, 1 feature, 2 classes"


def test_columns_of_an_upload_are_told_and_chosen(client) -> None:
    vertices = VERTICES.replace("id,x,label", "name,x,kind")
    keys = [send(client, n, b).json["key"] for n, b in (("e.csv", EDGES), ("v.csv", vertices))]
    assert client("GET", f"api/uploads/{keys[0]}").json == {"columns": ["source", "target"]}
    assert client("GET", f"api/uploads/{keys[1]}").json == {"columns": ["name", "x", "kind"]}
    asked = {"edges": keys[0], "vertices": keys[1], "id": "name", "label": "kind"}
    asked |= {"source": "target", "target": "source"}
    reply = client("POST", "api/graphs", asked)
    assert reply.json["size"] == "12 vertices, 12 edges, 1 feature, 2 classes"
    assert client("GET", f"api/uploads/{keys[0]}").status == 422
    bad = send(client, "bad.csv", "\x00\x01").json["key"]
    told = client("GET", f"api/uploads/{bad}")
    assert told.status == 422
    assert told.json["error"].startswith("bad.csv")


def test_energy_of_the_labels_is_a_density(client) -> None:
    found = client("GET", f"api/graphs/{client.dataset()}/energy").json
    assert len(found["x"]) == len(found["y"]) == 40
    assert sum(found["y"]) * 2 / 40 == pytest.approx(1.0, abs=1e-2)
    assert client("GET", "api/graphs/none/energy").status == 422


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"edges": EDGES + "v0,v99\n"}, "e.csv, line 14: "),
        ({"vertices": VERTICES + "v0,1,a\n"}, "v.csv"),
        ({"label": "colour"}, "v.csv"),
        ({"vertices": "\x00\x01\x02 no table"}, "v.csv"),
        ({"vertices": VERTICES.replace(",b\n", ",a\n")}, "at least two classes"),
    ],
)
def test_bad_tables_get_the_errors_of_the_command_line(client, change, words: str) -> None:
    reply = upload(client, **change)
    assert reply.status == 422
    assert words in reply.json["error"]
    assert "upload-" not in reply.json["error"]


@pytest.mark.parametrize("name", ["photo.png", "", "edges.csv.exe", "../../etc/passwd"])
def test_upload_that_is_no_table_is_refused(client, name: str) -> None:
    reply = send(client, name, b"x")
    assert reply.status == 422
    assert "must be a table" in reply.json["error"]


def test_upload_of_100_mb_is_refused_and_the_server_stays_up(client) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * (1 << 20)

    try:
        reply = send(client, "large.csv", endless())
    except (BrokenPipeError, ConnectionResetError):
        pass  # cut off while sending, which is an answer too
    else:
        assert reply.status == 413
        assert "at most 1 MB" in reply.json["error"]
    assert client("GET", "api/runs").status == 200
    small = send(client, "large.csv", b"y" * (3 << 20))
    assert small.status == 413


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"operator": "laplacain"}, "did you mean 'laplacian'"),
        ({"n_layers": 0}, "n_layers must be a whole number from 1 to 64; got 0"),
        ({"n_layers": 65}, "n_layers must be a whole number"),
        ({"n_layers": "many"}, "n_layers must be a whole number"),
        ({"n_layers": True}, "n_layers must be a whole number"),
        ({"max_epochs": 10_001}, "max_epochs must be a whole number from 1 to 10000"),
        ({"seed": 2**32}, "seed must be a whole number from 0 to 4294967295; got 4294967296"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"seed": 10**400}, "seed must be a whole number"),
        ({"filter_init": float("inf")}, "filter_init must be a finite number"),
        ({"filter_init": [1]}, "filter_init must be a finite number"),
        ({"baselines": 1}, "baselines must be true or false"),
        ({"dropout": 1.5}, "dropout must be in"),
        ({"dropout": None}, "dropout must be a finite number"),
        ({"filter_init": "half"}, "uniform"),
        ({"max_epochs": 0}, "max_epochs"),
        ({"colour": 1}, "unknown setting"),
    ],
)
def test_bad_settings_are_refused_with_reasons(client, setting, words: str) -> None:
    reply = client("POST", "api/runs", {"graph": client.dataset(), "setting": setting})
    assert reply.status == 422
    assert words in reply.json["error"]


HALVES = (b'{"graph": "\xed\xa0\x80"}', b'{"graph": "\\ud800"}')


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"null", b"[" * 100_000, *HALVES])
def test_requests_that_are_no_objects_are_refused(client, body: bytes) -> None:
    reply = client("POST", "api/runs", body=body)
    assert reply.status == (413 if len(body) > 64 << 10 else 422)


@pytest.mark.research
def test_datasets_that_are_not_at_hand_are_not_downloaded(client, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("GRAPHFILTER_DATA", str(tmp_path))
    monkeypatch.setenv("GRAPHFILTER_CACHE", str(tmp_path))
    reply = client("POST", "api/graphs", {"dataset": "cora"})
    assert reply.status == 422
    assert "graphfilter data get cora" in reply.json["error"]
    assert "did you mean" in client("POST", "api/graphs", {"dataset": "karat"}).json["error"]


def test_finished_run_is_downloaded_as_fit_writes_it(client) -> None:
    key = client.train(client.dataset(), max_epochs=10, n_layers=3, baselines=False)
    client.wait_for(key, lambda run: run["state"] == "done")
    reply = client("GET", f"runs/{key}/download")
    names = zipfile.ZipFile(io.BytesIO(reply.body)).namelist()
    assert {n.split("/")[1] for n in names} == {
        "predictions.csv", "metrics.json", "filter.png", "report.html", "model.safetensors",
        "config.json", "graph.npz", "reference.safetensors",
    }  # fmt: skip
    report = client("GET", f"runs/{key}/report")
    assert b"graphfilter fit --dataset karate --model sgf --layers 3 --operator" in report.body
    assert client("GET", "runs/99/download").status == 422
