"""explain and suggest on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
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
    graphfilter(
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
    return folder


def test_explain_needs_the_folder_of_the_run_only(graphfilter, run: Path, tmp_path: Path) -> None:
    out, picture = tmp_path / "why.json", tmp_path / "3.svg"
    both = ("--vertex", "3", "--vertex", "5")
    done = graphfilter("explain", run, *both, "--json", out)
    found = json.loads(out.read_text())
    assert [why["vertex"] for why in found] == ["3", "5"]
    # In the words of the table: its ids stand in a column id, which names nothing.
    assert f"Row 3: {found[0]['sentence'].replace('vertex', 'row')}" in done.out
    assert "points of probability" in done.out
    known = [r["detail"] for why in found for r in why["reasons"] if r["kind"] == "neighbour"]
    assert any(detail.startswith("known: ") for detail in known)
    read = json.loads((run / "config.json").read_text())["run"]["cases_sha256"]
    assert read
    for name in ("edges.csv", "vertices.csv"):
        (tmp_path / name).unlink()
    done = graphfilter("explain", run, "--vertex", "3", "--picture", picture)
    shown = [e.tag.rpartition("}")[2] for e in ElementTree.parse(picture).iter()]
    assert shown.count("circle") == 2 * shown.count("title") > 2
    graphfilter("explain", run, *both, "--picture", tmp_path / "two.svg", code=2)
    graphfilter("explain", run, "--vertex", "3", "--picture", tmp_path / "a.jpg", code=2)


def test_explain_takes_another_graph(graphfilter, run: Path, tmp_path: Path) -> None:
    other = make_csbm(n_vertices=40, frequency=0.3, mean_degree=6, n_features=4, seed=9)
    edges, vertices = write_tables(other, tmp_path / "new")
    tables = ("--edges", edges, "--vertices", vertices)
    done = graphfilter("explain", run, "--vertex", "3", *tables)
    assert "not the graph of the fit" in done.err
    graphfilter("explain", run, "--vertex", "60", *tables, code=2)


def test_explain_says_what_is_missing(graphfilter, run: Path, tmp_path: Path) -> None:
    done = graphfilter("explain", run, code=2)
    assert "vertex" in done.err
    done = graphfilter("explain", tmp_path / "nothing", "--vertex", "3", code=2)
    (run / "graph.npz").unlink()
    done = graphfilter("explain", run, "--vertex", "3", code=2)
    assert "graph.npz" in done.err


N = 80


@pytest.fixture
def tables(tmp_path: Path) -> tuple[str, ...]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 3))
    kind = np.where(x[:, 0] > 0, "tea", "coffee").astype(object)
    kind[50:] = None
    price = np.where(np.arange(N) < 50, x[:, 1], np.nan)
    frame = pd.DataFrame({"id": [f"v{i}" for i in range(N)], "a": x[:, 0], "b": x[:, 2]})
    frame["kind"], frame["price"] = kind, price
    edges = pd.DataFrame({"source": frame["id"], "target": frame["id"].shift(-1).fillna("v0")})
    vertices, links = tmp_path / "vertices.csv", tmp_path / "edges.csv"
    frame.to_csv(vertices, index=False)
    edges.to_csv(links, index=False)
    return "--edges", str(links), "--vertices", str(vertices)


@pytest.mark.parametrize(
    "target",
    [("--label", "kind", "--column", "price=drop"), ("--number", "price", "--column", "kind=drop")],
)
def test_suggest_names_unlabelled_vertices_the_same_ones_again(
    graphfilter, tables, tmp_path: Path, target: tuple[str, ...]
) -> None:
    run, file = tmp_path / "run", tmp_path / "next.csv"
    quick = ("--model", "sgf", "--epochs", 5, "--set", "n_layers=2", "--no-baselines", "--quiet")
    graphfilter("fit", *tables, *target, "--out", run, *quick)
    graphfilter("suggest", run, "--n", 4, "--csv", file, "--quiet")
    found = pd.read_csv(file)
    numbers = [int(name[1:]) for name in found["id"]]
    assert len(set(numbers)) == 4
    assert min(numbers) >= 50
    assert found["score"].max() == 1
    assert found["reason"].str.contains("would be the nearest labelled row of").all()
    assert found["reason"].str.contains("sure").all() == (target[0] == "--label")
    vertices = Path(tables[3])
    before = vertices.read_bytes()
    for words in (("suggest", run, "--csv"), ("explain", run, "--vertex", "v1", "--json")):
        refused = graphfilter(*words, vertices, code=2)
        assert "--overwrite" in refused.err
    assert vertices.read_bytes() == before
    before = file.read_bytes()
    again = ("suggest", run, "--n", 4, "--csv", file, "--overwrite", "--quiet")
    graphfilter(*again)
    assert file.read_bytes() == before


def test_suggest_with_every_vertex_labelled_is_one_line(graphfilter, tables, tmp_path) -> None:
    path = Path(tables[3])
    frame = pd.read_csv(path)
    frame["kind"] = frame["kind"].fillna("tea")
    frame.to_csv(path, index=False)
    run = tmp_path / "run"
    quick = ("--model", "sgf", "--epochs", 2, "--set", "n_layers=2", "--no-baselines", "--quiet")
    words = ("--label", "kind", "--column", "price=drop", "--out", run)
    graphfilter("fit", *tables, *words, *quick)
    (run / "model.safetensors").unlink()  # It is said before the model is read.
    result = graphfilter("suggest", run, "--quiet", code=2)
    assert "all have one" in result.err


def test_suggest_knows_vertices_by_their_ids(graphfilter, tables, tmp_path: Path) -> None:
    """The table's rows may have moved since the fit; other vertices are refused."""
    run, quick = tmp_path / "run", ("--model", "sgf", "--epochs", 2, "--set", "n_layers=2")
    words = ("--label", "kind", "--column", "price=drop", "--no-baselines", "--quiet")
    graphfilter("fit", *tables, *words, *quick, "--out", run)
    path = Path(tables[3])
    frame = pd.read_csv(path)
    frame[::-1].to_csv(path, index=False)
    result = graphfilter("suggest", run, "--n", 30, "--quiet", "--csv", tmp_path / "next.csv")
    assert set(pd.read_csv(tmp_path / "next.csv")["id"]) == {f"v{i}" for i in range(50, N)}
    frame["id"] = frame["id"].replace("v0", "another")
    frame.to_csv(path, index=False)
    result = graphfilter("suggest", run, "--quiet", "--allow-missing", code=2)
    assert "not in it. Fit again" in result.err
    (run / "predictions.csv").unlink()
    result = graphfilter("suggest", run, "--quiet", "--allow-missing", code=2)
    assert "predictions.csv of the run must be as fit wrote it" in result.err


