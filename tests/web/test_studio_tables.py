"""Tables that are sent: how they are read, limits on what is sent, and no file left behind."""

from __future__ import annotations

import gzip
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

EDGES = "source,target\n" + "".join(f"v{i},v{(i + 1) % 12}\n" for i in range(12))
VERTICES = "id,x,label\n" + "".join(f"v{i},{i / 10},{'ab'[i % 2]}\n" for i in range(12))


def sent_files(client) -> list[Path]:
    return list(client.folder.glob("upload-*"))


def wait_until(holds) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError("it never held")


def kinds(listing) -> dict[str, str]:
    return {column["name"]: column["kind"] for column in listing}


def test_tables_become_a_graph_and_say_how_each_column_was_read(client) -> None:
    vertices = "name,size,colour,kind\n" + "".join(
        f"v{i},{'' if i == 3 else i / 7},{'red' if i % 3 else 'blue'},{'ab'[i % 2]}\n"
        for i in range(12)
    )
    reply = client.read(vertices, EDGES, columns={"kind": "label"}).json
    assert reply["problem"] == ""
    assert reply["name"] == "v"
    assert reply["size"] == "12 rows, 12 connections, 2 classes"
    assert kinds(reply["columns"]) == {
        "name": "id", "size": "number", "colour": "category", "kind": "label",
    }  # fmt: skip
    assert kinds(reply["edge_columns"]) == {"source": "source", "target": "target"}
    size = reply["columns"][1]
    assert (size["example"], size["missing"], size["rows"]) == ("0.0", 1, 12)
    assert not any("to change this" in note for note in reply["notes"])


def test_kinds_and_roles_of_columns_can_be_changed(client) -> None:
    rows = "".join(f"{i % 4},v{i},{'ab'[i % 2]},{'xyz'[i % 3]}\n" for i in range(12))
    chosen = {"size": "category", "kind": "drop", "colour": "label", "name": "id"}
    reply = client.read("size,name,kind,colour\n" + rows, EDGES, columns=chosen).json
    assert kinds(reply["columns"]) == chosen
    assert "3 classes" in reply["size"]
    ends = {"source": "target", "target": "source"}
    reply = client.read(VERTICES, EDGES, edge_columns=ends).json
    assert kinds(reply["edge_columns"]) == ends
    assert client.read(VERTICES, EDGES, columns={"x": "colour"}).status == 422


def test_table_alone_is_a_graph_without_edges(client) -> None:
    reply = client.read(VERTICES).json
    assert reply["size"] == "12 rows, 2 classes"
    assert reply["edge_columns"] == []
    assert "no table of edges: rows have no neighbours." in reply["notes"]


def test_table_of_edges_is_known_by_its_columns(client) -> None:
    assert client.upload("a.csv", EDGES).json["has_ends"]
    assert not client.upload("b.csv", VERTICES).json["has_ends"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"edges": EDGES + "v0,v99\n"}, "e.csv, line 14: "),
        ({"vertices": VERTICES + "v0,1,a\n"}, "v.csv"),
        ({"columns": {"colour": "label"}}, "v.csv"),
        ({"vertices": VERTICES.replace(",b\n", ",a\n")}, "at least two classes"),
        ({"vertices": VERTICES.replace("label", "kind")}, "choose “label” beside"),
    ],
)
def test_tables_that_cannot_be_fitted_are_listed_with_the_reason(client, change, words) -> None:
    """The errors are those of the command line."""
    reply = client.read(**{"vertices": VERTICES, "edges": EDGES, **change})
    assert reply.status == 200
    assert words in reply.json["problem"]
    assert "upload-" not in reply.json["problem"]
    assert reply.json["key"] == ""
    assert len(reply.json["columns"]) == 3


def test_upload_that_cannot_be_read_is_refused(client) -> None:
    reply = client.upload("bad.csv", "\x00\x01\x02 no table")
    assert reply.status == 422
    assert reply.json["error"].startswith("bad.csv")
    assert sent_files(client) == []


@pytest.mark.parametrize("name", ["photo.png", "", "edges.csv.exe", "../../etc/passwd"])
def test_upload_that_is_no_table_is_refused(client, name: str) -> None:
    reply = client.upload(name, b"x")
    assert reply.status == 422
    assert "must be a table" in reply.json["error"]


def test_upload_of_100_mb_is_refused_and_the_server_stays_up(client) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * (1 << 20)

    try:
        reply = client.upload("large.csv", endless())
    except (BrokenPipeError, ConnectionResetError):
        pass  # cut off while sending, which is an answer too
    else:
        assert reply.status == 413
        assert "at most 1 MB" in reply.json["error"]
    assert client("GET", "api/runs").status == 200
    small = client.upload("large.csv", b"y" * (3 << 20))
    assert small.status == 413


def test_upload_that_is_packed_is_refused(client) -> None:
    """It might unpack to a thousand times its size."""
    reply = client.upload("zeros.csv.gz", gzip.compress(bytes(1 << 20)))
    assert reply.status == 422
    assert "must be a table" in reply.json["error"]
    assert sent_files(client) == []


def test_table_that_is_gone_is_asked_for_again(client) -> None:
    gone = client("POST", "api/graphs", {"edges": "no key", "vertices": "no key"})
    assert gone.status == 422
    assert "choose it again" in gone.json["error"]


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
    monkeypatch.setattr("graphfilter.web.studio.SECONDS_BETWEEN", 0.2)

    def slowly():
        yield b"source,target\n"
        time.sleep(1)
        yield b"a,b\n"

    reply = client.upload("e.csv", slowly())
    assert reply.status == 408
    assert "e.csv: the upload stopped" in reply.json["error"]
    assert sent_files(client) == []


def test_tables_that_nobody_reads_do_not_pile_up(client) -> None:
    from graphfilter.web.studio import MOST_TABLES

    for _ in range(MOST_TABLES + 3):
        assert client.upload("e.csv", EDGES).status == 200
    assert len(sent_files(client)) == MOST_TABLES


def test_graphs_do_not_pile_up_and_a_dataset_is_loaded_once(client, monkeypatch) -> None:
    assert client.dataset() == client.dataset()
    monkeypatch.setattr("graphfilter.web.studio.MOST_GRAPHS", 2)
    old = client.dataset()
    for _ in range(2):
        assert client.read(VERTICES, EDGES).status == 200
    reply = client("POST", "api/runs", {"graph": old})
    assert "load or upload it again" in reply.json["error"]
