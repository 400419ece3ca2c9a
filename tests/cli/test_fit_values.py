"""fit of numbers and labels, by time and group, with sets that hold the truth."""

from __future__ import annotations

import csv
import json
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, r2_score
from tests.samples import dropping

from graphfilter import Graph, SGFClassifier, SGFRegressor
from graphfilter.data import make_csbm
from graphfilter.operators import augmented_adjacency
from graphfilter.splits import stratified
from graphfilter.tables.labels import read_groups, read_times
from graphfilter.util.errors import DataFileError

FILES = {
    "report.html", "predictions.csv", "metrics.json", "filter.png", "model.safetensors",
    "config.json", "graph.npz", "reference.safetensors", "cases.safetensors",
}  # fmt: skip
QUICK = ("--model", "sgf", "--epochs", 30, "--set", "n_layers=4", "--quiet")
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
        rows = list(csv.DictReader(file))
    return sorted(rows, key=lambda row: (len(row["id"]), row["id"]))  # As the table has them.


def known_codes() -> np.ndarray:
    codes = np.zeros(100, dtype=np.int64)
    codes[100 - UNKNOWN :] = -1
    return codes


def test_fit_of_a_number_leaves_a_whole_run(
    graphfilter, tables, tmp_path: Path, graph: Graph, price: np.ndarray
) -> None:
    run = tmp_path / "run"
    words = ("--number", "price", *dropping("lift", "garden"), "--out", run, *QUICK)
    result = graphfilter("fit", *tables, *words)
    assert "R²" in result.out
    assert "price is predicted with a typical error" in result.out
    assert {p.name for p in run.iterdir()} == FILES
    rows = rows_of(run / "predictions.csv")
    assert list(rows[0]) == ["id", "predicted", "because", "part"]
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
    words = ("--multilabel", "lift,garden", "--column", "price=drop", "--out", run, *QUICK)
    graphfilter("fit", *tables, *words)
    assert {p.name for p in run.iterdir()} == FILES
    rows = rows_of(run / "predictions.csv")
    assert list(rows[0]) == ["id", "predicted", "p_lift", "p_garden", "because", "part"]
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
    graphfilter("fit", *tables, *target, *words)
    result = graphfilter("predict", run, *tables, "--out", out)
    written, again = rows_of(run / "predictions.csv"), rows_of(out)
    assert [row["predicted"] for row in again] == [row["predicted"] for row in written]
    metrics = json.loads((run / "metrics.json").read_text())["scores"]["test"]
    assert f"{metrics.get('r2', metrics.get('micro_f1')):.3f}" in result.out
    assert "18 rows with a known value and not used for training" in result.out


