"""fit --model: any system, from its name to its folder and back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from graphfilter.data import make_csbm, write_tables
from graphfilter.data.graph import Graph
from graphfilter.runs.explaining import explain_run
from graphfilter.runs.loading import load_run
from graphfilter.runs.predict import predict_graph
from graphfilter.systems import committee

QUICK = ("--epochs", 8, "--quiet")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return make_csbm(n_vertices=80, frequency=0.4, mean_degree=6, n_features=4)


@pytest.fixture
def tables(tmp_path: Path, graph: Graph) -> tuple[str, ...]:
    edges, vertices = write_tables(graph, tmp_path)
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
    graphfilter, tables, tmp_path: Path, graph: Graph, model: str
) -> None:
    run = tmp_path / "run"
    done = graphfilter("fit", *tables, "--model", model, "--out", run, "--no-baselines", *QUICK)
    assert done.code == 0, done.err
    assert (run / "filter.png").exists() == (model != "gcn")
    metrics = json.loads((run / "metrics.json").read_text())
    assert len(metrics["filter"]) == (model != "gcn")
    classifier, about, _ = load_run(run)
    assert classifier.system_.name == f"{model}@max_epochs=8"
    probabilities = predict_graph(classifier, about, graph)
    right = probabilities.argmax(axis=1) == graph.labels
    out = tmp_path / "p.csv"
    assert graphfilter("predict", run, *tables, "--out", out).code == 0
    lines = out.read_text().splitlines()[1:]
    assert [str(p.argmax()) for p in probabilities] == [x.split(",")[1].strip('"') for x in lines]
    assert right.mean() == pytest.approx(
        sum(s["accuracy"] * s["n_vertices"] for s in metrics["scores"].values()) / 80
    )
    why = explain_run(classifier, about, graph, ["3"])[0][0]
    low, high = np.sort(probabilities[3])
    assert why.score == pytest.approx(np.log(high / low), abs=1e-4)


@pytest.mark.research
def test_report_of_another_model_names_it_and_speaks_of_no_filter(
    graphfilter, tables, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    done = graphfilter("fit", *tables, "--model", "gcn", "--out", run, *QUICK)
    assert done.code == 0, done.err
    assert "the adaptive one" not in done.out
    page = (run / "report.html").read_text()
    assert "GCN" in page
    assert "The learned filter" not in page
    assert 'id="filter-plot"' not in page
    assert 'id="training-plot"' in page


@pytest.mark.research
def test_model_that_is_built_on_its_graph_leaves_all_but_itself(
    graphfilter, tables, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    fit = ("fit", *tables, "--model", "linkx", "--out", run, "--no-baselines", *QUICK)
    done = graphfilter(*fit)
    assert done.code == 0, done.err
    assert (run / "predictions.csv").exists()
    assert not (run / "model.safetensors").exists()
    done = graphfilter("predict", run, *tables, "--out", tmp_path / "p.csv")
    assert done.code == 2
    assert "is bound to its graph" in done.err
    assert graphfilter(*fit).code == 2  # a finished run is not written over


@pytest.mark.research
def test_settings_of_a_model_stand_after_its_name(graphfilter, tables, tmp_path: Path) -> None:
    fit = ("fit", *tables, "--out", tmp_path / "run", "--no-baselines", *QUICK)
    done = graphfilter(*fit, "--model", "gcn", "--layers", 3)
    assert done.code == 2
    assert "--model gcn@n_layers=" in done.err
    assert "did you mean" in graphfilter(*fit, "--model", "gnc").err
    assert "is not trained" in graphfilter(*fit, "--model", "label-propagation").err
    assert graphfilter(*fit, "--model", "gcn@hidden_size=3").code == 0
    classifier = load_run(tmp_path / "run")[0]
    assert classifier.system_.settings()["hidden_size"] == 3
    assert classifier.system_.config.max_epochs == 8


@pytest.mark.parametrize("model", ["", "committee-low", "committee@patience=3"])
def test_committee_is_fitted_kept_and_explained(
    graphfilter, tables, tmp_path: Path, graph: Graph, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committee, "MOST_REPEATS", 1)
    run = tmp_path / "run"
    words = ("--model", model) if model else ()
    done = graphfilter("fit", *tables, *words, "--out", run, "--no-baselines", *QUICK)
    assert done.code == 0, done.err
    assert not list(run.glob("checkpoint*"))
    page = (run / "report.html").read_text(encoding="utf-8")
    assert ("What the graph needed" in page) == ("@" not in model)
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    if "@" not in model:
        members = metrics["members"].values()
        assert sum(member["share"] for member in members) == pytest.approx(1)
        assert metrics["seconds"] == pytest.approx(sum(member["seconds"] for member in members))
        [(title, why)] = [x for x in metrics["absent"].items() if "direction" in x[0]]
        assert f"{title} ({why})" in page
    classifier, about, _ = load_run(run)
    found = predict_graph(classifier, about, graph)
    rows = (run / "predictions.csv").read_text(encoding="utf-8").splitlines()[1:]
    names = [row.split(",")[1].strip('"') for row in rows]
    assert [str(classifier.classes_[i]) for i in found.argmax(axis=1)] == names


def test_committee_takes_no_number_of_members(graphfilter, tables, tmp_path: Path) -> None:
    done = graphfilter(
        "fit", *tables, "--model", "committee", "--members", 2, "--out", tmp_path / "run"
    )
    assert done.code == 2
    assert "a committee has its own members" in done.err
