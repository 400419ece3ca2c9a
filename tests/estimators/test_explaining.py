"""clf.explain: ids, classes and other graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphfilter import GraphClassifier, SGFClassifier, SystemClassifier
from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.util.errors import GraphFilterError

QUICK: Any = {"max_epochs": 20, "random_state": 0}


@pytest.fixture(scope="module")
def graph() -> Graph:
    made = make_csbm(n_vertices=60, frequency=0.3, mean_degree=6, n_features=4, seed=2)
    return made.replace(vertex_names=[f"v{i}" for i in range(60)])


@pytest.fixture(scope="module")
def fitted(graph: Graph) -> SGFClassifier:
    return SGFClassifier(n_members=2, **QUICK).fit(graph=graph)


def test_explanation_of_one_member_is_the_log_odds(graph: Graph) -> None:
    clf = SGFClassifier(**QUICK).fit(graph=graph)
    why = clf.explain("v7")
    p = clf.predict_proba()[7]
    assert why.score == pytest.approx(np.log(p.max() / p.min()), abs=1e-4)
    assert why.vertex == "v7"
    assert why.probability == p.max()
    assert why.predicted == str(clf.predict()[7])


def test_explanation_adds_up_and_names_neighbours(fitted: SGFClassifier, graph: Graph) -> None:
    why = fitted.explain("v7", most=60)
    parts = [value for _, value in why.parts]
    assert sum(parts) == pytest.approx(why.score)
    near = {f"v{u}" for u in graph.indices[graph.indptr[7] : graph.indptr[8]]}
    assert {s.vertex for s in why.contributors if s.steps == "1"} == near
    assert "v7" not in {s.vertex for s in why.contributors}
    sums = {s.name: s.contribution for s in why.steps}
    for step in ("1", "2"):
        said = sum(s.contribution for s in why.contributors if s.steps == step)
        assert said == pytest.approx(sums[step], abs=1e-6)
    assert sum(f.own for f in why.features) == pytest.approx(sums["own"], abs=1e-5)


def test_explanation_of_a_new_graph_follows_its_predictions(fitted: SGFClassifier) -> None:
    new = make_csbm(n_vertices=30, frequency=0.3, mean_degree=6, n_features=4, seed=5)
    why = fitted.explain(3, graph=new)
    assert why.predicted == str(fitted.predict(graph=new)[3])


def test_explanation_against_a_class_turns_round(fitted: SGFClassifier) -> None:
    why = fitted.explain("v7")
    assert fitted.explain("v7", against=why.against) == why
    with pytest.raises(GraphFilterError, match="another class"):
        fitted.explain("v7", against=why.predicted)
    with pytest.raises(GraphFilterError, match="unknown class"):
        fitted.explain("v7", against="neither")


def test_unknown_vertex_is_named_with_the_nearest(fitted: SGFClassifier) -> None:
    with pytest.raises(GraphFilterError, match=r"no vertex 'v7x'.*Did you mean 'v7'"):
        fitted.explain("v7x")


@pytest.mark.research
def test_network_that_is_no_linear_filter_is_explained_by_distance(graph: Graph) -> None:
    clf = SystemClassifier(model="gcn", **QUICK).fit(graph=graph)
    why = clf.explain("v7")
    assert why.exact_share == 0
    assert not why.contributors
    assert not why.features
    p = clf.predict_proba()[7]
    assert why.score == pytest.approx(np.log(p.max() / p.min()), abs=1e-4)


def test_estimator_bound_to_a_graph_explains_its_vertices(graph: Graph) -> None:
    clf = SGFClassifier(graph=graph, **QUICK).fit(np.arange(60), graph.labels)
    assert clf.explain("v7").vertex == "v7"


def test_explanation_of_a_committee_is_its_log_odds(graph: Graph) -> None:
    clf = GraphClassifier(**QUICK).fit(graph=graph)
    why = clf.explain("v7", most=3)
    p = clf.predict_proba()[7]
    assert why.score == pytest.approx(np.log(p.max() / p.min()), abs=1e-3)
    assert sum(value for _, value in why.parts) == pytest.approx(why.score)
    assert 0 <= why.exact_share <= 1
