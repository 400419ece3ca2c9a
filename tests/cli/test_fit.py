"""fit on the command line: from tables to a run, in any model."""

from __future__ import annotations

import csv
import json
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.processes import Command

from graphfilter import SGFClassifier
from graphfilter.data import make_csbm, write_npz, write_tables
from graphfilter.data.graph import Graph
from graphfilter.filters import StackedFilter
from graphfilter.runs.cases import CaseBook
from graphfilter.runs.loading import load_run
from graphfilter.runs.predict import predict_graph
from graphfilter.splits import stratified
from graphfilter.systems import committee
from graphfilter.training.epoch import Epoch

FILES = {
    "report.html",
    "predictions.csv",
    "metrics.json",
    "filter.png",
    "model.safetensors",
    "config.json",
    "graph.npz",
    "reference.safetensors",
    "cases.safetensors",
}
# The paper's filter: what a run does around its model is the same for all, and this is quick.
SGF = ("--model", "sgf")
QUICK = ("--epochs", 40, "--quiet", *SGF)


@pytest.fixture(scope="module")
def graph():
    return make_csbm(n_vertices=120, frequency=0.3, mean_degree=8, n_features=6)


@pytest.fixture
def tables(tmp_path: Path, graph) -> tuple[str, ...]:
    edges, vertices = write_tables(graph, tmp_path)
    return ("--edges", str(edges), "--vertices", str(vertices))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return sorted(rows, key=lambda row: (len(row["id"]), row["id"]))  # As the table has them.


def test_fit_leaves_a_whole_run(graphfilter, tables, tmp_path: Path, graph) -> None:
    run = tmp_path / "run"
    result = graphfilter("fit", *tables, "--label", "label", "--out", run, "--epochs", 40, *SGF)
    assert {p.name for p in run.iterdir()} == FILES
    assert "note: split drawn: 72 train, 24 val, 24 test" in result.err
    assert "test" in result.out
    rows = rows_of(run / "predictions.csv")
    assert list(rows[0]) == ["id", "predicted", "probability", "p_0", "p_1", "because", "part"]
    assert len(rows) == 120
    for row in rows:
        each = np.array([float(row["p_0"]), float(row["p_1"])])
        assert each.sum() == pytest.approx(1, abs=1e-5)
        assert row["predicted"] == str(each.argmax())
    metrics = json.loads((run / "metrics.json").read_text())
    assert set(metrics["scores"]) == {"train", "val", "test"}
    test = [r for r in rows if r["part"] == "test"]
    right = [r["predicted"] == str(graph.labels[int(r["id"])]) for r in test]
    assert metrics["scores"]["test"]["accuracy"] == pytest.approx(np.mean(right))
    assert len(metrics["filter"][0]["alpha"]) == 16
    assert len(metrics["filter"][0]["theta"]) == 17
    assert metrics["label_frequency_mean"] < 0.6
    assert (run / "filter.png").read_bytes().startswith(b"\x89PNG")


def test_fit_equals_the_estimator(graphfilter, tables, tmp_path: Path, graph) -> None:
    run = tmp_path / "run"
    words = ("--out", run, "--seed", 3, "--set", "monitor=roc_auc", *QUICK)
    result = graphfilter("fit", *tables, *words)
    assert "ROC AUC" in result.out
    clf = SGFClassifier(max_epochs=40, random_state=3, monitor="roc_auc")
    clf.fit(graph=graph, split=stratified(graph.labels, 3))
    written = [float(row["p_1"]) for row in rows_of(run / "predictions.csv")]
    np.testing.assert_allclose(written, clf.predict_proba()[:, 1], atol=1e-5)