def test_predict_scores_each_of_several_numbers_on_its_own_column(
    graphfilter, tables, tmp_path: Path
) -> None:
    words = ("--number", "price,c", *dropping("lift", "garden"))
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
    graphfilter("fit", *tables, *words)
    vertices = Path(tables[-1])
    cut = [";".join(x.split(";")[:4] + x.split(";")[5:]) for x in vertices.read_text().split("\n")]
    vertices.write_text("\n".join(cut), encoding="utf-8")
    result = graphfilter("predict", run, *tables, "--out", tmp_path / "new.csv")
    assert "known value" not in result.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--number", "prize"), "there is no column 'prize'"),
        (("--number", "lift"), "is not a number"),
        (("--multilabel", "lift,price"), "1 and 0, or yes and no, for whether"),
        (("--multilabel", "lift"), "two columns or more"),
        (("--number", "price", "--multilabel", "lift,garden"), "choose one"),
        (("--number", "price", "--balanced"), "committee has no setting 'class_weight'"),
        (("--number", "price", "--label", "lift"), "--label is for one class"),
        (("--number", "price", "--column", "price=only"), "give it no --column"),
        (("--number", "price", "--set", "monitor=roc_auc"), "must be one of r2, loss"),
        (("--number", "price", "--set", "monitor=accuracy"), "must be one of r2, loss"),
        (("--multilabel", "lift,garden", "--set", "monitor=accuracy"), "must be one of micro_f1"),
        (("--number", "price", "--set", "scale=square"), "unknown scale"),
        (("--number", "price", "--coverage", "90"), "coverage must be between 0 and 1; got 90"),
        (("--multilabel", "lift,garden", "--set", "scale=log"), "committee has no setting 'scale'"),
    ],
)
def test_fit_explains_a_bad_target_and_writes_nothing(
    graphfilter, tables, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    result = graphfilter("fit", *tables, *words, "--out", tmp_path / "run", code=2)
    assert message in result.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("target", [("--number", "price"), ("--multilabel", "lift,garden")])
def test_dry_run_of_values_needs_no_folder(graphfilter, tables, target) -> None:
    result = graphfilter("fit", *tables, *target, "--dry-run", *QUICK)
    for words in ("219 edges", "It fits"):
        assert words in result.out


@pytest.mark.research
def test_fit_of_a_number_by_another_system(graphfilter, tables, tmp_path: Path) -> None:
    words = ("--number", "price", "--model", "gcn", "--epochs", 3, "--out", tmp_path / "run")
    graphfilter("fit", *tables, *words, "--no-baselines", "--quiet")
    graphfilter("predict", tmp_path / "run", *tables, "--out", tmp_path / "again.csv")
    before, now = (rows_of(tmp_path / name) for name in ("run/predictions.csv", "again.csv"))
    assert [row["predicted"] for row in now] == [row["predicted"] for row in before]


def test_fit_of_a_number_takes_no_dataset(graphfilter, tmp_path: Path) -> None:
    words = ("--dataset", "karate", "--number", "price", "--out", tmp_path / "run")
    assert "names columns of a table" in graphfilter("fit", *words, code=2).err


QUICK_SPLITS = ("--epochs", 5, "--no-baselines", "--quiet", "--model", "sgf")


@pytest.fixture
def dated_tables(tmp_path: Path) -> tuple[str, ...]:
    """A German export: semicolons, days first, decimal commas, some dates and houses missing."""
    graph = make_csbm(n_vertices=90, frequency=0.4, mean_degree=6, n_features=2)
    assert graph.labels is not None
    assert isinstance(graph.features, np.ndarray)
    rows = ["id;label;wert;seit;haus"]
    for i in range(90):
        day = date(2024, 1, 1) + timedelta(days=(i * 37) % 90)
        seit = "" if i == 5 else day.strftime("%d.%m.%Y")
        haus = "" if i == 6 else f"H{i // 4}"
        wert = f"{graph.features[i, 0]:.3f}".replace(".", ",")
        rows.append(f"{i};{'ja' if graph.labels[i] else 'nein'};{wert};{seit};{haus}")
    (tmp_path / "v.csv").write_text("\n".join(rows))
    edges = "\n".join(f"{u};{v}" for u, v in graph.edges)
    (tmp_path / "e.csv").write_text(f"source;target\n{edges}\n")
    return ("--edges", str(tmp_path / "e.csv"), "--vertices", str(tmp_path / "v.csv"))


def parts(run: Path) -> dict[int, str]:
    with (run / "predictions.csv").open(newline="") as file:
        return {int(row["id"]): row["part"] for row in csv.DictReader(file)}


def test_split_by_dates_tests_on_the_latest(graphfilter, dated_tables, tmp_path: Path) -> None:
    run = tmp_path / "run"
    graphfilter("fit", *dated_tables, "--split", "seit=time", "--out", run, *QUICK_SPLITS)
    part = parts(run)
    assert part[5] == "unused"
    days = {i: (i * 37) % 90 for i in part}
    latest_train = max(days[i] for i in part if part[i] == "train")
    tested = [days[i] for i in part if part[i] == "test"]
    assert min(tested) > latest_train
    assert len(tested) == 18
    config = json.loads((run / "config.json").read_text())["run"]
    assert config["split_rule"] == "by time 0.6/0.2/0.2"
    names = [column["name"] for column in config["encoder"]["columns"]]
    assert "wert" in names
    assert "seit" not in names
    graphfilter("explain", run, "--vertex", "3")


def test_no_house_is_in_two_parts(graphfilter, dated_tables, tmp_path: Path) -> None:
    run = tmp_path / "run"
    graphfilter("fit", *dated_tables, "--split", "haus=group", "--out", run, *QUICK_SPLITS)
    part = parts(run)
    for house in range(23):
        inside = {part[i] for i in range(90) if i // 4 == house and i != 6}
        assert len(inside) == 1


def test_wrong_columns_are_said(graphfilter, dated_tables, tmp_path: Path) -> None:
    fit = ("fit", *dated_tables, "--out", tmp_path / "run", *QUICK_SPLITS)
    done = graphfilter(*fit, "--split", "seid=time", code=2)
    assert "seid" in done.err
    done = graphfilter(*fit, "--split", "haus=time", code=2)
    assert "must hold dates or numbers" in done.err
    done = graphfilter(*fit, "--split-by", "seit", "--group", "haus", code=2)
    assert "given twice; give one" in done.err
    done = graphfilter(
        "fit", "--dataset", "karate", "--split", "x=group", "--out", tmp_path / "run", code=2
    )
    assert "--split is for tables" in done.err
    assert not (tmp_path / "run").exists()


def test_times_are_read_from_numbers_dates_and_typed_columns(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "t.csv"
    path.write_text("id,year,day\n1,2020,2020-01-02\n2,2019,2019-12-31\n3,,\n")
    np.testing.assert_array_equal(read_times(path, "year"), [2020, 2019, np.nan])
    days = read_times(path, "day")
    assert days[0] - days[1] == 2 * 86_400
    assert np.isnan(days[2])
    typed = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"day": [date(2020, 1, 2), date(2019, 12, 31), None]}), typed)
    np.testing.assert_array_equal(read_times(typed, "day"), days)
    assert read_groups(path, "year").tolist() == [0, 1, -1]
    path.write_text("id,when\n1,soon\n2,later\n")
    with pytest.raises(DataFileError, match="dates or numbers"):
        read_times(path, "when")


