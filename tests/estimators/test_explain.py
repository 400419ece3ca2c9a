"""Explanations add up to the answer, name what decides it, and ask only who answers."""

from __future__ import annotations

import copy
import dataclasses
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import graphfilter as gf
from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.estimators.contributions import Hidden, Questioner
from graphfilter.estimators.explanation import explain_vertices
from graphfilter.util.errors import ConfigError, GraphFilterError

QUICK: dict[str, Any] = {"random_state": 0, "max_epochs": 8}
GRAPH = make_csbm(n_vertices=70, n_features=4, frequency=0.4, mean_degree=16, seed=0).replace(
    vertex_names=[f"v{i}" for i in range(70)], feature_names=list("abcd")
)
FEATURES = np.asarray(GRAPH.features, dtype=float)
NUMBERS = 50 + 20 * FEATURES[:, 0] + np.asarray(GRAPH.adjacency @ FEATURES[:, 1])
KINDS = np.array(["x", "y", "z"])[np.digitize(FEATURES[:, 0], [-0.5, 0.5])]
LABELS = np.column_stack([FEATURES[:, 0] > 0, FEATURES[:, 1] > 0.5]).astype(float)


@pytest.fixture(scope="module")
def table() -> Graph:
    """Accounts in a few rings, with devices that some share, and transfers with directions."""
    rng, n = np.random.default_rng(1), 90
    fraud = rng.random(n) < 0.4
    device = np.where(fraud, rng.integers(6, size=n), rng.integers(6, 60, size=n))
    frame: dict[str, Any] = {
        "account": [f"a{i}" for i in range(n)], "device": [f"d{k}" for k in device],
        "age": rng.integers(20, 60, n), "label": np.where(fraud, "yes", "no"),
    }  # fmt: skip
    frame["age"] = np.where(rng.random(n) < 0.1, np.nan, frame["age"])
    pairs = rng.integers(n, size=(9 * n, 2))
    edges: dict[str, Any] = {"payer": pairs[:, 0], "payee": pairs[:, 1]}
    edges = {name: [f"a{i}" for i in ends] for name, ends in edges.items()}
    edges["amount"] = rng.integers(1, 50, len(pairs))
    edges["way"] = rng.choice(["app", "web"], len(pairs))
    columns: dict[str, Any] = {"label": "label", "weight": "amount", "edge_kind": "way"}
    return Graph.from_frames(
        pd.DataFrame(frame), pd.DataFrame(edges), id="account", source="payer", target="payee",
        directed=True, categorical=["device"], **columns,
    )  # fmt: skip


@cache
def fit(what: str, table: Graph) -> tuple[Any, NDArray[np.float64]]:
    """Fit an estimator, once; return it with its outputs (n, C)."""
    model: Any
    if what == "committee of a table":
        model = gf.GraphClassifier(**QUICK).fit(graph=table)
    elif what == "one filter":
        model = gf.SGFClassifier(n_layers=3, **QUICK).fit(graph=GRAPH)
    elif what == "three classes":
        model = gf.GraphClassifier(**QUICK).fit(FEATURES, KINDS, graph=GRAPH)
    elif what == "labels":
        model = gf.GraphClassifier(**QUICK).fit(FEATURES, LABELS, graph=GRAPH)
    elif what == "numbers":
        model = gf.GraphRegressor(scale="identity", **QUICK).fit(FEATURES, NUMBERS, graph=GRAPH)
    else:
        scale = np.column_stack([np.exp(NUMBERS / 30), NUMBERS])
        scales = ["log", "identity"]
        model = gf.SGFRegressor(n_layers=3, scale=scales, **QUICK).fit(FEATURES, scale, graph=GRAPH)
    return model, model.outputs_


EVERY = (
    "committee of a table", "one filter", "three classes", "labels", "numbers", "two numbers",
)  # fmt: skip


@pytest.fixture(scope="module", params=EVERY)
def fitted(request: pytest.FixtureRequest, table: Graph) -> tuple[Any, NDArray[np.float64]]:
    return fit(request.param, table)


def everything_shown(asked: Questioner, vertex: int) -> NDArray[np.float64]:
    around = asked.around(vertex)
    hidden = Hidden(
        around, np.zeros((2, asked.graph.n_features), bool), np.zeros((2, around.n_near), bool)
    )
    return asked.ask([hidden])[0]


def test_parts_add_up_to_what_is_answered(fitted: tuple[Any, NDArray[np.float64]]) -> None:
    model, outputs = fitted
    names = [str(name) for name in model.target_names_]
    several = not model.task_.one_class and len(names) > 1
    for vertex in (3, 40):
        name = model.graph_.vertex_names[vertex]
        for column, output in enumerate(names if several else [None]):
            why = model.explain(name, **({} if output is None else {"output": output}))
            answer = outputs[vertex, column] if several else outputs[vertex].max()
            if why.probability is not None and several:
                answer = max(answer, 1 - answer)
                assert {why.predicted, why.against} == {str(output), f"not {output}"}
            assert why.score == pytest.approx(answer, rel=1e-9)
            assert sum(value for _, value in why.parts) == pytest.approx(why.score, rel=1e-9)
            single = [reason for reason in why.reasons if reason.kind == "neighbour"]
            near = model.graph_.indices[slice(*model.graph_.indptr[vertex : vertex + 2])]
            assert {r.name for r in single} <= {model.graph_.vertex_names[u] for u in near}
            assert why.sentence.startswith(why.predicted)


