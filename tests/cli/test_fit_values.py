"""graphfilter fit --number and --multilabel, and predict with such runs, as a user runs them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score, r2_score

from graphfilter import Graph, SGFClassifier, SGFRegressor
from graphfilter.data import make_csbm
from graphfilter.operators import augmented_adjacency
from graphfilter.splits import stratified

FILES = {
    "report.html", "predictions.csv", "metrics.json", "filter.png", "model.safetensors",
    "config.json", "graph.npz", "reference.safetensors",
}  # fmt: skip
QUICK = ("--model", "sgf", "--epochs", 30, "--layers", 4, "--quiet")
UNKNOWN = 10


@pytest.fixture(scope="module")
def graph() -> Graph:
    return make_csbm(n_vertices=100, mean_degree=5, n_features=3, seed=0)


@pytest.fixture(scope="module")
def price(graph: Graph) -> np.ndarray:
    feature = np.asarray(graph.features, dtype=float)[:, 0]
    return (1000 + 500 * (feature - augmented_adjacency(graph).matrix @ feature)).round(2)


@pytest.fixture(scope="module")
def labels(graph: Graph) -> np.ndarray:
    return np.asarray(graph.features)[:, :2] > 0


@pytest.fixture
def tables(graph: Graph, price: np.ndarray, labels: np.ndarray, tmp_path: Path) -> tuple[str, ...]:
    """Write German tables: the last vertices have neither number nor labels."""
    edges, vertices = tmp_path / "edges.csv", tmp_path / "flats.csv"
    lines = ["id;a;b;c;price;lift;garden"]
    for v, row in enumerate(np.asarray(graph.features)):
        cells = [f"{x:.6f}".replace(".", ",") for x in row]
        known = v < 100 - UNKNOWN
        cells.append(f"{price[v]:.2f} €".replace(".", ",") if known else "")
        cells += [("ja" if has else "nein") if known else "" for has in labels[v]]
        lines.append(";".join([f"v{v}", *cells]))
    vertices.write_text("\n".join(lines), encoding="utf-8")
    pairs = [f"v{a},v{b}" for a, b in graph.edges]
    edges.write_text("\n".join(["source,target", *pairs]), encoding="utf-8")
    return ("--edges", str(edges), "--vertices", str(vertices))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def known_codes() -> np.ndarray:
    codes = np.zeros(100, dtype=np.int64)
    codes[100 - UNKNOWN :] = -1
    return codes


def test_fit_of_a_number_leaves_a_whole_run(
    graphfilter, tables, tmp_path: Path, graph: Graph, price: np.ndarray
) -> None:
    run = tmp_path / "run"
    words = ("--number", "price", "--drop", "lift,garden", "--out", run, *QUICK)
    result = graphfilter("fit", *tables, *words)
    assert result.code == 0, result.err
    assert "R²" in result.out
    assert "price is predicted with a typical error" in result.out
    assert {p.name for p in run.iterdir()} == FILES
    rows = rows_of(run / "predictions.csv")
    assert list(rows[0]) == ["id", "predicted", "part"]
    assert [row["part"] for row in rows].count("unlabelled") == UNKNOWN
    said = np.array([float(row["predicted"]) for row in rows])
    metrics = json.loads((run / "metrics.json").read_text())
    test = np.array([row["part"] == "test" for row in rows])
    scores = metrics["scores"]["test"]
    assert scores["r2"] == pytest.approx(r2_score(price[test], said[test]))
    assert metrics["target"] == ["price"]
    # What filters out the neighbours varies faster than a random signal, of frequency 1.
    assert metrics["label_frequency"]["price"] > 1
    y = np.where(known_codes() < 0, np.nan, price)
    model = SGFRegressor(max_epochs=30, n_layers=4, random_state=0)
    model.fit(graph.features, y, graph=graph, split=stratified(known_codes(), 0))
    np.testing.assert_allclose(said, model.predict(), rtol=1e-3)
    page = (run / "report.html").read_text()
    assert "price is predicted with a typical error (RMSE)" in page


def test_fit_of_labels_leaves_a_whole_run(
    graphfilter, tables, tmp_path: Path, graph: Graph, labels: np.ndarray
) -> None:
    run = tmp_path / "run"
    words = ("--multilabel", "lift,garden", "--drop", "price", "--out", run, *QUICK)
    result = graphfilter("fit", *tables, *words)
    assert result.code == 0, result.err
    assert {p.name for p in run.iterdir()} == FILES
    rows = rows_of(run / "predictions.csv")
    assert list(rows[0]) == ["id", "predicted", "p_lift", "p_garden", "part"]
    said = np.array([[float(row["p_lift"]), float(row["p_garden"])] for row in rows])
    for row, has in zip(rows, said > 0.5, strict=True):
        named = [n for n, one in zip(("lift", "garden"), has, strict=True) if one]
        assert row["predicted"] == ";".join(named)
    test = np.array([row["part"] == "test" for row in rows])
    metrics = json.loads((run / "metrics.json").read_text())
    expected = f1_score(labels[test], said[test] > 0.5, average="micro")
    assert metrics["scores"]["test"]["micro_f1"] == pytest.approx(expected)
    y = np.where(known_codes()[:, None] < 0, np.nan, labels)
    model = SGFClassifier(max_epochs=30, n_layers=4, random_state=0)
    model.fit(graph.features, y, graph=graph, split=stratified(known_codes(), 0))
    np.testing.assert_allclose(said, model.predict_proba(), atol=1e-4)
    assert "of the labels are predicted wrong" in (run / "report.html").read_text()


@pytest.mark.parametrize("target", [("--number", "price"), ("--multilabel", "lift,garden")])
def test_predict_repeats_what_fit_wrote(graphfilter, tables, tmp_path: Path, target) -> None:
    run, out = tmp_path / "run", tmp_path / "again.csv"
    words = ("--out", run, *QUICK, "--no-baselines")
    assert graphfilter("fit", *tables, *target, *words).code == 0
    result = graphfilter("predict", run, *tables, "--out", out)
    assert result.code == 0, result.err
    written, again = rows_of(run / "predictions.csv"), rows_of(out)
    assert [row["predicted"] for row in again] == [row["predicted"] for row in written]
    metrics = json.loads((run / "metrics.json").read_text())["scores"]["test"]
    assert f"{metrics.get('r2', metrics.get('micro_f1')):.3f}" in result.out
    assert "18 vertices with a known value and not used for training" in result.out


def test_predict_scores_each_of_several_numbers_on_its_own_column(
    graphfilter, tables, tmp_path: Path
) -> None:
    words = ("--number", "price,c", "--drop", "lift,garden")
    words = (*words, *QUICK, "--no-baselines", "--out", tmp_path / "run")
    fitted = graphfilter("fit", *tables, *words)
    assert "predicting price, c" in " ".join(fitted.out.split())
    assert "means over the 2 numbers" in fitted.out
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    done = graphfilter("predict", tmp_path / "run", *tables, "--out", tmp_path / "new.csv")
    assert f"R² {metrics['scores']['test']['r2']:.3f}" in done.out


def test_predict_without_the_target_needs_no_value(graphfilter, tables, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = ("--number", "price", "--out", run, *QUICK, "--no-baselines")
    assert graphfilter("fit", *tables, *words).code == 0
    vertices = Path(tables[-1])
    cut = [";".join(x.split(";")[:4] + x.split(";")[5:]) for x in vertices.read_text().split("\n")]
    vertices.write_text("\n".join(cut), encoding="utf-8")
    result = graphfilter("predict", run, *tables, "--out", tmp_path / "new.csv")
    assert result.code == 0, result.err
    assert "known value" not in result.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--number", "prize"), "there is no column 'prize'"),
        (("--number", "lift"), "is not a number"),
        (("--multilabel", "lift,price"), "1 and 0, or yes and no, for whether"),
        (("--multilabel", "lift"), "two columns or more"),
        (("--number", "price", "--multilabel", "lift,garden"), "choose one"),
        (("--number", "price", "--balanced"), "--balanced is for one class"),
        (("--number", "price", "--label", "lift"), "--label is for one class"),
        (("--number", "price", "--features", "price,a"), "leave it out of --features"),
        (("--number", "price", "--monitor", "roc_auc"), "must be one of r2, loss"),
        (("--number", "price", "--monitor", "accuracy"), "must be one of r2, loss"),
        (("--multilabel", "lift,garden", "--monitor", "accuracy"), "must be one of micro_f1"),
        (("--number", "price", "--scale", "square"), "unknown scale"),
        (("--number", "price", "--coverage", "90"), "coverage must be between 0 and 1; got 90"),
        (("--multilabel", "lift,garden", "--scale", "log"), "--scale applies to --number only"),
    ],
)
def test_fit_explains_a_bad_target_and_writes_nothing(
    graphfilter, tables, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    result = graphfilter("fit", *tables, *words, "--out", tmp_path / "run")
    assert result.code == 2
    assert message in result.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("target", [("--number", "price"), ("--multilabel", "lift,garden")])
def test_dry_run_of_values_needs_no_folder(graphfilter, tables, target) -> None:
    result = graphfilter("fit", *tables, *target, "--dry-run", *QUICK)
    assert result.code == 0, result.err
    for words in ("predicting", "The whole fit, ", "It fits"):
        assert words in result.out


@pytest.mark.research
def test_fit_of_a_number_by_another_system(graphfilter, tables, tmp_path: Path) -> None:
    words = ("--number", "price", "--model", "gcn", "--epochs", 3, "--out", tmp_path / "run")
    assert graphfilter("fit", *tables, *words, "--no-baselines", "--quiet").code == 0
    again = graphfilter("predict", tmp_path / "run", *tables, "--out", tmp_path / "again.csv")
    assert again.code == 0, again.err
    before, now = (rows_of(tmp_path / name) for name in ("run/predictions.csv", "again.csv"))
    assert [row["predicted"] for row in now] == [row["predicted"] for row in before]


def test_fit_of_a_number_takes_no_dataset(graphfilter, tmp_path: Path) -> None:
    words = ("--dataset", "karate", "--number", "price", "--out", tmp_path / "run")
    assert "names columns of a table" in graphfilter("fit", *words).err
