"""graphfilter explain, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphfilter.data import make_csbm, write_tables
from graphfilter.data.graph import Graph


@pytest.fixture(scope="module")
def graph() -> Graph:
    return make_csbm(n_vertices=80, frequency=0.3, mean_degree=6, n_features=4)


@pytest.fixture
def run(graphfilter, tmp_path: Path, graph: Graph) -> Path:
    edges, vertices = write_tables(graph, tmp_path)
    tables = ("--edges", edges, "--vertices", vertices, "--label", "label")
    folder = tmp_path / "run"
    done = graphfilter(
        "fit",
        *tables,
        "--out",
        folder,
        "--epochs",
        20,
        "--no-baselines",
        "--quiet",
        "--model",
        "sgf",
    )
    assert done.code == 0, done.err
    return folder


def test_explain_reads_the_tables_of_the_run_again(graphfilter, run: Path, tmp_path: Path) -> None:
    out = tmp_path / "why.json"
    done = graphfilter("explain", run, "--vertex", "3", "--vertex", "5", "--json", out)
    assert done.code == 0, done.err
    assert "its own features" in done.out
    assert "not the graph of the fit" not in done.err
    found = json.loads(out.read_text())
    assert [why["vertex"] for why in found] == ["3", "5"]
    assert found[0]["sentence"] in done.out
    assert any(s["label"] for s in found[0]["contributors"])


def test_explain_takes_another_graph(graphfilter, run: Path, tmp_path: Path) -> None:
    other = make_csbm(n_vertices=40, frequency=0.3, mean_degree=6, n_features=4, seed=9)
    edges, vertices = write_tables(other, tmp_path / "new")
    tables = ("--edges", edges, "--vertices", vertices)
    done = graphfilter("explain", run, "--vertex", "3", *tables)
    assert done.code == 0, done.err
    assert "not the graph of the fit" in done.err
    assert graphfilter("explain", run, "--vertex", "60", *tables).code == 2


def test_explain_says_what_is_missing(graphfilter, run: Path, tmp_path: Path) -> None:
    done = graphfilter("explain", run)
    assert done.code == 2
    assert "vertex" in done.err
    done = graphfilter("explain", tmp_path / "nothing", "--vertex", "3")
    assert done.code == 2
    (tmp_path / "edges.csv").unlink()
    done = graphfilter("explain", run, "--vertex", "3")
    assert done.code == 2
    assert "edges.csv" in done.err
