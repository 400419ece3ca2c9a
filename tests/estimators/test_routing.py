"""Preprocessing and graph cross-validated together, on plain arrays: by metadata routing."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, KFold, TunedThresholdClassifierCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import graphfilter as gf
from graphfilter.data import make_bipartite
from graphfilter.util.errors import ConfigError, GraphError

N = 60
GRAPH = make_bipartite(n_side=N // 2, probability=0.3, n_features=4, seed=0)
X = np.asarray(GRAPH.features)
LABELS = np.asarray(GRAPH.labels)
VERTICES = np.arange(N)
FOLDS = KFold(3, shuffle=True, random_state=0)


def quick(**parameters) -> gf.SGFClassifier:
    return gf.SGFClassifier(**{"max_epochs": 5, "n_layers": 3, "random_state": 0, **parameters})


def pipeline(last=None):
    return make_pipeline(StandardScaler(), quick(graph=GRAPH) if last is None else last)


@pytest.fixture
def routing() -> Generator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def by_hand() -> list[float]:
    scores = []
    for train, test in FOLDS.split(X):
        scaled = StandardScaler().fit(X[train]).transform(X).astype(np.float32)
        alone = quick().fit(scaled[train], LABELS[train], graph=GRAPH.subgraph(train).edges)
        both = np.concatenate([test, train])
        answers = alone.predict(scaled[both], graph=GRAPH.subgraph(both).edges)
        scores.append(float((answers[: len(test)] == LABELS[test]).mean()))
    return scores


@pytest.mark.usefixtures("routing")
def test_routed_vertices_say_which_rows_are_which() -> None:
    scores = cross_val_score(
        pipeline(), X, LABELS, cv=FOLDS, params={"vertices": VERTICES}, error_score="raise"
    )
    np.testing.assert_allclose(scores, by_hand())
    moved = np.random.default_rng(0).permutation(N)
    folds = [(np.argsort(moved)[a], np.argsort(moved)[b]) for a, b in FOLDS.split(X)]
    again = cross_val_score(
        pipeline(), X[moved], LABELS[moved], cv=folds, params={"vertices": moved},
        error_score="raise",
    )  # fmt: skip
    np.testing.assert_allclose(again, scores)


def test_a_graph_given_to_a_search_is_that_of_the_bound_estimator() -> None:
    """Each fold is fitted on its part of it; rows say which by index, or by routed vertices."""
    pd = pytest.importorskip("pandas")
    names = [f"v{i}" for i in range(N)]
    frame, graph = pd.DataFrame(X, index=names), GRAPH.replace(vertex_names=names)
    expected = cross_val_score(quick(graph=graph), frame, LABELS, cv=FOLDS, error_score="raise")
    search = GridSearchCV(quick(), {"n_layers": [3]}, cv=FOLDS, error_score="raise")
    found = [search.fit(frame, LABELS, graph=graph).cv_results_["mean_test_score"][0]]
    assert search.predict(frame.iloc[:5]).shape == (5,)
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(X, LABELS, graph=graph, vertices=VERTICES)
        found.append(search.cv_results_["mean_test_score"][0])
        tuned = TunedThresholdClassifierCV(quick(), cv=2).fit(frame, LABELS, graph=graph)
        assert set(tuned.predict(frame)) <= {0, 1}
    np.testing.assert_allclose(found, expected.mean())


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_an_estimator_bound_to_a_frame_of_edges_takes_the_rows_that_it_names(kind: str) -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    names = np.array([f"v{i}" for i in range(N)])
    ends = {"from": names[GRAPH.edges[:, 0]], "to": names[GRAPH.edges[:, 1]]}
    frame = pd.DataFrame(X, index=names, columns=list("abcd"))
    edges = pd.DataFrame(ends)
    if kind == "polars":
        frame, edges = pl.DataFrame(frame.reset_index(names="id")), pl.DataFrame(ends)
    expected = cross_val_score(
        quick(graph=GRAPH.replace(vertex_names=names)), pd.DataFrame(X, index=names), LABELS,
        cv=FOLDS, error_score="raise",
    )  # fmt: skip
    bound = quick(graph=edges)
    scores = cross_val_score(bound, frame, LABELS, cv=FOLDS, error_score="raise")
    np.testing.assert_allclose(scores, expected)
    whole = quick().fit(X, LABELS, graph=GRAPH.edges).predict_proba()
    bound.fit(frame, LABELS)
    np.testing.assert_array_equal(bound.predict_proba(frame[3:9]), whole[3:9])
    assert bound.feature_names_in_.tolist() == list("abcd")


@pytest.mark.usefixtures("routing")
def test_a_search_routes_vertices_too() -> None:
    grid = {"sgfclassifier__n_layers": [1, 3]}
    search = GridSearchCV(pipeline(), grid, cv=2, error_score="raise")
    search.fit(X, LABELS, vertices=VERTICES)
    assert search.predict(X).shape == (N,)  # All vertices, in order.
    regressor = gf.SGFRegressor(graph=GRAPH, max_epochs=3, random_state=0)
    scores = cross_val_score(
        pipeline(regressor), X, X[:, 0], params={"vertices": VERTICES}, error_score="raise"
    )
    assert np.isfinite(scores).all()


def test_the_lines_to_add_are_in_the_error() -> None:
    with pytest.raises(GraphError) as caught:
        cross_val_score(pipeline(), X, LABELS, cv=3, error_score="raise")
    said = str(caught.value)
    assert "sklearn.set_config(enable_metadata_routing=True)" in said
    assert 'params={"vertices": np.arange(60)}' in said
    assert 'sklearn.set_config(transform_output="pandas")' in said
    named = GRAPH.replace(vertex_names=[f"v{i}" for i in range(N)])
    with pytest.raises(GraphError, match=r"pd\.DataFrame\(X, index=g\.vertex_names\)"):
        quick(graph=named).fit(X[:30], LABELS[:30])


@pytest.mark.usefixtures("routing")
def test_scores_that_are_not_routed_say_how_to_name_rows() -> None:
    """scikit-learn passes metadata to fit and score, not to the predictions that scorers ask."""
    with pytest.raises(GraphError, match=r"its 20 rows are; ndarray does not\. Name them"):
        cross_val_score(
            pipeline(), X, LABELS, cv=FOLDS, params={"vertices": VERTICES}, scoring="roc_auc",
            error_score="raise",
        )  # fmt: skip


def test_the_same_lines_on_a_frame_give_any_score() -> None:
    pd = pytest.importorskip("pandas")
    with sklearn.config_context(transform_output="pandas"):
        scores = cross_val_score(pipeline(), pd.DataFrame(X), LABELS, cv=FOLDS, error_score="raise")
        areas = cross_val_score(
            pipeline(), pd.DataFrame(X), LABELS, cv=FOLDS, scoring="roc_auc", error_score="raise"
        )
        unshuffled = cross_val_score(
            pipeline(), pd.DataFrame(X), LABELS, cv=KFold(3), error_score="raise"
        )
    np.testing.assert_allclose(scores, by_hand())
    assert np.isfinite(areas).all()
    assert np.isfinite(unshuffled).all()  # Rows 0 to 39 of the last fold do name vertices.


def test_row_numbers_of_an_array_are_not_taken_for_vertices() -> None:
    """An array that went through ``set_output`` has an index that counts the rows of a fold."""
    pytest.importorskip("pandas")
    with (
        sklearn.config_context(transform_output="pandas"),
        pytest.raises(GraphError, match="counts its 20 rows from 0"),
    ):
        cross_val_score(pipeline(), X, LABELS, cv=FOLDS, error_score="raise")


def test_vertices_that_say_nothing_are_refused() -> None:
    with pytest.raises(ConfigError, match="which vertices of a Graph"):
        quick().fit(X, LABELS, graph=GRAPH.edges, vertices=VERTICES)
    bound = quick(graph=GRAPH)
    with pytest.raises(GraphError, match=r"one vertex per row of X \(60\); got 59"):
        bound.fit(X, LABELS, vertices=VERTICES[:-1])
    with pytest.raises(GraphError, match="vertices must lie in"):
        bound.fit(X, LABELS, vertices=VERTICES + 1)
    with pytest.raises(ConfigError, match="X must then hold their features"):
        bound.fit(VERTICES, LABELS, vertices=VERTICES)
    bound.fit(X, LABELS, vertices=VERTICES)
    with pytest.raises(ConfigError, match="X must then hold their features"):
        bound.predict(vertices=VERTICES[:5])
    np.testing.assert_array_equal(
        bound.predict_proba(X[:5], vertices=VERTICES[:5]), bound.predict_proba()[:5]
    )
