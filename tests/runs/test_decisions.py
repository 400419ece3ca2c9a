"""What is asked of two classes, from the words of the command line to the decision on file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphfilter import SGFClassifier
from graphfilter.data import make_csbm, write_tables
from graphfilter.data.graph import Graph
from graphfilter.report.page import draw_run
from graphfilter.runs.answers import DEFAULT, Costs, Decision, plan_decision
from graphfilter.runs.cases import CaseBook
from graphfilter.runs.folder import fit_folder
from graphfilter.runs.loading import load_run
from graphfilter.runs.plan import FitRequest, Source, plan_fit
from graphfilter.splits import Split
from graphfilter.util.errors import ConfigError


@pytest.fixture(scope="module")
def graph() -> Graph:
    made = make_csbm(n_vertices=120, frequency=0.5, mean_degree=6, n_features=4)
    assert made.labels is not None
    labels = ["fraud" if c == 1 and i % 2 else "ok" for i, c in enumerate(made.labels)]
    return made.replace(labels=labels)


def plan(graph: Graph, **asked) -> Any:
    return plan_decision(plan_fit(Source(graph), 0), FitRequest(**asked))


def test_positive_class_is_the_rarer_the_named_or_the_one_of_the_first_cost(graph: Graph) -> None:
    names = graph.classes.tolist()
    assert names[plan(graph).positive] == "fraud"
    assert names[plan(graph, positive="ok").positive] == "ok"
    assert names[plan(graph, costs=("ok:fraud=3",)).positive] == "ok"


def test_costs_are_read_by_the_true_and_the_predicted_class(graph: Graph) -> None:
    found = plan(graph, costs=("fraud:ok=10", "ok:fraud=0.5"))
    assert found.costs == Costs(missed=10, false_alarm=0.5)
    assert found.metric == "cost"
    assert plan(graph).metric == DEFAULT


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"costs": ("fraud=10",)}, "true:predicted=cost"),
        ({"costs": ("fraud:ok=-1",)}, "true:predicted=cost"),
        ({"costs": ("fraud:ok=0", "ok:fraud=0")}, "must have a cost above 0"),
        ({"threshold": "1.5"}, "from 0 to 1"),
        ({"threshold": "acuracy"}, "did you mean 'accuracy'"),
        ({"positive": "frod"}, "did you mean 'fraud'"),
    ],
)
def test_wrong_words_are_said(graph: Graph, asked, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        plan(graph, **asked)


def test_threshold_needs_validation_vertices_of_both_classes(graph: Graph) -> None:
    ok = np.flatnonzero(graph.labels == graph.classes.tolist().index("ok"))
    rest = np.setdiff1d(np.arange(120), ok[:5])
    given = Split(rest, ok[:5], [], rule="given")
    planned = plan_fit(Source(graph.replace(splits=[given])), 0)
    with pytest.raises(ConfigError, match="validation vertices of both classes"):
        plan_decision(planned, FitRequest(threshold="f1"))


def test_many_classes_have_no_threshold() -> None:
    graph = Graph.from_edges([[0, 1]], labels=["a", "b", "c"] * 4, n_vertices=12)
    planned = plan_fit(Source(graph), 0)
    assert plan_decision(planned, FitRequest()) is None
    with pytest.raises(ConfigError, match="`cost` needs two classes; there are 3"):
        plan_decision(planned, FitRequest(costs=("a:b=1",)))


def test_decision_is_kept_with_the_run_and_followed(graph: Graph, tmp_path: Path) -> None:
    clf = SGFClassifier(max_epochs=30, random_state=0)
    planned = plan_fit(Source(graph), 0)
    request = FitRequest(costs=("fraud:ok=20",))
    done = fit_folder(planned, clf, tmp_path, baselines=False, request=request, draw=draw_run)
    _, about, _ = load_run(tmp_path)
    assert isinstance(about.decision, Decision)
    found = json.loads((tmp_path / "metrics.json").read_text())["decision"]
    assert (
        found["threshold"]
        == about.decision.threshold
        == done.metrics.get("decision", {})["threshold"]
    )
    assert found["scores"]["val"]["cost"] <= found["at_one_half"]["val"]["cost"]
    positive = graph.classes.tolist().index("fraud")
    expected = np.where(
        done.fit.estimator.predict_proba()[:, positive] >= found["threshold"], "fraud", "ok"
    ).tolist()
    lines = (line.split(",") for line in (tmp_path / "predictions.csv").read_text().splitlines())
    said = {words[0].strip('"'): words[1].strip('"') for words in lines}
    assert [said[str(v)] for v in range(graph.n_vertices)] == expected
    page = (tmp_path / "report.html").read_text()
    assert "When to say “fraud”" in page
    assert "the lowest cost on the validation vertices" in page


def test_without_a_wish_the_more_probable_class_is_answered(graph: Graph, tmp_path: Path) -> None:
    clf = SGFClassifier(max_epochs=10, random_state=0)
    fit_folder(plan_fit(Source(graph), 0), clf, tmp_path, baselines=False, draw=draw_run)
    assert load_run(tmp_path)[1].decision is None
    found = json.loads((tmp_path / "metrics.json").read_text())["decision"]
    assert found["scores"] == found["at_one_half"]
    assert (
        "is predicted where it is the more probable class" in (tmp_path / "report.html").read_text()
    )


def test_predict_follows_the_decision_of_the_run(graph: Graph, tmp_path: Path, monkeypatch) -> None:
    from graphfilter.cli import main

    edges, vertices = write_tables(graph, tmp_path)
    tables = ["--edges", str(edges), "--vertices", str(vertices), "--quiet"]

    def run(*words: str) -> None:
        monkeypatch.setattr("sys.argv", ["graphfilter", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code in (0, None)

    folder, out = str(tmp_path / "run"), tmp_path / "p.csv"
    run("fit", *tables, "--out", folder, "--epochs", "10", "--no-baselines", "--threshold", "0",
        "--model", "sgf")  # fmt: skip
    run("predict", folder, *tables, "--out", str(out))
    assert {line.split(",")[1].strip('"') for line in out.read_text().splitlines()[1:]} == {"fraud"}


def test_explanation_is_of_the_class_that_is_answered(graph: Graph, tmp_path: Path) -> None:
    clf = SGFClassifier(max_epochs=10, random_state=0)
    request = FitRequest(threshold="0.001")
    done = fit_folder(
        plan_fit(Source(graph), 0), clf, tmp_path, baselines=False, request=request, draw=draw_run
    )
    loaded, about, encoder = load_run(tmp_path)
    answers = done.fit.estimator.predict_proba()
    unlikely = int(answers[:, graph.classes.tolist().index("fraud")].argmin())
    (found,) = CaseBook.of_run(tmp_path, loaded, about, encoder).explain([unlikely])
    assert (found.predicted, found.against) == ("fraud", "ok")
    assert found.score == pytest.approx(answers.min(axis=0)[graph.classes.tolist().index("fraud")])
