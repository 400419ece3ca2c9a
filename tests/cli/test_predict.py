"""graphfilter predict on a graph that grew: what vertices were in the run, and what is promised."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import graphfilter as gf
from graphfilter.run_folder import load_run, predict_run

N, GROWN = 150, 200
QUICK = ("--model", "sgf", "--epochs", 15, "--layers", 2, "--no-baselines", "--quiet")
TARGETS = {
    "kind": ("--label", "kind", "--drop", "price,lift,garden"),
    "number": ("--number", "price", "--drop", "kind,lift,garden"),
    "labels": ("--multilabel", "lift,garden", "--drop", "kind,price"),
}


def write_tables(folder: Path, n: int, order: np.ndarray | None = None) -> tuple[str, ...]:
    """Write the first ``n`` vertices of one graph, and the edges between them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(GROWN, 3))
    frame = pd.DataFrame({"id": [f"v{i}" for i in range(GROWN)], "a": x[:, 0], "b": x[:, 1]})
    frame["kind"] = np.where(x[:, 0] + 0.5 * x[:, 2] > 0, "tea", "coffee")
    frame["price"] = np.exp(3 + x[:, 0] + 0.1 * x[:, 2])
    frame["lift"], frame["garden"] = (x[:, 0] > 0).astype(int), (x[:, 1] > 0.5).astype(int)
    pairs = rng.integers(0, GROWN, size=(500, 2))
    pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs < n).all(axis=1)]
    frame = frame.iloc[:n]
    frame.loc[frame.index % 10 == 9, "kind"] = ""
    folder.mkdir(exist_ok=True)
    edges = pd.DataFrame([(f"v{s}", f"v{t}") for s, t in pairs], columns=["from", "to"])
    edges.to_csv(folder / "edges.csv", index=False)
    frame.iloc[slice(None) if order is None else order].to_csv(folder / "v.csv", index=False)
    return "--edges", str(folder / "edges.csv"), "--vertices", str(folder / "v.csv")


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype={"id": str}, keep_default_na=False).set_index("id")


def test_part_says_what_a_vertex_was_in_the_run(graphfilter, tmp_path: Path) -> None:
    small = write_tables(tmp_path / "small", N)
    run, out = tmp_path / "run", tmp_path / "p.csv"
    fitted = graphfilter("fit", *small, *TARGETS["kind"], "--out", run, *QUICK)
    assert fitted.code == 0, fitted.err
    shuffled = np.random.default_rng(1).permutation(GROWN)
    grown = write_tables(tmp_path / "grown", GROWN, shuffled)
    result = graphfilter("predict", run, *grown, "--label", "kind", "--out", out)
    assert result.code == 0, result.err
    was, now = read(run / "predictions.csv")["part"], read(out)
    assert now.loc[was.index, "part"].equals(was)
    assert set(now.index[now["part"] == "new"]) == {f"v{i}" for i in range(N, GROWN)}
    counts = was.value_counts()
    said = result.out.replace("\n", " ")
    assert f"on the {counts['train']} trained on" in said
    assert f"on the {counts['val']} validated on" in said
    # A tenth of the 50 new vertices has no label.
    assert f"Accuracy on the {counts['test'] + 45} labelled vertices not trained on" in said
    assert f"200 vertices predicted: 50 new, {counts['train']} trained on" in said


def test_vertices_are_unknown_where_the_run_lost_its_predictions(graphfilter, tmp_path) -> None:
    tables = write_tables(tmp_path / "small", N)
    run, out = tmp_path / "run", tmp_path / "p.csv"
    assert graphfilter("fit", *tables, *TARGETS["kind"], "--out", run, *QUICK).code == 0
    (run / "predictions.csv").unlink()
    result = graphfilter("predict", run, *tables, "--out", out)
    assert result.code == 0, result.err
    assert set(read(out)["part"]) == {"unknown"}
    assert "predictions.csv, which says what they were, cannot be read" in result.out


@pytest.mark.parametrize("what", TARGETS)
def test_predict_promises_what_the_fit_did(graphfilter, tmp_path: Path, what: str) -> None:
    small, grown = write_tables(tmp_path / "s", N), write_tables(tmp_path / "g", GROWN)
    run, out = tmp_path / "run", tmp_path / "p.csv"
    fit = ("fit", *small, *TARGETS[what], "--coverage", 0.8, "--out", run)
    assert graphfilter(*fit, *QUICK).code == 0
    result = graphfilter("predict", run, *grown, "--out", out)
    assert result.code == 0, result.err
    assert "exchangeable with the validation vertices of the fit" in result.out.replace("\n", " ")
    estimator, about, encoder = load_run(run)
    assert about.coverage == 0.8
    graph, _ = gf.read_tables(grown[1], grown[3], columns=about.columns, encoder=encoder)
    made = predict_run(run, estimator, about, graph)
    found = read(out)
    if what == "number":
        assert made.intervals is not None
        low, high = made.intervals[:, 0].T
        np.testing.assert_allclose(found["low"], low, rtol=1e-5)
        np.testing.assert_allclose(found["high"], high, rtol=1e-5)
        assert (found["low"] <= found["high"]).all()
        return
    assert made.sets is not None
    for words, row in zip(found["set"], made.sets, strict=True):
        assert set(filter(None, words.split(";"))) == {
            n for n, i in zip(made.names, row, strict=True) if i
        }


def test_coverage_of_predict_is_its_own(graphfilter, tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "small", N)
    run, out = tmp_path / "run", tmp_path / "p.csv"
    assert graphfilter("fit", *tables, *TARGETS["kind"], "--out", run, *QUICK).code == 0
    sizes = []
    for coverage in (0.5, 0.95):
        words = ("--coverage", coverage, "--out", out, "--overwrite")
        assert graphfilter("predict", run, *tables, *words).code == 0
        sizes.append(read(out)["set"].str.split(";").str.len().sum())
    assert sizes[0] < sizes[1]
    for wrong in (0, 1, 1.5):
        result = graphfilter(
            "predict", run, *tables, "--coverage", wrong, "--out", tmp_path / "q.csv"
        )
        assert result.code == 2
        assert "coverage must be between 0 and 1" in result.err