@pytest.mark.parametrize(("given", "start"), [("-0.3", -0.3), ("uniform", "uniform")])
def test_fit_starts_the_filter_where_it_is_told(
    graphfilter, tables, tmp_path: Path, graph, given: str, start: Any
) -> None:
    run = tmp_path / "run"
    words = (
        "fit",
        *tables,
        *SGF,
        "--out",
        run,
        "--set",
        f"filter_init={given}",
        "--epochs",
        3,
        "--no-baselines",
    )
    graphfilter(*words, "--overwrite")
    clf = SGFClassifier(max_epochs=3, filter_init=start, random_state=0)
    clf.fit(graph=graph, split=stratified(graph.labels, 0))
    learned = json.loads((run / "metrics.json").read_text())["filter"][0]["alpha"]
    assert isinstance(clf.filter_, StackedFilter)
    np.testing.assert_allclose(learned, clf.filter_.alpha.tolist(), rtol=1e-4, atol=1e-6)
    command = json.loads((run / "config.json").read_text())["run"]["command"]
    assert f"--set filter_init={given}" in command
    assert "--overwrite" not in command


def test_predict_repeats_what_fit_wrote(graphfilter, tables, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "again.csv"
    graphfilter("fit", *tables, "--out", run, "--set", "n_members=2", *QUICK)
    result = graphfilter("predict", run, *tables, "--out", out)
    assert "Accuracy on the 24 labelled rows not used for training" in result.out
    assert "(on the 72 trained on" in result.out
    for first, again in zip(rows_of(run / "predictions.csv"), rows_of(out), strict=True):
        assert first["predicted"] == again["predicted"]
        assert float(first["p_0"]) == pytest.approx(float(again["p_0"]), abs=2e-6)
    graphfilter("predict", run, *tables, "--out", out, code=2)
    graphfilter("predict", run, *tables, "--out", out, "--overwrite")


def test_fit_takes_a_graph_file_and_a_dataset(graphfilter, tmp_path: Path, graph) -> None:
    write_npz(graph, tmp_path / "g.npz")
    for source in (("--graph", tmp_path / "g.npz"), ("--dataset", "karate")):
        run = tmp_path / source[0].strip("-")
        graphfilter("fit", *source, "--out", run, *QUICK)
        out = tmp_path / "p.csv"
        graphfilter("predict", run, *source, "--out", out, "--overwrite")


def write(folder: Path, edges: str, vertices: str) -> tuple[str, ...]:
    (folder / "e.csv").write_text(edges)
    (folder / "v.csv").write_text(vertices)
    return ("--edges", str(folder / "e.csv"), "--vertices", str(folder / "v.csv"))


EDGES = "source,target\n" + "".join(f"v{i},v{(i + 1) % 12}\n" for i in range(12))
SPLITS = ["train"] * 6 + ["val"] * 2 + ["test"] * 2 + ["", ""]
VERTICES = "id,x,colour,kind,split\n" + "".join(
    f"v{i},{i / 10},{'red' if i % 3 else 'blue'},{'ab'[i % 2] if i != 11 else ''},{SPLITS[i]}\n"
    for i in range(12)
)


def test_fit_takes_the_split_of_the_table(graphfilter, tmp_path: Path) -> None:
    tables = write(tmp_path, EDGES, VERTICES)
    result = graphfilter("fit", *tables, "--label", "kind", "--out", tmp_path / "run",
                         "--epochs", 5, *SGF)  # fmt: skip
    assert "column 'colour' has 2 values: one feature per value" in result.err
    assert "labelled vertices in no part: 1." in result.err
    parts = [row["part"] for row in rows_of(tmp_path / "run" / "predictions.csv")]
    assert parts == [*SPLITS[:10], "unused", "unlabelled"]


def test_fit_draws_validation_where_the_table_has_none(graphfilter, tmp_path: Path) -> None:
    tables = write(tmp_path, EDGES, VERTICES.replace(",val\n", ",train\n"))
    result = graphfilter("fit", *tables, "--label", "kind", "--out", tmp_path / "run",
                         "--epochs", 5, *SGF)  # fmt: skip
    assert "validation drawn from train" in result.err
    parts = [row["part"] for row in rows_of(tmp_path / "run" / "predictions.csv")]
    assert parts.count("val") == 2


def test_fit_without_features_predicts_its_own_graph_only(graphfilter, tmp_path: Path) -> None:
    bare = "id,kind\n" + "".join(f"v{i},{'ab'[i % 2]}\n" for i in range(12))
    tables = write(tmp_path, EDGES, bare)
    run = tmp_path / "run"
    result = graphfilter("fit", *tables, "--label", "kind", "--out", run, "--epochs", 5, *SGF)
    assert "no vertex features" in result.err
    predict = ("predict", run, "--label", "kind", "--out", tmp_path / "p.csv", "--overwrite")
    graphfilter(*predict, *tables)
    other = write(tmp_path, EDGES.replace("v3,v4\n", ""), bare)
    refused = graphfilter(*predict, *other, code=2)
    assert "only the graph it was fitted on" in refused.err


def test_predict_encodes_new_vertices_alike(graphfilter, tmp_path: Path) -> None:
    tables = write(tmp_path, EDGES, VERTICES)
    run = tmp_path / "run"
    graphfilter("fit", *tables, "--label", "kind", "--out", run, *QUICK)
    (tmp_path / "new").mkdir()
    new = write(tmp_path / "new", "a,b\nn1,n2\n", "id,colour,x\nn1,green,0.5\nn2,red,0.1\n")
    graphfilter("predict", run, *new, "--out", tmp_path / "p.csv")
    assert [row["id"] for row in rows_of(tmp_path / "p.csv")] == ["n1", "n2"]
    missing = write(tmp_path / "new", "a,b\nn1,n2\n", "id,x\nn1,0.5\nn2,0.1\n")
    refused = graphfilter("predict", run, *missing, "--out", tmp_path / "q.csv", code=2)
    assert "colour" in refused.err
    assert not (tmp_path / "q.csv").exists()


BAD_TABLES = {
    "unknown vertex": (EDGES + "v1,zz\n", VERTICES, "e.csv, line 14: vertex 'zz' is not in"),
    "duplicate id": (EDGES, VERTICES + "v3,0,red,a,\n", "v.csv, line 14: vertex id 'v3'"),
    "not a number": (EDGES, VERTICES.replace("v4,0.4", "v4,much"), "v.csv, line 6: column 'x'"),
    "infinite": (EDGES, VERTICES.replace("v4,0.4", "v4,inf"), "v.csv, line 6: column 'x'"),
    "negative weight": (
        "source,target,weight\nv0,v1,1\nv1,v2,-1\n", VERTICES, "e.csv, line 3: column 'weight'",
    ),
    "one class": (EDGES, VERTICES.replace(",b,", ",a,"), "at least two classes"),
    "no labels": (EDGES, VERTICES.replace(",a,", ",,").replace(",b,", ",,"), "no vertex is lab"),
    "no vertices": (EDGES, "id,x,colour,kind,split\n", "v.csv"),
    "bad split": (EDGES, VERTICES.replace("test", "exam"), "v.csv, line 10"),
    "empty file": (EDGES, "", "v.csv"),
    "no training": (EDGES, VERTICES.replace("train", "test"), "at least one labelled vertex"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_TABLES)
def test_fit_explains_bad_tables_and_writes_nothing(graphfilter, tmp_path: Path, case: str) -> None:
    edges, vertices, message = BAD_TABLES[case]
    tables = write(tmp_path, edges, vertices)
    result = graphfilter("fit", *tables, "--label", "kind", "--out", tmp_path / "run", code=2)
    assert message in result.err
    assert result.err.strip().splitlines()[-1].startswith("error: ")
    assert result.out == ""
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--label", "knd"), "did you mean 'kind'"),
        (("--label", "kind", "--set", "n_layers=0", *SGF), "n_layers must be"),
        (("--label", "kind", "--set", "n_layers=8"), "are of --model sgf, or stand after"),
        (("--label", "kind", "--set", "dropout=1.5", *SGF), "dropout must be in [0, 1)"),
        (
            ("--label", "kind", "--set", "filter_init=half", *SGF),
            "a number or 'uniform'; got 'half'",
        ),
        (("--label", "kind", "--set", "filter_init=nan", *SGF), "a number or 'uniform'; got 'nan'"),
        (("--label", "kind", "--set", "operator=laplacan", *SGF), "did you mean 'laplacian'"),
        (("--label", "kind", "--set", "device=abacus"), "device must be"),
        (("--label", "kind", "--set", "clean_ids=maybe"), "must have yes or no"),
        (("--label", "kind", "--set", "decimal"), "must have a value: decimal=VALUE"),
        (("--label", "kind", "--set", "patience"), "must be NAME=VALUE"),
        (("--label", "kind", "--set", "monitor=roc_aux"), "did you mean 'roc_auc'"),
        (("--label", "kind", "--dataset", "cora"), "name one graph"),
        (("--label", "kind", "--from", "from"), "there is no column 'from'"),
    ],
)
def test_fit_explains_bad_options_and_writes_nothing(
    graphfilter, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    tables = write(tmp_path, EDGES, VERTICES)
    result = graphfilter("fit", *tables, *words, "--out", tmp_path / "run", code=2)
    assert message in result.err
    assert not (tmp_path / "run").exists()


def test_fit_refuses_a_folder_that_is_taken_before_it_reads(graphfilter, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "mine.txt").write_text("keep")
    tables = ("--edges", tmp_path / "none.csv", "--vertices", tmp_path / "none.csv")
    refused = graphfilter("fit", *tables, "--label", "kind", "--out", run, code=2)
    assert "--overwrite" in refused.err


def test_fit_does_not_touch_a_folder_that_is_not_empty(graphfilter, tmp_path: Path) -> None:
    tables = write(tmp_path, EDGES, VERTICES)
    run = tmp_path / "run"
    run.mkdir()
    (run / "mine.txt").write_text("keep")
    words = ("fit", *tables, "--label", "kind", "--out", run, *QUICK)
    result = graphfilter(*words, code=2)
    assert "--overwrite" in result.err
    assert [p.name for p in run.iterdir()] == ["mine.txt"]
    graphfilter(*words, "--overwrite")
    assert (run / "mine.txt").read_text() == "keep"
    resume = graphfilter(*words, "--resume", code=2)
    assert "nothing to resume" in resume.err


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT to a process")
def test_fit_interrupted_resumes_to_the_same_bits(graphfilter, tmp_path: Path, graph) -> None:
    edges, vertices = write_tables(graph, tmp_path)
    words = ["fit", "--edges", str(edges), "--vertices", str(vertices), "--epochs", "400",
             "--set=patience=400", "--set=n_layers=8", "--no-baselines", *SGF, "--out"]  # fmt: skip
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    graphfilter(*words, whole)
    with Command([*words, stopped], tmp_path / "said") as command:
        command.wait_for(stopped)
        time.sleep(0.2)
        command.send(signal.SIGINT)
        assert command.wait()
    assert command.code == 130, command.err
    assert "--resume" in command.err
    assert {p.name for p in stopped.iterdir()} == {"checkpoint.safetensors"}
    again = graphfilter(*words, stopped, code=2)
    assert "interrupted run" in again.err
    graphfilter(*words, stopped, "--resume")
    for name in ("predictions.csv", "model.safetensors"):
        assert (stopped / name).read_bytes() == (whole / name).read_bytes()
    assert not (stopped / "checkpoint.safetensors").exists()


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_fit_stopped_by_a_signal_says_so_last(
    graphfilter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int, word: str
) -> None:
    tables = write(tmp_path, EDGES, VERTICES)
    epoch = Epoch.__call__

    def stopped(self: Epoch) -> None:
        epoch(self)
        signal.raise_signal(number)

    monkeypatch.setattr(Epoch, "__call__", stopped)
    result = graphfilter("fit", *tables, "--label", "kind", "--out", tmp_path / "run", code=code)
    lines = result.err.splitlines()
    assert re.match(r"training \d+ of \d+, features alone: epoch 1 of at most 1500", lines[-2])
    assert lines[-1].startswith(f"error: {word}; finished work is saved.")


def test_fit_interrupted_while_comparing_does_not_train_again(
    graphfilter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = write(tmp_path, EDGES, VERTICES)
    words = ("fit", *tables, "--label", "kind", "--epochs", 20, "--quiet", *SGF, "--out")
    graphfilter(*words, tmp_path / "whole")

    def interrupt(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("graphfilter.runs.fit.train_baselines", interrupt)
        stopped = graphfilter(*words, tmp_path / "run", code=130)
    assert "--resume" in stopped.err
    # To train again would be to start an epoch.
    monkeypatch.setattr("graphfilter.training.loop.Epoch", interrupt)
    graphfilter(*words, tmp_path / "run", "--resume", "--no-baselines")
    for name in ("predictions.csv", "model.safetensors"):
        whole = (tmp_path / "whole" / name).read_bytes()
        assert (tmp_path / "run" / name).read_bytes() == whole


def test_predict_uses_the_columns_fit_was_told(graphfilter, tmp_path: Path) -> None:
    edges = "one,two,strength\n" + "".join(f"v{i},v{(i + 1) % 12},{i + 1}\n" for i in range(12))
    tables = write(tmp_path, edges, VERTICES)
    run, out = tmp_path / "run", tmp_path / "p.csv"
    named = ("--from", "one", "--to", "two", "--weight", "strength", "--label", "kind")
    graphfilter("fit", *tables, *named, "--out", run, *QUICK)
    graphfilter("predict", run, *tables, "--out", out)
    first, again = rows_of(run / "predictions.csv"), rows_of(out)
    assert [r["p_a"] for r in first] == [r["p_a"] for r in again]


def test_fit_notes_a_class_that_is_never_trained_on(graphfilter, tmp_path: Path) -> None:
    rows = "".join(f"v{i},{i},{'a' if i < 8 else 'b'},{'train' if i < 8 else 'test'}\n"
                   for i in range(12))  # fmt: skip
    tables = write(tmp_path, EDGES, "id,x,kind,split\n" + rows)
    result = graphfilter("fit", *tables, "--label", "kind", "--out", tmp_path / "run",
                         "--epochs", 3, "--no-baselines", *SGF)  # fmt: skip
    assert "class 'b' has no training vertex" in result.err


def test_predict_on_an_unfinished_run_says_so(graphfilter, tmp_path: Path) -> None:
    tables = write(tmp_path, EDGES, VERTICES)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoint.safetensors").write_bytes(b"")
    result = graphfilter("predict", tmp_path / "run", *tables, "--out", tmp_path / "p.csv", code=2)
    assert "unfinished run" in result.err


FEW_EPOCHS = ("--epochs", 8, "--quiet")


@pytest.fixture(scope="module")
def small_graph() -> Graph:
    return make_csbm(n_vertices=80, frequency=0.4, mean_degree=6, n_features=4)


@pytest.fixture
def graph_tables(tmp_path: Path, small_graph: Graph) -> tuple[str, ...]:
    edges, vertices = write_tables(small_graph, tmp_path)
    return ("--edges", str(edges), "--vertices", str(vertices))


@pytest.mark.parametrize(
    "model",
    [
        "gpr-gnn",
        "ppnp",
        "mlp",
        *(pytest.param(m, marks=pytest.mark.research) for m in ("gcn", "gpr-gnn-authors")),
    ],
)
def test_model_of_any_name_is_fitted_kept_and_explained(
    graphfilter, graph_tables, tmp_path: Path, small_graph: Graph, model: str
) -> None:
    run = tmp_path / "run"
    graphfilter("fit", *graph_tables, "--model", model, "--out", run, "--no-baselines", *FEW_EPOCHS)
    assert (run / "filter.png").exists() == (model != "gcn")
    metrics = json.loads((run / "metrics.json").read_text())
    assert len(metrics["filter"]) == (model != "gcn")
    classifier, about, encoder = load_run(run)
    assert classifier.system_.name == f"{model}@max_epochs=8"
    probabilities = predict_graph(classifier, about, small_graph)
    right = probabilities.argmax(axis=1) == small_graph.labels
    out = tmp_path / "p.csv"
    graphfilter("predict", run, *graph_tables, "--out", out)
    lines = out.read_text().splitlines()[1:]
    assert [str(p.argmax()) for p in probabilities] == [x.split(",")[1].strip('"') for x in lines]
    assert right.mean() == pytest.approx(
        sum(s["accuracy"] * s["n_vertices"] for s in metrics["scores"].values()) / 80
    )
    (why,) = CaseBook.of_run(run, classifier, about, encoder).explain([3])
    assert why.score == pytest.approx(probabilities[3].max())


@pytest.mark.research
def test_report_of_another_model_names_it_and_speaks_of_no_filter(
    graphfilter, graph_tables, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    done = graphfilter("fit", *graph_tables, "--model", "gcn", "--out", run, *FEW_EPOCHS)
    assert "adaptive" not in done.out
    page = (run / "report.html").read_text()
    assert "GCN" in page
    assert "The learned filter" not in page
    assert 'id="filter-plot"' not in page
    assert 'id="training-plot"' in page


@pytest.mark.research
def test_model_that_is_built_on_its_graph_leaves_all_but_itself(
    graphfilter, graph_tables, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    fit = ("fit", *graph_tables, "--model", "linkx", "--out", run, "--no-baselines", *FEW_EPOCHS)
    done = graphfilter(*fit)
    assert (run / "predictions.csv").exists()
    assert not (run / "model.safetensors").exists()
    done = graphfilter("predict", run, *graph_tables, "--out", tmp_path / "p.csv", code=2)
    assert "is bound to its graph" in done.err
    graphfilter(*fit, code=2)  # a finished run is not written over


@pytest.mark.research
def test_settings_of_a_model_stand_after_its_name(
    graphfilter, graph_tables, tmp_path: Path
) -> None:
    fit = ("fit", *graph_tables, "--out", tmp_path / "run", "--no-baselines", *FEW_EPOCHS)
    done = graphfilter(*fit, "--model", "gcn", "--set", "n_layers=3", code=2)
    assert "gcn@n_layers=" in done.err
    assert "did you mean" in graphfilter(*fit, "--model", "gnc", code=2).err
    assert "is not trained" in graphfilter(*fit, "--model", "label-propagation", code=2).err
    graphfilter(*fit, "--model", "gcn@hidden_size=3")
    classifier = load_run(tmp_path / "run")[0]
    assert classifier.system_.settings()["hidden_size"] == 3
    assert classifier.system_.config.max_epochs == 8


@pytest.mark.parametrize("model", ["", "committee-low", "committee@patience=3"])
def test_committee_is_fitted_kept_and_explained(
    graphfilter,
    graph_tables,
    tmp_path: Path,
    small_graph: Graph,
    model: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(committee, "MOST_REPEATS", 1)
    run = tmp_path / "run"
    words = ("--model", model) if model else ()
    graphfilter("fit", *graph_tables, *words, "--out", run, "--no-baselines", *FEW_EPOCHS)
    assert not list(run.glob("checkpoint*"))
    page = (run / "report.html").read_text(encoding="utf-8")
    assert ("The models that answer together" in page) == ("@" not in model)
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    if "@" not in model:
        members = metrics["members"].values()
        assert sum(member["share"] for member in members) == pytest.approx(1)
        assert metrics["seconds"] == pytest.approx(sum(member["seconds"] for member in members))
        [(title, why)] = [x for x in metrics["absent"].items() if "direction" in x[0]]
        assert f"{title} ({why})" in page
    classifier, about, _ = load_run(run)
    found = predict_graph(classifier, about, small_graph)
    names = [row["predicted"] for row in rows_of(run / "predictions.csv")]
    assert [str(classifier.classes_[i]) for i in found.argmax(axis=1)] == names


def test_committee_takes_no_number_of_members(graphfilter, graph_tables, tmp_path: Path) -> None:
    done = graphfilter(
        "fit",
        *graph_tables,
        "--model",
        "committee",
        "--set",
        "n_members=2",
        "--out",
        tmp_path / "run",
        code=2,
    )
    assert "--model committee has no setting 'n_members'" in done.err
