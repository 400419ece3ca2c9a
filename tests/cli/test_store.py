"""graphfilter store, and --graph STORE wherever a graph is taken."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest
from tests.analyst_tables import make_fraud

import graphfilter as gf
from graphfilter.data import write_tables

pytest.importorskip("duckdb", reason="stores are built by duckdb: pip install graphfilter[scale]")

FAST = ("--model", "sgf", "--epochs", 5, "--no-baselines", "--quiet")


@pytest.fixture
def tables(tmp_path: Path) -> list[Path]:
    graph = gf.data.make_karate()
    write_tables(graph, tmp_path)
    return [tmp_path / "edges.csv", tmp_path / "vertices.csv"]


def test_fit_on_a_store_is_fit_on_its_tables(graphfilter, tables, tmp_path) -> None:
    store = tmp_path / "store"
    made = graphfilter("store", *tables, "--label", "label", "--out", store)
    assert "34 vertices" in made.out
    named = ("--edges", tables[0], "--vertices", tables[1], "--label", "label")
    for out, source in (("a", ("--graph", store)), ("b", named)):
        graphfilter("fit", *source, *FAST, "--out", tmp_path / out)
    for name in ("model.safetensors", "predictions.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    for words in (("inspect",), ("predict", tmp_path / "a", "--out", tmp_path / "p.csv")):
        graphfilter(*words, "--graph", store)
    graphfilter("predict", tmp_path / "a", *named[:4], "--out", tmp_path / "q.csv")
    assert (tmp_path / "p.csv").read_bytes() == (tmp_path / "q.csv").read_bytes()


def test_store_to_predict_is_encoded_as_its_run(graphfilter, tmp_path) -> None:
    rows = [f"v{i},{'abc'[i % 3]},{i % 2}\n" for i in range(30)]
    (tmp_path / "v.csv").write_text("id,kind,label\n" + "".join(rows))
    (tmp_path / "e.csv").write_text("u,v\n" + "".join(f"v{i},v{(i + 1) % 30}\n" for i in range(30)))
    (tmp_path / "new.csv").write_text("id,kind,label\n" + "".join(rows[1::3]))
    named = ("--edges", tmp_path / "e.csv", "--vertices", tmp_path / "v.csv", "--label", "label")
    graphfilter("fit", *named, *FAST, "--out", tmp_path / "run")
    few = ("store", tmp_path / "e.csv", tmp_path / "new.csv", "--allow-missing", "--label", "label")
    graphfilter(*few, "--out", tmp_path / "own", code=2)
    (tmp_path / "few.csv").write_text("u,v\nv1,v4\n")
    few = ("store", tmp_path / "few.csv", *few[2:])
    graphfilter(*few, "--out", tmp_path / "own2")
    predict = ("predict", tmp_path / "run", "--out", tmp_path / "p.csv", "--graph")
    result = graphfilter(*predict, tmp_path / "own2", code=2)
    assert "--like RUN" in result.err
    graphfilter(*few, "--out", tmp_path / "like", "--like", tmp_path / "run")
    result = graphfilter(*predict, tmp_path / "like")


def test_bad_words_for_a_store_are_one_line(graphfilter, tables, tmp_path) -> None:
    for words, said in (
        (
            ("store", *tables, "--out", tmp_path / "s", "--memory", "much"),
            "must be an amount like 4GB",
        ),
        (("store", tmp_path / "no.csv", "--out", tmp_path / "s"), "no such file"),
        (("store", *tables, "--out", tables[0]), "a file is in the way"),
        (("fit", "--graph", tmp_path, "--out", tmp_path / "r"), "must be a graph store"),
        (("store", *tables, "--label", "labl", "--out", tmp_path / "s"), "did you mean 'label'"),
    ):
        result = graphfilter(*words, code=2)
        assert said in result.err
        assert "Traceback" not in result.err


def test_store_says_what_to_install(graphfilter, tables, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    result = graphfilter("store", *tables, "--out", tmp_path / "s", code=2)
    assert "pip install 'graphfilter[scale]'" in result.err


def test_two_stores_train_on_earlier_edges_and_predict_with_all(graphfilter, tmp_path) -> None:
    """A store keeps no times: a store of the past and one of all do what --as-of does."""
    made = make_fraud(60, 30)
    files = made.write(tmp_path)
    rows = (tmp_path / "edges.csv").read_text().splitlines()
    early = [row for row in rows[1:] if row.rsplit(",", 1)[1] < "2024-01-01"]
    (tmp_path / "past.csv").write_text("\n".join([rows[0], *early]) + "\n")
    vertices = tmp_path / "vertices.csv"
    past = graphfilter(
        "store", tmp_path / "past.csv", vertices, "--label", "is_fraud", "--weight", "logins",
        "--out", tmp_path / "past",
    )  # fmt: skip
    assert "not used: 'first_seen'." in past.err
    graphfilter("fit", "--graph", tmp_path / "past", *FAST, "--out", tmp_path / "run")
    now = ("store", tmp_path / "edges.csv", vertices, "--weight", "logins", "--like")
    graphfilter(*now, tmp_path / "run", "--out", tmp_path / "now", "--quiet")
    predict = ("predict", tmp_path / "run", "--quiet", "--graph", tmp_path / "now", "--out")
    graphfilter(*predict, tmp_path / "by-store.csv")
    graphfilter(
        "fit", *files, "--weight", "logins", "--edge-time", "first_seen", "--as-of", "2024-01-01",
        *FAST, "--column", "logins=drop", "--column", "first_seen=drop",
        "--out", tmp_path / "whole",
    )  # fmt: skip
    by_store, by_time = (
        rows_of(tmp_path / name) for name in ("by-store.csv", "whole/predictions.csv")
    )
    assert {n: r["predicted"] for n, r in by_store.items()} == {
        n: r["predicted"] for n, r in by_time.items()
    }
    for vertex, row in by_store.items():
        assert float(row["p_1"]) == pytest.approx(float(by_time[vertex]["p_1"]), abs=1e-3)
    for words in (("--edge-time", "first_seen"), ("--as-of", "2024-01-01")):
        refused = graphfilter(
            "fit", "--graph", tmp_path / "now", *words, "--out", tmp_path / "no", code=2
        )
        assert "is for tables (--edges and --vertices); leave it out" in refused.err


def rows_of(path: Path) -> dict[str, dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return {row["id"]: row for row in csv.DictReader(file)}
