"""Parameters that are left open: settled by what is learned, whichever door one comes in by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphfilter import GraphClassifier, SGFClassifier, SGFRegressor, SystemClassifier
from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.runs.fit import train_fit
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.splits import stratified
from graphfilter.util.errors import ConfigError

GRAPH = make_csbm(n_vertices=120, mean_degree=6, n_features=4, frequency=0.4)
X = np.asarray(GRAPH.features)


def with_rare(first: str, second: str, share: float = 0.1) -> Graph:
    """Return a graph whose rare class has a name that comes first, or second, in the alphabet."""
    rare = np.random.default_rng(0).random(120) < share
    return GRAPH.replace(labels=np.where(rare, first, second).tolist())


def quick(kind: type = SGFClassifier, **options):
    return kind(max_epochs=5, random_state=0, device="cpu", **options)


@pytest.mark.parametrize("kind", [SGFClassifier, SystemClassifier, GraphClassifier])
def test_rare_class_is_watched_by_average_precision(kind: type) -> None:
    options = {"effort": "low"} if kind is GraphClassifier else {}
    graph = with_rare("fraud", "ok")
    clf = quick(kind, **options).fit(graph=graph)
    assert clf.chosen_["monitor"] == "average_precision"
    assert clf.system_.settings()["monitor"] == "average_precision"
    assert "average_precision" not in clf.system_.title
    assert "monitor" not in quick(kind, **options).fit(graph=GRAPH).chosen_
    sought = quick(kind, **options, positive=GRAPH.classes[0]).fit(graph=GRAPH)
    assert sought.chosen_["monitor"] == "average_precision"
    asked = quick(kind, **options, monitor="accuracy").fit(graph=graph)
    assert asked.system_.settings()["monitor"] == "accuracy"


@pytest.mark.parametrize(("first", "second"), [("fraud", "ok"), ("ok", "zfraud")])
def test_monitored_average_precision_is_of_the_class_looked_for(first: str, second: str) -> None:
    from sklearn.metrics import average_precision_score

    names = (first, second) if first == "fraud" else (second, first)
    graph = with_rare(*names)
    split = stratified(graph.labels, 0)
    for positive in (None, *names):
        clf = quick(monitor="average_precision", positive=positive).fit(graph=graph, split=split)
        assert graph.labels is not None
        sought = graph.classes.tolist().index(positive or names[0])
        best = clf.results_[0].best_epoch
        expected = average_precision_score(
            graph.labels[split.val] == sought, clf.predict_proba()[split.val, sought]
        )
        assert clf.history_["val_average_precision"][best - 1] == pytest.approx(expected)


def test_class_looked_for_must_be_one_of_two() -> None:
    with pytest.raises(ConfigError, match="unknown class 'frod'"):
        quick(positive="frod").fit(graph=with_rare("fraud", "ok"))
    three = GRAPH.replace(labels=(np.arange(120) % 3).tolist())
    with pytest.raises(ConfigError, match="positive is for two classes"):
        quick(positive="1").fit(graph=three)


def test_dropout_is_that_of_the_task_in_every_door(tmp_path: Path) -> None:
    labels = (X[:, :2] > 0).astype(float)
    several, classes = quick(), quick()
    several.fit(X, labels, graph=GRAPH)
    classes.fit(graph=GRAPH)
    numbers = quick(SGFRegressor).fit(X, X[:, 0], graph=GRAPH)
    found = [e.system_.settings()["dropout"] for e in (classes, several, numbers)]
    assert found == [0.7, 0.2, 0.2]
    several.save(tmp_path)
    assert SGFClassifier.load(tmp_path).dropout == 0.2
    same = quick(dropout=0.2).fit(X, labels, graph=GRAPH)
    np.testing.assert_array_equal(several.predict_proba(), same.predict_proba())


def test_monitor_of_another_task_is_refused() -> None:
    with pytest.raises(ConfigError, match="must be one of r2, loss for regression"):
        quick(SGFRegressor, monitor="accuracy").fit(X, X[:, 0], graph=GRAPH)


def test_directions_are_used_as_a_fit_uses_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 90)
    pairs = [(u, v) for u, v in rng.integers(0, 90, (4000, 2)) if (labels[u] + 1) % 3 == labels[v]]
    graph = Graph.from_edges(
        pairs, 90, directed=True, features=rng.normal(size=(90, 4)), labels=labels
    )
    split = stratified(labels, 0)
    clf = SGFClassifier(max_epochs=60, n_layers=4, random_state=0, device="cpu")
    clf.fit(graph=graph, split=split)
    assert clf.chosen_["operator"] == clf.system_.operator == "channels"
    assert clf.notes_[0].startswith("directions used: accuracy on")
    other = SGFClassifier(max_epochs=60, n_layers=4, random_state=0, device="cpu")
    fit = train_fit(plan_fit(Source(graph), 0), other, baselines=False)
    np.testing.assert_array_equal(fit.outputs, clf.predict_proba())
    clf.save(tmp_path)
    loaded = SGFClassifier.load(tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(graph=graph), clf.predict_proba())


def test_outputs_of_training_are_those_of_prediction() -> None:
    for clf in (quick(n_members=2), quick(GraphClassifier, effort="low"), quick(SGFRegressor)):
        y = X[:, 0] if isinstance(clf, SGFRegressor) else None
        clf.fit(X, GRAPH.labels if y is None else y, graph=GRAPH)
        kept = clf.outputs_.copy()
        del clf.answers_
        np.testing.assert_array_equal(clf.answers(), kept)
