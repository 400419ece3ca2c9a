"""DataFrames given to estimators, and pipelines around bound ones."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import graphfilter as gf
from graphfilter.data import make_bipartite
from graphfilter.util.errors import DirectionsDroppedWarning, GraphError

pd = pytest.importorskip("pandas")

N = 60
GRAPH = make_bipartite(n_side=N // 2, probability=0.3, n_features=4, seed=0)
NAMES = [f"v{i}" for i in range(N)]
TABLE = pd.DataFrame(np.asarray(GRAPH.features), index=NAMES, columns=list("abcd"))
LABELS = np.asarray(GRAPH.labels)


def quick(**parameters) -> gf.SGFClassifier:
    return gf.SGFClassifier(**{"max_epochs": 5, "n_layers": 3, "random_state": 0, **parameters})


def test_a_frame_of_edges_is_read_as_a_table() -> None:
    ends = GRAPH.edges
    edges = pd.DataFrame({
        "day": "2024-01-01",
        "to": [NAMES[v] for v in ends[:, 1]],
        "from": [NAMES[u] for u in ends[:, 0]],
    })  # fmt: skip
    expected = quick().fit(TABLE.to_numpy(), LABELS, graph=ends)
    fitted = quick().fit(TABLE, LABELS, graph=edges)
    np.testing.assert_array_equal(fitted.predict_proba(), expected.predict_proba())
    numbers = pd.DataFrame({"source": ends[:, 0], "target": ends[:, 1]})
    plain = quick().fit(TABLE.to_numpy(), LABELS, graph=numbers)
    np.testing.assert_array_equal(plain.predict_proba(), expected.predict_proba())


def test_edges_that_name_no_row_are_refused_with_the_remedy() -> None:
    edges = pd.DataFrame({"from": ["v0"], "to": ["v1"]})
    for table in (TABLE.reset_index(drop=True), TABLE.rename(index={"v1": "w1"})):
        with pytest.raises(GraphError, match=r"'v[01]' is no row of X.*X\.set_index") as caught:
            quick().fit(table, LABELS, graph=edges)
        assert "--" not in str(caught.value)


def test_preprocessing_and_graph_are_cross_validated_together() -> None:
    """Each fold scales and learns by its own rows, and predicts the others beside them."""
    bound = GRAPH.replace(vertex_names=NAMES)
    scaler = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(scaler, quick(graph=bound))
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(pipeline, TABLE, LABELS, cv=folds, error_score="raise")
    expected = []
    for train, test in folds.split(TABLE):
        scaled = StandardScaler().fit(TABLE.iloc[train]).transform(TABLE)
        alone = quick().fit(
            scaled[train].astype(np.float32), LABELS[train], graph=GRAPH.subgraph(train).edges
        )
        both = np.concatenate([test, train])
        answers = alone.predict(scaled[both].astype(np.float32), graph=GRAPH.subgraph(both).edges)
        expected.append(float((answers[: len(test)] == LABELS[test]).mean()))
    np.testing.assert_allclose(scores, expected)


def test_a_bound_estimator_takes_rows_of_all_vertices_in_order_or_by_name() -> None:
    bound = quick(graph=GRAPH.replace(vertex_names=NAMES))
    in_order = bound.fit(TABLE.to_numpy(), LABELS).predict_proba(TABLE.to_numpy())
    moved = TABLE.iloc[::-1]
    by_name = bound.fit(TABLE, LABELS).predict_proba(moved)
    np.testing.assert_allclose(by_name[::-1], in_order, atol=1e-6)
    numbers = bound.fit(np.arange(N), LABELS)
    assert numbers.predict_proba(np.arange(5)).shape == (5, 2)


def test_other_arguments_are_refused_by_the_name_of_the_class() -> None:
    with pytest.raises(TypeError, match=r"SGFRegressor\.fit\(\) takes no edges; it takes X, y"):
        gf.SGFRegressor().fit(TABLE.to_numpy(), LABELS, edges=GRAPH.edges)


def test_importances_are_those_of_shuffled_columns_by_name() -> None:
    """Of a table with words and gaps one per column; the same after pickling."""
    rng = np.random.default_rng(0)
    good, word = rng.normal(size=N), rng.choice(["red", "blue"], N)
    labels = np.where(good + (word == "red") > 0.5, "yes", "no")
    gaps = np.where(rng.random(N) < 0.3, np.nan, rng.normal(size=N))
    table = pd.DataFrame({"noise": rng.normal(size=N), "good": good, "word": word, "gap": gaps})
    none = np.empty((0, 2), int)
    model = quick(max_epochs=60).fit(table, labels, graph=none)
    found = dict(zip(model.feature_names_in_, model.feature_importances_, strict=True))
    assert min(found["good"], found["word"]) > max(found["noise"], found["gap"])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
    model.fit(table[["noise"]], good > 0, graph=none)
    assert model.feature_importances_.shape == (1,)
    numbers = gf.SGFRegressor(max_epochs=60, random_state=0)
    numbers.fit(np.column_stack([gaps > 0, good]), good, graph=none)
    importances = numbers.feature_importances_
    assert importances[1] > 0.5 > importances[0]
    assert not hasattr(quick(), "feature_importances_")


def test_directions_that_are_dropped_are_warned_of() -> None:
    arcs = nx.DiGraph([(0, 1), (1, 2)])
    lopsided = sp.csr_array(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    for make in (gf.Graph.of, gf.Graph.from_networkx):
        with pytest.warns(DirectionsDroppedWarning, match=r"DiGraph's.*directed=True"):
            make(arcs)
    for make in (gf.Graph.of, gf.Graph.from_scipy):
        with pytest.warns(DirectionsDroppedWarning, match="not symmetric"):
            make(lopsided)
    with pytest.warns(DirectionsDroppedWarning) as caught:
        quick(max_epochs=1).fit(np.eye(3), [0, 1, 0], graph=lopsided)
    assert len(caught) == 1


@pytest.mark.filterwarnings("error")
def test_directions_that_are_kept_or_not_there_are_no_warning() -> None:
    arcs = nx.DiGraph([(0, 1), (1, 2)])
    gf.Graph.of(arcs, directed=True)
    gf.Graph.of(arcs, directed=False)
    gf.Graph.of(nx.Graph(arcs))
    symmetric = GRAPH.adjacency
    gf.Graph.from_scipy(symmetric)
    gf.Graph.from_scipy(sp.triu(symmetric))