def test_surrounding_that_holds_the_whole_graph_is_answered_as_the_graph(
    fitted: tuple[Any, NDArray[np.float64]],
) -> None:
    """Nothing is left out within two steps of a vertex that all others are joined to."""
    model, _ = fitted
    graph = model.graph_
    asked = Questioner(model, model.prepare(graph))
    reach = graph.adjacency + graph.adjacency @ graph.adjacency
    vertex = int(np.argmax(np.diff((reach > 0).indptr)))
    assert len(asked.around(vertex).vertices) == graph.n_vertices
    for answer in everything_shown(asked, vertex):
        np.testing.assert_allclose(answer, model.outputs_[vertex], rtol=1e-4, atol=1e-5)


def test_what_is_hidden_says_nothing(table: Graph) -> None:
    """Neither its columns, nor its label, nor what is behind it alone."""
    model, _ = fit("committee of a table", table)
    vertex, rows = 5, np.asarray(table.features)
    changed = rows.copy()
    changed[np.arange(90) != vertex] += 3.0
    answers = []
    for features in (rows, changed):
        graph = table.replace(features=features)
        asked = Questioner(model, model.prepare(graph))
        asked.average = rows.mean(axis=0).astype(np.float32)
        around = asked.around(vertex)
        hidden = Hidden(
            around, np.zeros((1, rows.shape[1]), bool), np.ones((1, around.n_near), bool)
        )
        answers.append(asked.ask([hidden])[0])
    np.testing.assert_allclose(*answers, atol=1e-6)


def test_neighbour_whose_label_decides_is_named() -> None:
    """Vertices in pairs of one label, which nothing else tells; half of each pair is known."""
    rng, n = np.random.default_rng(0), 600
    label = np.repeat(rng.random(n // 2) < 0.5, 2)
    pairs = np.arange(n).reshape(-1, 2)
    graph = Graph.from_edges(
        pairs, features=rng.normal(size=(n, 2)), labels=np.where(label, "yes", "no"),
        vertex_names=[f"v{i}" for i in range(n)],
    )  # fmt: skip
    model: Any = gf.SystemClassifier(model="only-told-trees", random_state=0)
    order = rng.permutation(n)
    split = gf.splits.Split(np.sort(order[:400]), np.sort(order[400:500]), np.sort(order[500:]))
    model.fit(graph=graph, split=split)
    known = set(split.train.tolist())
    sure = [v for v in split.test.tolist() if v ^ 1 in known][:5]
    for vertex in sure:
        assert model.predict()[vertex] == ("yes" if label[vertex] else "no")
        why = model.explain(f"v{vertex}")
        first = why.reasons[0]
        assert (first.kind, first.name) == ("neighbour", f"v{vertex ^ 1}")
        assert first.contribution > 0.1
        assert f"known: {why.predicted}" in first.detail
        assert f"v{vertex ^ 1}" in why.because(1)


def test_member_without_a_share_is_never_asked(table: Graph) -> None:
    model, outputs = fit("committee of a table", table)
    before = model.explain("a3")

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("asked")

    broken = dataclasses.replace(model.fitted_members_[0], weight=0.0)
    network = type("Refusing", (), {"__getattr__": refuse})()
    object.__setattr__(broken, "network", network)
    model = copy.copy(model)
    model.fitted_members_ = [broken, *model.fitted_members_]
    prepared = model.prepare(model.graph_)
    assert explain_vertices(model, prepared, outputs, [3], most=10) == [before]


def test_class_to_compare_with_is_the_only_other_one(table: Graph) -> None:
    model, outputs = fit("three classes", table)
    order = np.argsort(-outputs[7])
    names = [str(model.classes_[c]) for c in order]
    p, q = outputs[7, order[0]], outputs[7, order[2]]
    why = model.explain("v7", against=names[2])
    assert (why.predicted, why.against) == (names[0], names[2])
    assert why.score == pytest.approx(p / (p + q))
    assert model.explain("v7").against == ""
    with pytest.raises(GraphFilterError, match="another class"):
        model.explain("v7", against=names[0])
    with pytest.raises(GraphFilterError, match="unknown class"):
        model.explain("v7", against="neither")
    with pytest.raises(ConfigError, match="one class"):
        model.explain("v7", output="a")
    with pytest.raises(GraphFilterError, match=r"no vertex 'v7x'.*Did you mean 'v7'"):
        model.explain("v7x")


def test_explanation_of_another_graph_follows_its_predictions(table: Graph) -> None:
    model, _ = fit("one filter", table)
    new = make_csbm(n_vertices=30, frequency=0.3, mean_degree=6, n_features=4, seed=5)
    why = model.explain(3, graph=new)
    assert why.predicted == str(model.predict(graph=new)[3])
    assert why.score == pytest.approx(model.predict_proba(graph=new)[3].max())


def test_estimator_bound_to_a_graph_explains_its_vertices() -> None:
    model = gf.SGFClassifier(graph=GRAPH, **QUICK).fit(np.arange(70), GRAPH.labels)
    assert model.explain("v7").vertex == "v7"