@pytest.mark.parametrize("target", [("--label", "kind"), ("--number", "price")], ids=str)
def test_predictions_are_ranked_with_reasons_first_and_the_same_again(
    graphfilter, tables, tmp_path: Path, target: tuple[str, ...]
) -> None:
    other = {"kind": "price", "price": "kind"}[target[1]]
    words = (*tables, *target, "--drop", other, "--model", "sgf", "--epochs", 8, "--quiet")
    files = [tmp_path / name / "predictions.csv" for name in ("one", "two")]
    for file in files:
        graphfilter("fit", *words, "--no-baselines", "--out", file.parent)
    assert files[0].read_bytes() == files[1].read_bytes()
    found = pd.read_csv(files[0], keep_default_na=False)
    assert found.columns[0] == "id"
    assert sorted(found["id"]) == sorted(f"v{i}" for i in range(N))
    metrics = json.loads((files[0].parent / "metrics.json").read_text())
    by = f"p_{metrics['decision']['positive']}" if target[0] == "--label" else "predicted"
    assert found[by].is_monotonic_decreasing
    # Those without a known value are to be answered; each has reasons, of its own columns or ids.
    unknown = found["part"] == "unlabelled"
    assert unknown.sum() == N - 50
    assert (found["because"] != "").equals(unknown)
    parts = [cell.split(" ")[0] for cell in found["because"][unknown].str.split("; ").explode()]
    assert set(parts) <= {"a", "b", *found["id"]}
