"""graphfilter fit --coverage: columns of predictions.csv, what metrics.json and the page say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

N = 150
QUICK = ("--model", "sgf", "--epochs", 15, "--layers", 2, "--no-baselines", "--quiet")
TARGETS = {
    "kind": ("--label", "kind", "--drop", "price,cost,lift,garden,day"),
    "number": ("--number", "price", "--drop", "kind,cost,lift,garden,day"),
    "numbers": ("--number", "price,cost", "--drop", "kind,lift,garden,day", "--scale", "log,rank"),
    "labels": ("--multilabel", "lift,garden", "--drop", "kind,price,cost,day"),
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 3))
    frame = pd.DataFrame({"id": [f"v{i}" for i in range(N)], "a": x[:, 0], "b": x[:, 1]})
    frame["kind"] = np.where(x[:, 0] + 0.5 * x[:, 2] > 0, "tea", "coffee")
    frame["price"], frame["cost"] = np.exp(3 + x[:, 0] + 0.1 * x[:, 2]), x[:, 1] + 0.2 * x[:, 2]
    frame["lift"], frame["garden"] = (x[:, 0] > 0).astype(int), (x[:, 1] > 0.5).astype(int)
    frame["day"] = np.arange(N)
    edges = rng.integers(0, N, size=(300, 2))
    edges = pd.DataFrame([(f"v{s}", f"v{t}") for s, t in edges if s != t], columns=["from", "to"])
    vertices, links = folder / "vertices.csv", folder / "edges.csv"
    frame.to_csv(vertices, index=False)
    edges.to_csv(links, index=False)
    return "--edges", str(links), "--vertices", str(vertices)


@pytest.mark.parametrize(
    ("what", "columns"),
    [
        ("kind", ["set"]),
        ("number", ["low", "high"]),
        ("numbers", ["low_price", "high_price", "low_cost", "high_cost"]),
        ("labels", ["set"]),
    ],
)
def test_fit_with_a_coverage_leaves_what_it_promises(
    graphfilter, tables, tmp_path: Path, what: str, columns: list[str]
) -> None:
    run = tmp_path / "run"
    result = graphfilter("fit", *tables, *TARGETS[what], "--coverage", 0.8, "--out", run, *QUICK)
    assert result.code == 0, result.err
    found = pd.read_csv(run / "predictions.csv", keep_default_na=False)
    assert [name for name in found.columns if name in columns] == columns
    promise = json.loads((run / "metrics.json").read_text())["promise"]
    assert promise["coverage"] == 0.8
    assert promise["given"] is True
    assert promise["set_aside"] is True
    assert promise["n_calibrated"] == (found["part"] == "val").sum() // 2
    assert "set aside, which chose neither epochs nor weights" in result.out.replace("\n", " ")
    each = 2 if what == "numbers" else 1
    assert promise["observed"]["n_vertices"] == each * (found["part"] == "test").sum()
    assert set(promise["by_number"]) == ({"price", "cost"} if what == "numbers" else set())
    assert 0.5 < promise["observed"]["share"] <= 1
    words = "Observed coverage on"
    assert words in result.out.replace("\n", " ")
    assert words in (run / "report.html").read_text()
    if what == "kind":
        inside = [p in s.split(";") for p, s in zip(found["predicted"], found["set"], strict=True)]
        assert all(inside)
        assert set(promise["by_class"]) <= {"tea", "coffee"}
        counted = sum(own["n_vertices"] for own in promise["by_degree"].values())
        assert counted == promise["observed"]["n_vertices"]
    if what == "number":
        assert (found["low"] <= found["high"]).all()
        assert (found["low"] >= 0).all()


@pytest.mark.parametrize(("what", "explained"), [("kind", True), ("number", False)])
def test_coverage_above_what_was_asked_is_explained_for_classes(
    graphfilter, tables, tmp_path: Path, what: str, explained: bool
) -> None:
    words = ("--coverage", 0.3, "--out", tmp_path / "run")
    result = graphfilter("fit", *tables, *TARGETS[what], *words, *QUICK)
    assert result.code == 0, result.err
    assert ("Every set holds the most probable class" in result.out) is explained


def test_promise_is_not_given_for_another_time(graphfilter, tables, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = ("--label", "kind", "--drop", "price,cost,lift,garden", "--split-by", "day")
    result = graphfilter("fit", *tables, *words, "--coverage", 0.9, "--out", run, *QUICK)
    assert result.code == 0, result.err
    assert "Coverage is not guaranteed" in result.out.replace("\n", " ")
    assert json.loads((run / "metrics.json").read_text())["promise"]["given"] is False


def test_fit_without_a_coverage_promises_nothing(graphfilter, tables, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert graphfilter("fit", *tables, *TARGETS["number"], "--out", run, *QUICK).code == 0
    assert "low" not in pd.read_csv(run / "predictions.csv").columns
    assert "promise" not in json.loads((run / "metrics.json").read_text())
