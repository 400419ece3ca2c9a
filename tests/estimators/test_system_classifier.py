from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from graphfilter import SGFClassifier, SystemClassifier
from graphfilter.data import make_csbm
from graphfilter.util.errors import ConfigError, GraphError


@pytest.fixture(scope="module")
def graph():
    return make_csbm(n_vertices=90, frequency=0.3, mean_degree=8, n_features=6)


def test_system_classifier_of_sgf_is_sgf_classifier(graph) -> None:
    named = SystemClassifier(model="sgf", max_epochs=15, random_state=0).fit(graph=graph)
    own = SGFClassifier(max_epochs=15, random_state=0).fit(graph=graph)
    np.testing.assert_array_equal(named.predict_proba(), own.predict_proba())


@pytest.mark.parametrize(
    "model",
    [
        "mlp",
        "appnp",
        "hop-mlp",
        *(pytest.param(m, marks=pytest.mark.research) for m in ("gcn", "linkx", "nlgnn")),
    ],
)
def test_system_classifier_takes_any_trained_system(graph, model: str) -> None:
    if model in ("gcn", "linkx"):
        pytest.importorskip("torch_geometric", exc_type=ImportError)
    y = np.array(["a", "b"], dtype=object)[graph.labels]
    y[::5] = None
    clf = SystemClassifier(model=model, max_epochs=15, n_members=2, random_state=0)
    clf.fit(graph.features, y, graph=graph)
    probabilities = clf.predict_proba()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert set(clf.predict()) <= {"a", "b"}
    assert clone(clf).get_params()["model"] == model


@pytest.mark.research
def test_system_classifier_built_on_its_graph_refuses_another(graph) -> None:
    clf = SystemClassifier(model="lanczosnet", max_epochs=3, random_state=0).fit(graph=graph)
    other = graph.subgraph(np.arange(50))
    with pytest.raises(GraphError, match="cannot predict another one"):
        clf.predict(other.features, graph=other)


@pytest.mark.research
def test_system_classifier_bound_to_a_graph_is_cross_validated(graph) -> None:
    clf = SystemClassifier(model="nlgnn", graph=graph, max_epochs=30, random_state=0)
    assert cross_val_score(clf, np.arange(90), graph.labels, cv=2).mean() > 0.5


@pytest.mark.research
def test_system_classifier_of_geom_gcn_is_copied_and_pickled(graph) -> None:
    clf = SystemClassifier(model="geom-gcn", max_epochs=2, random_state=0).fit(graph=graph)
    for other in (copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
        np.testing.assert_array_equal(other.predict_proba(), clf.predict_proba())


@pytest.mark.research
def test_system_classifier_explains_what_it_cannot_do(graph, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown system 'gnc'"):
        SystemClassifier(model="gnc").fit(graph=graph)
    with pytest.raises(ConfigError, match="not trained"):
        SystemClassifier(model="label-propagation").fit(graph=graph)
    fitted = SystemClassifier(model="lanczosnet", max_epochs=3, random_state=0).fit(graph=graph)
    with pytest.raises(ConfigError, match="cannot be saved"):
        fitted.save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.research
def test_system_classifier_forgets_the_filter_of_another_system(graph) -> None:
    clf = SystemClassifier(model="sgf", max_epochs=1, random_state=0).fit(graph=graph)
    assert hasattr(clf, "filter_")
    assert not hasattr(clf.set_params(model="gcn").fit(graph=graph), "filter_")


def test_an_earlier_fit_to_start_from_is_taken_with_a_warning(graph) -> None:
    first = SystemClassifier(model="mlp", max_epochs=3, random_state=0).fit(graph=graph)
    again = SystemClassifier(model="mlp", max_epochs=3, random_state=0)
    with pytest.warns(DeprecationWarning, match="begins anew"):
        again.fit(graph=graph, start_from=first)
    np.testing.assert_array_equal(first.predict_proba(), again.predict_proba())
