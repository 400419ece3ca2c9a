"""Rows and vertices, columns and features: matched by name, or refused; never by luck."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.model_selection import KFold, cross_val_score

from graphfilter import Graph, SGFClassifier, SGFRegressor, Split
from graphfilter.data import make_bipartite
from graphfilter.util.errors import ConfigError, GraphError, NoGraphWarning

pd = pytest.importorskip("pandas")

N = 80
LABELS = np.array(["left", "right"], dtype=object)


def quick(**parameters) -> SGFClassifier:
    return SGFClassifier(**{"max_epochs": 30, "n_layers": 4, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def graph() -> Graph:
    made = make_bipartite(n_side=N // 2, probability=0.2, n_features=5, seed=0)
    return made.replace(vertex_names=[f"v{i}" for i in range(N)])


@pytest.fixture(scope="module")
def table(graph: Graph):
    columns = ["a", "b", "c", "d", "e"]
    return pd.DataFrame(np.asarray(graph.features), index=graph.vertex_names, columns=columns)


@pytest.fixture(scope="module")
def shuffled() -> np.ndarray:
    return np.random.default_rng(1).permutation(N)


def named(graph: Graph, order: np.ndarray) -> nx.Graph:
    """Return the networkx graph whose nodes were added in this order."""
    names = graph.vertex_names
    assert names is not None
    made = nx.Graph()
    made.add_nodes_from(names[i] for i in order)
    made.add_edges_from((names[u], names[v]) for u, v in graph.edges.tolist())
    return made


def test_rows_of_a_frame_are_matched_with_nodes_by_name(graph: Graph, table, shuffled) -> None:
    y = LABELS[graph.labels]
    plain = quick().fit(table.to_numpy(), y, graph=graph.edges)
    matched = quick().fit(table, y, graph=named(graph, shuffled))
    np.testing.assert_array_equal(matched.graph_.edges, plain.graph_.edges)
    np.testing.assert_array_equal(matched.predict_proba(), plain.predict_proba())
    assert matched.graph_.vertex_names == graph.vertex_names


def test_prediction_is_in_the_order_of_the_rows_given(graph: Graph, table, shuffled) -> None:
    fitted = quick().fit(table, LABELS[graph.labels], graph=named(graph, shuffled))
    expected = fitted.predict_proba()[shuffled]
    moved = table.iloc[shuffled]
    for prediction in (
        fitted.predict_proba(moved),
        fitted.predict_proba(moved, graph=named(graph, np.arange(N))),
    ):
        np.testing.assert_allclose(prediction, expected, atol=1e-6)


def test_names_of_the_rows_are_kept_beside_plain_edges(graph: Graph, table, shuffled) -> None:
    fitted = quick().fit(table, LABELS[graph.labels], graph=graph.edges)
    moved = fitted.predict_proba(table.iloc[shuffled])
    np.testing.assert_allclose(moved, fitted.predict_proba()[shuffled], atol=1e-6)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda t: t.reset_index(drop=True), "index of X must name the vertices"),
        (lambda t: t.rename({"v3": "w3"}), "the graph; 'w3' is none"),
        (lambda t: t.rename({"v3": "v4"}), "got 'v4' twice"),
        (lambda t: t.iloc[[*range(N), 0]], "must have 81 vertices"),
    ],
)
def test_rows_that_do_not_name_the_nodes_are_refused(graph: Graph, table, spoil, message) -> None:
    spoilt = spoil(table)
    y = np.resize(LABELS[graph.labels], len(spoilt))
    with pytest.raises(GraphError, match=message):
        quick().fit(spoilt, y, graph=named(graph, np.arange(N)))


def test_rows_of_the_fitted_frame_are_answered_as_in_the_fit(graph: Graph, table) -> None:
    """By index; with other features, as the whole graph with those features."""
    fitted = quick().fit(table, LABELS[graph.labels], graph=graph.edges)
    expected = fitted.predict_proba()
    np.testing.assert_array_equal(fitted.predict_proba(table.iloc[[7, 2]]), expected[[7, 2]])
    rows = table.iloc[[7, 2]].reset_index(drop=True)
    np.testing.assert_array_equal(fitted.predict_proba(rows, vertices=[7, 2]), expected[[7, 2]])
    other = table.copy()
    other.iloc[3] += 5
    changed = fitted.predict_proba(other.iloc[[3, 4]])
    np.testing.assert_allclose(changed, fitted.predict_proba(other)[[3, 4]], atol=1e-6)
    assert abs(changed[0] - expected[3]).max() > 1e-3
    y = pd.Series(LABELS[graph.labels], index=table.index)
    right = fitted.predict()[40:] == y.iloc[40:]
    assert fitted.score(table.iloc[40:], y.iloc[40:]) == pytest.approx(right.mean())
    with pytest.raises(GraphError, match="or rows of the DataFrame that was fitted"):
        quick(max_epochs=1).fit(graph=graph).predict(table.to_numpy()[:5])
    numbered = quick().fit(table.reset_index(drop=True), LABELS[graph.labels], graph=graph.edges)
    with pytest.raises(GraphError, match="counts its 5 rows from 0"):
        numbered.predict(table.iloc[10:15].reset_index(drop=True))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_answers_come_in_frames_with_the_names_where_that_is_said(graph, table, kind: str) -> None:
    pytest.importorskip(kind)
    fitted = quick(max_epochs=3).fit(table, LABELS[graph.labels], graph=graph.edges)
    plain = fitted.predict_proba(), fitted.predict(), fitted.transform()
    fitted.set_output(predict=kind, transform=kind)  # pyright: ignore[reportArgumentType]
    framed: tuple[Any, ...] = (fitted.predict_proba(), fitted.predict(), fitted.transform())
    for values, frame in zip(plain, framed, strict=True):
        if kind == "polars":
            assert frame["id"].to_list() == list(graph.vertex_names)
            frame = frame.drop("id")
        else:
            assert frame.index.tolist() == list(graph.vertex_names)
        np.testing.assert_array_equal(frame.to_numpy().reshape(values.shape), values)
    assert list(framed[0].columns)[-2:] == ["left", "right"]


def test_rows_without_names_beside_numbers_out_of_order_are_refused(graph: Graph, shuffled) -> None:
    numbers = nx.Graph()
    numbers.add_nodes_from(shuffled.tolist())
    numbers.add_edges_from(graph.edges.tolist())
    with pytest.raises(GraphError, match=r"Graph.from_networkx\(graph\)"):
        quick().fit(graph.features, graph.labels, graph=numbers)
    order = list(numbers.nodes)
    features = np.asarray(graph.features)[order]
    labels = np.asarray(graph.labels)[order]
    quick(max_epochs=2).fit(features, labels, graph=Graph.from_networkx(numbers))


def test_index_that_numbers_the_rows_in_another_order_is_refused(graph: Graph, shuffled) -> None:
    moved = pd.DataFrame(np.asarray(graph.features), index=shuffled)
    with pytest.raises(GraphError, match="sort_index"):
        quick().fit(moved, graph.labels, graph=graph.edges)


def test_frame_without_an_index_is_refused_beside_named_nodes(graph: Graph, table) -> None:
    import pyarrow as pa

    arrow = pa.Table.from_pandas(table, preserve_index=False)
    with pytest.raises((GraphError, ValueError), match="has no index"):
        quick().fit(arrow, LABELS[graph.labels], graph=named(graph, np.arange(N)))


def test_labels_are_aligned_with_the_rows_by_their_index(graph: Graph, table, shuffled) -> None:
    y = pd.Series(LABELS[graph.labels], index=table.index)
    expected = quick().fit(table, y, graph=graph.edges)
    for X, held in ((table, graph.edges), (None, graph)):
        fitted = quick().fit(X, y.iloc[shuffled], graph=held)
        np.testing.assert_array_equal(fitted.predict_proba(), expected.predict_proba())
    assert expected.score(table, y.iloc[shuffled]) == expected.score(table, y)
    some = quick().fit(table, y.iloc[shuffled[:60]], graph=graph.edges)
    unknown = y.where(y.index.isin(y.index[shuffled[:60]]), None)
    by_hand = quick().fit(table, unknown, graph=graph.edges)
    np.testing.assert_array_equal(some.predict_proba(), by_hand.predict_proba())


def test_split_is_refused_where_rows_and_vertices_are_numbered_differently(
    graph: Graph, table, shuffled
) -> None:
    split = Split(np.arange(40), np.arange(40, 60), np.arange(60, 80))
    labels = np.asarray(graph.labels)[shuffled]
    with pytest.raises(GraphError, match="a split numbers vertices"):
        quick().fit(table.iloc[shuffled], labels, graph=graph, split=split)


def test_loaded_model_keeps_the_names_and_order_of_features(
    graph: Graph, table, tmp_path: Path
) -> None:
    fitted = quick().fit(table, LABELS[graph.labels], graph=graph.edges)
    fitted.save(tmp_path)
    loaded = SGFClassifier.load(tmp_path)
    assert loaded.feature_names_in_.tolist() == list("abcde")
    np.testing.assert_allclose(
        loaded.predict_proba(table, graph=graph.edges), fitted.predict_proba(), atol=1e-6
    )
    np.testing.assert_array_equal(
        loaded.predict_proba(table[list("edcba")], graph=graph.edges),
        loaded.predict_proba(table, graph=graph.edges),
    )
    for columns in (list("abcd"), list("abcdx")):
        with pytest.raises(ValueError, match="feature names"):
            loaded.predict(table.reindex(columns=columns, fill_value=0.0), graph=graph.edges)
    with pytest.warns(UserWarning, match="valid feature names"):
        loaded.predict(table.to_numpy(), graph=graph.edges)


def test_features_of_a_graph_keep_their_names(graph: Graph, tmp_path: Path) -> None:
    names = tuple("abcde")
    fitted = quick(max_epochs=2).fit(graph=graph.replace(feature_names=names))
    fitted.save(tmp_path)
    loaded = SGFClassifier.load(tmp_path)
    loaded.predict(graph=graph.replace(feature_names=names))
    turned = graph.replace(features=np.asarray(graph.features)[:, ::-1], feature_names=names[::-1])
    np.testing.assert_array_equal(loaded.predict_proba(graph=turned), fitted.predict_proba())
    with pytest.raises(GraphError, match="must be those of the fit; see 'x'"):
        loaded.predict(graph=graph.replace(feature_names=tuple("abcdx")))
    loaded.fit(graph=graph)
    assert not hasattr(loaded, "feature_names_in_")


def test_fit_without_a_graph_says_so(graph: Graph) -> None:
    with pytest.warns(NoGraphWarning, match="given no graph"):
        quick(max_epochs=2).fit(graph.features, graph.labels)


@pytest.mark.filterwarnings("error")
def test_fit_with_an_empty_list_of_edges_is_meant(graph: Graph) -> None:
    fitted = quick(max_epochs=2).fit(graph.features, graph.labels, graph=np.empty((0, 2), int))
    assert not fitted.has_edges_


def test_split_may_be_its_three_parts(graph: Graph) -> None:
    parts = (np.arange(40), np.arange(40, 60), [])
    fitted = quick(max_epochs=2).fit(graph=graph, split=parts)
    np.testing.assert_array_equal(fitted.split_.train, np.arange(40))
    thirds = torch.arange(N) % 3
    masks = (thirds == 0, thirds == 1, thirds == 2)
    np.testing.assert_array_equal(
        quick(max_epochs=2).fit(graph=graph, split=masks).split_.val, np.arange(1, N, 3)
    )
    for wrong in (parts[:2], "random", {"train": [1]}):
        with pytest.raises(ConfigError, match=r"\(train, val, test\)"):
            quick().fit(graph=graph, split=wrong)  # pyright: ignore[reportArgumentType]


def test_pyg_data_brings_its_features_and_labels(graph: Graph) -> None:
    data = pytest.importorskip("torch_geometric.data").Data(
        x=torch.tensor(np.asarray(graph.features)),
        y=torch.tensor(np.asarray(graph.labels)),
        edge_index=torch.tensor(graph.edges.T.copy()).long(),
    )
    fitted = quick().fit(graph=data)
    np.testing.assert_array_equal(fitted.predict(), quick().fit(graph=graph).predict())
    np.testing.assert_allclose(fitted.predict_proba(graph=data), fitted.predict_proba(), atol=1e-6)
    assert fitted.score(graph=data) == fitted.score()
    for given in (data, graph, nx.path_graph(3)):
        with pytest.raises(GraphError, match="Pass it as graph="):
            quick().fit(given)
        with pytest.raises(GraphError, match="Pass it as graph="):
            fitted.predict(given)


def test_labels_missing_as_nan_are_cross_validated(graph: Graph) -> None:
    y = np.asarray(graph.labels, dtype=float)
    y[::5] = np.nan
    folds = KFold(3, shuffle=True, random_state=0)
    found = cross_val_score(quick(graph=graph), np.arange(N), y, cv=folds)
    expected = cross_val_score(quick(graph=graph), np.arange(N), np.nan_to_num(y, nan=-1), cv=folds)
    np.testing.assert_array_equal(found, expected)


def test_score_compares_in_the_words_of_the_fit(graph: Graph) -> None:
    words = graph.replace(labels=LABELS[graph.labels])
    by_number = quick().fit(words.features, words.labels, graph=words)
    by_name = quick().fit(graph=words)
    assert by_number.score() == by_name.score() == by_name.score(None, LABELS[graph.labels])
    assert by_name.score(graph=words) == by_name.score()
    hidden = np.asarray(words.labels).copy()
    hidden[::3] = -1
    partly = quick().fit(words.features, hidden, graph=words)
    assert partly.score() == pytest.approx(np.mean(partly.predict() == words.labels))
    other = quick().fit(words.features, np.arange(N) % 2 + 5, graph=words)
    assert other.score() == pytest.approx(np.mean(other.predict() == np.arange(N) % 2 + 5))
    with pytest.raises(GraphError, match="no label is one of the classes left, right"):
        by_name.score(None, graph.labels)


def test_score_without_labels_takes_those_of_the_rows_given(graph: Graph, table, shuffled) -> None:
    fitted = quick().fit(table, LABELS[graph.labels], graph=graph)
    words = graph.replace(labels=LABELS[graph.labels])
    assert fitted.score(table.iloc[shuffled], graph=words) == fitted.score(table, graph=words)
    bound = quick(graph=words).fit(np.arange(N), LABELS[graph.labels])
    right = bound.predict() == LABELS[graph.labels]
    assert bound.score(np.arange(10)) == pytest.approx(right[:10].mean())


def test_regressor_matches_rows_and_features_by_name(
    graph: Graph, table, shuffled, tmp_path: Path
) -> None:
    y = pd.Series(table["a"].to_numpy() * 2.0, index=table.index)
    options: dict[str, Any] = {"max_epochs": 20, "n_layers": 4, "random_state": 0}
    fitted = SGFRegressor(**options).fit(table, y, graph=named(graph, shuffled))
    np.testing.assert_array_equal(fitted.graph_.edges, graph.edges)
    moved = fitted.predict(table.iloc[shuffled])
    np.testing.assert_allclose(moved, fitted.predict()[shuffled], atol=1e-5)
    assert fitted.score(table, y.iloc[shuffled]) == fitted.score(table, y)
    fitted.save(tmp_path)
    loaded = SGFRegressor.load(tmp_path)
    np.testing.assert_array_equal(
        loaded.predict(table[list("edcba")], graph=graph.edges),
        loaded.predict(table, graph=graph.edges),
    )


def test_costs_move_the_threshold_to_the_lowest_expected_cost(graph: Graph) -> None:
    fitted = quick().fit(graph.features, LABELS[graph.labels], graph=graph)
    right = fitted.predict_proba()[:, 1]
    fitted.set_params(costs={("left", "right"): 4.0})
    np.testing.assert_array_equal(fitted.predict() == "right", right > 4 / 5)
    for wrong in ({("left", "up"): 1.0}, {"left": 1.0}, {("left", "right"): -1.0}):
        with pytest.raises(ConfigError, match="cost"):
            quick(costs=wrong).fit(graph.features, LABELS[graph.labels], graph=graph)
