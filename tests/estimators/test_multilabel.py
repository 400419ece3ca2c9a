"""Several labels per vertex: a table of 0 and 1 in, probabilities of each label out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import accuracy_score

from graphfilter import Graph, SGFClassifier, SystemClassifier
from graphfilter.data import make_csbm
from graphfilter.util.errors import ConfigError, GraphError


@pytest.fixture(scope="module")
def graph() -> Graph:
    return make_csbm(n_vertices=150, mean_degree=5, n_features=4, seed=0)


@pytest.fixture(scope="module")
def labels(graph: Graph) -> np.ndarray:
    """Return the class, its opposite, and the sign of a feature."""
    first = np.asarray(graph.labels)
    return np.stack([first, 1 - first, np.asarray(graph.features)[:, 0] > 0], axis=1).astype(int)


def quick(**parameters) -> SGFClassifier:
    return SGFClassifier(
        **{"max_epochs": 80, "n_layers": 4, "random_state": 0, "learning_rate": 0.01, **parameters}
    )


@pytest.fixture(scope="module")
def fitted(graph: Graph, labels: np.ndarray) -> SGFClassifier:
    return quick().fit(graph.features, labels, graph=graph)


def test_labels_have_probabilities_of_their_own(fitted: SGFClassifier, labels: np.ndarray) -> None:
    probabilities, said = fitted.predict_proba(), fitted.predict()
    assert probabilities.shape == said.shape == labels.shape
    np.testing.assert_array_equal(said, probabilities > 0.5)
    assert (said == labels).mean() > 0.8
    # Class and opposite exclude each other; the third does not depend on them.
    np.testing.assert_allclose(probabilities[:, 0] + probabilities[:, 1], 1.0, atol=0.3)
    assert probabilities.sum(axis=1).std() > 0.1


def test_score_is_the_share_of_vertices_that_are_all_right(
    fitted: SGFClassifier, labels: np.ndarray
) -> None:
    assert fitted.score(None, labels) == pytest.approx(accuracy_score(labels, fitted.predict()))


@pytest.mark.parametrize("form", ["floats", "lists", "sparse", "booleans"])
def test_labels_are_taken_in_any_form(
    graph: Graph, labels: np.ndarray, fitted: SGFClassifier, form: str
) -> None:
    given = {
        "floats": labels.astype(float),
        "lists": labels.tolist(),
        "sparse": sp.csr_array(labels),
        "booleans": labels.astype(bool),
    }[form]
    other = quick().fit(graph.features, given, graph=graph)
    np.testing.assert_array_equal(other.predict_proba(), fitted.predict_proba())


@pytest.mark.parametrize("unknown", [np.nan, -1.0])
def test_vertices_without_labels_are_in_no_part(
    graph: Graph, labels: np.ndarray, unknown: float
) -> None:
    partly = labels.astype(float)
    partly[100:] = unknown
    clf = quick(max_epochs=2).fit(graph.features, partly, graph=graph)
    assert set(clf.split_.train) | set(clf.split_.val) == set(range(100))
    assert clf.score(None, partly) == pytest.approx(clf.score(np.asarray(graph.features), partly))


def test_every_system_takes_labels(graph: Graph, labels: np.ndarray) -> None:
    clf = SystemClassifier(model="appnp", max_epochs=3, random_state=0)
    assert clf.fit(graph.features, labels, graph=graph).predict().shape == (150, 3)


def test_labels_monitor_their_own_scores(graph: Graph, labels: np.ndarray) -> None:
    clf = quick(max_epochs=3, monitor="average_precision").fit(graph.features, labels, graph=graph)
    assert "val_average_precision" in clf.history_
    with pytest.raises(ConfigError, match="must be one of micro_f1, loss"):
        quick(monitor="roc_auc").fit(graph.features, labels, graph=graph)


def test_labels_refuse_what_is_of_classes(
    graph: Graph, labels: np.ndarray, fitted: SGFClassifier
) -> None:
    with pytest.raises(ConfigError, match="class_weight must be None"):
        quick(class_weight="balanced").fit(graph.features, labels, graph=graph)
    with pytest.raises(GraphError, match="by 0 and 1; got 2"):
        quick().fit(graph.features, labels + 1, graph=graph)
    with pytest.raises(GraphError, match="table of 0 and 1"):
        fitted.score(None, labels[:, 0])