N = 150
QUICK_COVERAGE = (
    "--model",
    "sgf",
    "--epochs",
    15,
    "--set",
    "n_layers=2",
    "--no-baselines",
    "--quiet",
)
TARGETS = {
    "kind": ("--label", "kind", *dropping("price", "cost", "lift", "garden", "day")),
    "number": ("--number", "price", *dropping("kind", "cost", "lift", "garden", "day")),
    "numbers": (
        "--number",
        "price,cost",
        *dropping("kind", "lift", "garden", "day"),
        "--set",
        "scale=log,rank",
    ),
    "labels": ("--multilabel", "lift,garden", *dropping("kind", "price", "cost", "day")),
}


@pytest.fixture(scope="module")
def house_tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
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
    graphfilter, house_tables, tmp_path: Path, what: str, columns: list[str]
) -> None:
    run = tmp_path / "run"
    result = graphfilter(
        "fit", *house_tables, *TARGETS[what], "--coverage", 0.8, "--out", run, *QUICK_COVERAGE
    )
    found = pd.read_csv(run / "predictions.csv", keep_default_na=False)
    assert [name for name in found.columns if name in columns] == columns
    promise = json.loads((run / "metrics.json").read_text())["promise"]
    assert promise["coverage"] == 0.8
    assert promise["given"] is True
    assert promise["set_aside"] is True
    assert promise["n_calibrated"] == (found["part"] == "val").sum() // 2
    assert "set aside, which chose nothing" in result.out.replace("\n", " ")
    each = 2 if what == "numbers" else 1
    assert promise["observed"]["n_vertices"] == each * (found["part"] == "test").sum()
    if what == "numbers":
        assert set(promise["by_number"]) == {"price", "cost"}
    assert 0.5 < promise["observed"]["share"] <= 1
    words = "Observed coverage on"
    assert words in result.out.replace("\n", " ")
    assert words in (run / "report.html").read_text()
    if what == "kind":
        inside = [p in s.split(";") for p, s in zip(found["predicted"], found["set"], strict=True)]
        assert all(inside)
        assert set(promise["by_class"]) <= {"tea", "coffee"}
        counted = sum(own["n_vertices"] for own in promise["by_class"].values())
        assert counted == promise["observed"]["n_vertices"]
    if what == "number":
        assert (found["low"] <= found["high"]).all()
        assert (found["low"] >= 0).all()


@pytest.mark.parametrize(("what", "explained"), [("kind", True), ("number", False)])
def test_coverage_above_what_was_asked_is_explained_for_classes(
    graphfilter, house_tables, tmp_path: Path, what: str, explained: bool
) -> None:
    words = ("--coverage", 0.3, "--out", tmp_path / "run")
    result = graphfilter("fit", *house_tables, *TARGETS[what], *words, *QUICK_COVERAGE)
    assert ("Every set holds the most probable class" in result.out) is explained


def test_promise_is_not_given_for_another_time(graphfilter, house_tables, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = ("--label", "kind", *dropping("price", "cost", "lift", "garden"), "--split", "day=time")
    result = graphfilter(
        "fit", *house_tables, *words, "--coverage", 0.9, "--out", run, *QUICK_COVERAGE
    )
    assert "Coverage is not guaranteed" in result.out.replace("\n", " ")
    assert json.loads((run / "metrics.json").read_text())["promise"]["given"] is False


def test_fit_without_a_coverage_promises_nothing(graphfilter, house_tables, tmp_path: Path) -> None:
    run = tmp_path / "run"
    graphfilter("fit", *house_tables, *TARGETS["number"], "--out", run, *QUICK_COVERAGE)
    assert "low" not in pd.read_csv(run / "predictions.csv").columns
    assert "promise" not in json.loads((run / "metrics.json").read_text())
