"""Three analysts from their tables to an answer: no statement contradicts another."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, average_precision_score, r2_score
from tests.analyst_tables import AnalystTables, make_churn, make_fraud, make_revenue

from graphfilter.runs.fit import PARTS
from graphfilter.tables.formats import TABLES
from graphfilter.tables.text_files import TextOptions, TextTable
from graphfilter.util.words import number

QUICK = ("--model", "sgf", "--set", "n_layers=4", "--epochs", 60, "--quiet")


@dataclass(frozen=True)
class Run:
    """What a run left: its files, its page as text and data, and what was printed."""

    folder: Path
    rows: dict[str, dict[str, str]]
    metrics: dict[str, Any]
    page: str
    data: dict[str, Any]
    printed: str

    def of_part(self, part: str) -> list[str]:
        return [name for name, row in self.rows.items() if row["part"] == part]

    def part_in_words(self, name: str) -> str:
        return PARTS.get(part := self.rows[name]["part"], part)

    def table(self, id: str) -> list[list[str]]:
        """Return the cells of a table of the page."""
        found = re.search(rf'<table id="{id}">.*?<tbody>(.*?)</tbody>', self.page, re.DOTALL)
        rows = re.findall(r"<tr>(.*?)</tr>", found[1], re.DOTALL) if found else []
        cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
        return [[unescape(cell) for cell in row] for row in cells]


def rows_of(path: Path) -> dict[str, dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def fit(graphfilter, files: tuple[str, ...], folder: Path, *words: Any) -> Run:
    result = graphfilter("fit", *files, *words, *QUICK, "--out", folder)
    page = (folder / "report.html").read_text("utf-8")
    data = re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert data is not None
    return Run(
        folder, rows_of(folder / "predictions.csv"),
        json.loads((folder / "metrics.json").read_text()), page, json.loads(data[1]), result.out,
    )  # fmt: skip


def check_classes(run: Run, truth: dict[str, str], positive: str) -> None:
    """Hold every number and every answer of a run of two classes to its predictions."""
    said = {name: row["predicted"] for name, row in run.rows.items()}
    for part, scores in run.metrics["scores"].items():
        names = run.of_part(part)
        known, answered = ([of[n] for n in names] for of in (truth, said))
        assert scores["n_vertices"] == len(names)
        assert scores["accuracy"] == pytest.approx(accuracy_score(known, answered))
        sure = [float(run.rows[n][f"p_{positive}"]) for n in names]
        expected = average_precision_score([label == positive for label in known], sure)
        assert scores["average_precision"] == pytest.approx(expected, abs=0.02)
        decided = run.metrics["decision"]["scores"][part]
        pairs = list(zip(known, answered, strict=True))
        assert decided["found"] == pairs.count((positive, positive))
        assert decided["missed"] == sum(k == positive != a for k, a in pairs)
        assert decided["false_alarms"] == sum(a == positive != k for k, a in pairs)
        assert decided["accuracy"] == pytest.approx(scores["accuracy"])
    test = run.of_part("test")
    shown = f"{100 * run.metrics['scores']['test']['accuracy']:.1f}"
    assert f"{shown}\xa0%</td>" in run.page
    assert f"{shown}%" in run.printed
    confusion, names = run.data["confusion"]["counts"], run.data["confusion"]["names"]
    for i, given in enumerate(names):
        for j, answer in enumerate(names):
            assert confusion[i][j] == sum(truth[n] == given and said[n] == answer for n in test)
    unsure, rejected = run.table("least-sure"), run.table("possible-label-errors")
    assert unsure
    for name, predicted, *given, probability in (*unsure, *rejected):
        assert predicted == said[name]
        assert not given or given[-1] == truth[name]
        assert float(probability) == pytest.approx(float(run.rows[name][f"p_{positive}"]), abs=1e-3)
    for name, predicted, part, given, _ in rejected:
        assert part == run.part_in_words(name)
        assert given != predicted, name
        assert float(run.rows[name][f"p_{given}"]) < 0.5
    likely = run.table("most-likely")
    for name, predicted, because, probability in likely:
        assert (predicted, because) == (said[name], run.rows[name]["because"])
        assert name not in truth
        assert float(probability) == pytest.approx(float(run.rows[name][f"p_{positive}"]), abs=1e-3)
    chances = [float(row[-1]) for row in likely]
    assert chances == sorted(chances, reverse=True)
    whys = re.findall(r"<summary><strong>(.*?)</strong>: (.*?) \(", run.page)
    assert whys
    # The most likely ones are explained for the class that is looked for.
    assert all(answer in (said[name], positive) for name, answer in whys)
    first = re.search(r"<strong>(The model .*?)</strong>", run.page)
    assert first is not None
    assert " ".join(unescape(first[1]).split()) in " ".join(run.printed.split())


def check_use(graphfilter, run: Run, files: tuple[str, ...], vertex: str) -> None:
    """Predict the same tables, and explain vertices: as the files have it.

    Among them one that is not given its most probable class, where costs or a threshold decide so.
    """
    out = run.folder.parent / f"{run.folder.name}.csv"
    graphfilter("predict", run.folder, *files[:4], "--quiet", "--out", out)
    again = rows_of(out)
    for row in (*run.rows.values(), *again.values()):
        assert row["predicted"] in row.get("set", row["predicted"]).split(";")
    assert {n: row["predicted"] for n, row in again.items()} == {
        n: row["predicted"] for n, row in run.rows.items()
    }
    moved = [n for n, row in run.rows.items() if float(row["probability"]) < 0.5]
    for name in (vertex, *moved[:1]):
        said = graphfilter("explain", run.folder, "--vertex", name, "--quiet")
        assert f" {name}: {run.rows[name]['predicted']} with" in said.out


def known_labels(tables: AnalystTables, id: str, label: str) -> dict[str, str]:
    pairs = zip(tables.vertices[id], tables.vertices[label], strict=True)
    return {name: value for name, value in pairs if value}


@pytest.mark.parametrize(
    "words",
    [(), ("--cost", "yes:no=4"), ("--threshold", "0.3", "--set", "positive=yes")],
    ids=["plain", "costs", "threshold"],
)
def test_answers_on_churn_agree(graphfilter, tmp_path: Path, words: tuple[str, ...]) -> None:
    tables = make_churn(160)
    files = tables.write(tmp_path / "tables")
    graphfilter("inspect", *files, "--quiet")
    run = fit(graphfilter, files, tmp_path / "run", *words)
    check_classes(run, known_labels(tables, "customer", "churn"), "yes")
    check_use(graphfilter, run, files, "00000013")
    bare = graphfilter("explain", run.folder, "--vertex", "13", "--quiet", code=2)
    assert "Did you mean '00000013'?" in bare.err
    score = "cost" if words[:1] == ("--cost",) else "accuracy"
    assert run.metrics["headline"]["score"] == score


@pytest.mark.parametrize(
    "words", [(), ("--cost", "1:0=8", "--coverage", "0.8")], ids=["plain", "costs"]
)
def test_answers_on_fraud_agree(graphfilter, tmp_path: Path, words: tuple[str, ...]) -> None:
    tables = make_fraud(200, 80)
    files = tables.write(tmp_path / "tables")
    inspected = graphfilter("inspect", *files, "--quiet")
    assert "No two labelled vertices are adjacent" in inspected.out
    run = fit(graphfilter, files, tmp_path / "run", *words)
    truth = known_labels(tables, "id", "is_fraud")
    check_classes(run, truth, "1")
    check_use(graphfilter, run, files, "A0003")
    headline = run.metrics["headline"]
    assert headline["score"] == ("cost" if words else "average_precision")
    assert not words or any(float(row["probability"]) < 0.5 for row in run.rows.values())
    decision = run.metrics["decision"]["scores"]["test"]
    n = decision["found"] + decision["missed"]
    found = f"The model finds {decision['found']} of {n} “is_fraud: 1” among rows it never saw"
    assert found in run.page
    if not words:
        ours = headline["models"]["this model"]
        assert ours["value"] == pytest.approx(run.metrics["scores"]["test"]["average_precision"])
        assert ours["low"] <= ours["value"] <= ours["high"]
    if words:
        assert headline["models"]["this model"]["value"] == pytest.approx(decision["cost"])
    if words:
        threshold = run.metrics["decision"]["threshold"]
        assert f"“1” is predicted from a probability of {threshold:.3g}." in run.page
        assert "Sets that hold the class of the threshold too: " in run.page
    assert run.data["training"]["monitored"]["name"] == "average precision"
    assert "<dt>pairs with a common neighbour within a class</dt>" in run.page
    # Devices have no label: they are in no list of vertices.
    lists = ("most-likely", "least-sure", "possible-label-errors")
    listed = [row[0] for id in lists for row in run.table(id)]
    assert not [name for name in listed if name.startswith("D")]


def test_answers_on_revenue_agree(graphfilter, tmp_path: Path) -> None:
    tables = make_revenue(120)
    files = tables.write(tmp_path / "tables")[:4]
    inspected = graphfilter("inspect", *files, "--number", "revenue")
    assert "no column is the label" not in inspected.err  # What is predicted was named.
    run = fit(graphfilter, files, tmp_path / "run", "--number", "revenue", "--coverage", "0.8")
    cells = zip(tables.vertices["shop"], tables.vertices["revenue"], strict=True)
    truth = {name: float(value.lstrip("€")) for name, value in cells if value}
    said = {name: float(row["predicted"]) for name, row in run.rows.items()}
    for part, scores in run.metrics["scores"].items():
        names = run.of_part(part)
        known, answered = (np.array([of[n] for n in names]) for of in (truth, said))
        assert scores["r2"] == pytest.approx(r2_score(known, answered))
        assert scores["rmse"] == pytest.approx(np.sqrt(np.square(known - answered).mean()))
    ours = run.metrics["headline"]["models"]["this model"]["value"]
    assert ours == pytest.approx(run.metrics["scores"]["test"]["rmse"])
    seen = re.search(r"Intervals with coverage 0.8 have a median width of ([\d,]+)", run.page)
    assert seen is not None
    unseen = [row for row in run.rows.values() if row["part"] not in ("train", "val")]
    width = np.median([float(row["high"]) - float(row["low"]) for row in unseen])
    assert float(seen[1].replace(",", "")) == pytest.approx(width, rel=1e-3)
    # Numbers of five digits and more are written out.
    assert "e+0" not in " ".join(re.findall(r">([^<]*)</t[dh]>", run.page))
    assert f"typical error (RMSE) of {ours:,.0f}" in run.page
    assert f"typical error (RMSE) of {ours:,.0f}" in " ".join(run.printed.split())
    for name, part, given, predicted, error in run.table("largest-errors"):
        assert part == run.part_in_words(name)
        assert float(given.replace(",", "")) == pytest.approx(truth[name], rel=1e-3)
        assert float(predicted.replace(",", "")) == pytest.approx(said[name], abs=1, rel=1e-3)
        wrong = said[name] - truth[name]
        assert float(error.replace(",", "")) == pytest.approx(wrong, abs=1, rel=1e-3)
    out = tmp_path / "again.csv"
    graphfilter("predict", run.folder, *files, "--quiet", "--out", out)
    again = {n: float(row["predicted"]) for n, row in rows_of(out).items()}
    assert again == pytest.approx(said)
    why = tmp_path / "why.json"
    told = graphfilter("explain", run.folder, "--vertex", "shop 3", "--quiet", "--json", why)
    (found,) = json.loads(why.read_text())
    assert found["predicted"] == f"revenue {number(said['shop 3'])}"
    assert found["predicted"] in told.out
    refused = graphfilter("explain", run.folder, "--vertex", "shop 3", "--against", "north", code=2)
    assert "--against compares classes" in refused.err


@pytest.mark.parametrize(
    "words", [("--number", "revenue"), ("--number", "revenue", "--split", "founded=time")]
)
def test_vertices_are_opened_once(graphfilter, tmp_path: Path, monkeypatch, words) -> None:
    opened: list[str] = []

    class Watched(TextTable):
        def __init__(self, path: Path, options: TextOptions) -> None:
            opened.append(path.name)
            super().__init__(path, options)

    monkeypatch.setitem(TABLES, ".csv", Watched)
    files = make_revenue(60).write(tmp_path / "tables")[:4]
    graphfilter("fit", *files, *words, "--dry-run", "--quiet")
    assert sorted(opened) == ["edges.csv", "vertices.csv"]
