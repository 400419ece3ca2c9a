"""Uploads: limits on what is sent and what it unpacks to, and no file left behind."""

from __future__ import annotations

import gzip
import socket
import time
from pathlib import Path
from urllib.parse import quote

import pytest

EDGES = "source,target\n" + "".join(f"v{i},v{(i + 1) % 12}\n" for i in range(12))
VERTICES = "id,x,label\n" + "".join(f"v{i},{i / 10},{'ab'[i % 2]}\n" for i in range(12))


def send(client, name: str, body: object):
    return client("POST", "api/uploads", body=body, headers={"X-File-Name": quote(name)})


def sent_files(client) -> list[Path]:
    return list(client.folder.glob("upload-*"))


def wait_until(holds) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError("it never held")


@pytest.mark.parametrize("members", [1, 3])
def test_upload_that_unpacks_to_more_than_the_limit_is_refused(client, members: int) -> None:
    """A thousandth of its content, as one gzip member or several joined."""
    packed = gzip.compress(bytes((1 << 20) // members)) * members + gzip.compress(bytes(100))
    assert len(packed) < 10_000
    reply = send(client, "zeros.csv.gz", packed)
    assert reply.status == 413
    assert "at most 1 MB to be uploaded, unpacked too" in reply.json["error"]
    assert sent_files(client) == []


def test_upload_must_be_gzipped_where_its_name_says_so(client) -> None:
    reply = send(client, "edges.csv.gz", EDGES)
    assert reply.status == 422
    assert "edges.csv.gz: must be gzipped" in reply.json["error"]
    assert sent_files(client) == []


def test_gzipped_tables_are_read_and_removed(client) -> None:
    keys = [send(client, n, gzip.compress(b.encode())).json["key"]
            for n, b in (("e.csv.gz", EDGES), ("v.csv.gz", VERTICES))]  # fmt: skip
    assert len(sent_files(client)) == 2
    reply = client("POST", "api/graphs", {"edges": keys[0], "vertices": keys[1]})
    assert reply.status == 200, reply.body
    assert sent_files(client) == []
    again = client("POST", "api/graphs", {"edges": keys[0], "vertices": keys[1]})
    assert "upload the edges and the vertices again" in again.json["error"]


def test_tables_that_are_refused_are_removed(client) -> None:
    keys = [send(client, n, b).json["key"] for n, b in (("e.csv", "x"), ("v.csv", "y"))]
    assert client("POST", "api/graphs", {"edges": keys[0], "vertices": keys[1]}).status == 422
    assert sent_files(client) == []


def test_upload_that_is_broken_off_leaves_no_file(client) -> None:
    with socket.create_connection((client.host, client.port)) as connection:
        head = (
            f"POST {client.base}api/uploads HTTP/1.1\r\nHost: {client.host}:{client.port}\r\n"
            "X-File-Name: e.csv\r\nContent-Length: 1000\r\n\r\n"
        )
        connection.sendall(head.encode() + b"source,target\n")
        wait_until(lambda: sent_files(client))
    wait_until(lambda: not sent_files(client))
    assert client("GET", "api/runs").status == 200


def test_upload_that_stops_on_its_way_is_given_up(client, monkeypatch) -> None:
    monkeypatch.setattr("graphfilter.web.uploads.SECONDS_BETWEEN", 0.2)

    def slowly():
        yield b"source,target\n"
        time.sleep(1)
        yield b"a,b\n"

    reply = send(client, "e.csv", slowly())
    assert reply.status == 408
    assert "e.csv: the upload stopped" in reply.json["error"]
    assert sent_files(client) == []


def test_tables_that_nobody_reads_do_not_pile_up(client) -> None:
    from graphfilter.web.uploads import MOST_WAITING

    for _ in range(MOST_WAITING + 3):
        assert send(client, "e.csv", EDGES).status == 200
    assert len(sent_files(client)) == MOST_WAITING


def test_graphs_do_not_pile_up_and_a_dataset_is_loaded_once(client, monkeypatch) -> None:
    assert client.dataset() == client.dataset()
    monkeypatch.setattr("graphfilter.web.graph_store.MOST_GRAPHS", 2)
    old = client.dataset()
    for _ in range(2):
        keys = [send(client, n, b).json["key"] for n, b in (("e.csv", EDGES), ("v.csv", VERTICES))]
        assert client("POST", "api/graphs", {"edges": keys[0], "vertices": keys[1]}).status == 200
    reply = client("POST", "api/runs", {"graph": old})
    assert "load or upload it again" in reply.json["error"]


def test_studio_keeps_only_so_many_runs(client, monkeypatch) -> None:
    monkeypatch.setattr("graphfilter.web.training_queue.MOST_RUNS", 1)
    graph = client.dataset()
    client.train(graph, max_epochs=1, n_layers=1, baselines=False)
    reply = client("POST", "api/runs", {"graph": graph})
    assert reply.status == 422
    assert "at most 1 runs" in reply.json["error"]
