from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from graphfilter import Graph, SGFClassifier, Split
from graphfilter.data import make_bipartite
from graphfilter.training import Callback, Progress
from graphfilter.util.errors import ConfigError, GraphError, GraphFilterError


@pytest.fixture(scope="module")
def bipartite() -> Graph:
    return make_bipartite(n_side=100, probability=0.15, n_features=10, seed=0)


def quick(**parameters) -> SGFClassifier:
    return SGFClassifier(**{"max_epochs": 20, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def fitted(bipartite: Graph) -> SGFClassifier:
    return quick().fit(bipartite.features, bipartite.labels, graph=bipartite)


def test_classifier_learns_a_high_frequency_graph(bipartite: Graph) -> None:
    labels = np.array(["left", "right"], dtype=object)[bipartite.labels]
    hidden = labels.copy()
    hidden[::4] = None
    clf = quick(max_epochs=400).fit(bipartite.features, hidden, graph=bipartite.edges)
    assert clf.score(None, labels) == 1.0
    assert set(clf.predict()) == {"left", "right"}


def test_classifier_without_a_graph_is_an_mlp(bipartite: Graph) -> None:
    clf = quick().fit(bipartite.features, bipartite.labels)
    alone = clf.predict_proba(np.asarray(bipartite.features)[:5])
    np.testing.assert_allclose(alone, clf.predict_proba()[:5], atol=1e-6)


@pytest.mark.parametrize("form", ["pairs", "columns", "scipy", "networkx", "pyg", "Graph"])
def test_classifier_takes_any_form_of_graph(
    bipartite: Graph, fitted: SGFClassifier, form: str
) -> None:
    if form == "pyg":
        geometric = pytest.importorskip("torch_geometric.data")
    graph = {
        "pairs": lambda: bipartite.edges,
        "columns": lambda: bipartite.edges.T,
        "scipy": lambda: bipartite.adjacency,
        "networkx": lambda: _networkx(bipartite),
        "pyg": lambda: geometric.Data(
            edge_index=torch.from_numpy(bipartite.edges.T.copy()).long(), num_nodes=200
        ),
        "Graph": lambda: bipartite,
    }[form]()
    same = quick().fit(bipartite.features, bipartite.labels, graph=graph)
    np.testing.assert_array_equal(same.predict_proba(), fitted.predict_proba())


def _networkx(graph: Graph) -> nx.Graph:
    made = nx.Graph()
    made.add_nodes_from(range(graph.n_vertices))
    made.add_edges_from(graph.edges.tolist())
    return made


@pytest.mark.parametrize("missing", [-1, None, np.nan, ""])
def test_classifier_ignores_unlabelled_vertices(bipartite: Graph, missing: object) -> None:
    y = np.asarray(bipartite.labels).astype(object)
    y[:20] = missing
    clf = quick(max_epochs=5).fit(bipartite.features, y.tolist(), graph=bipartite)
    assert clf.classes_.tolist() == [0, 1]
    assert set(clf.split_.train) | set(clf.split_.val) == set(range(20, 200))


def test_classifier_reads_labels_and_features_of_a_graph(
    bipartite: Graph, fitted: SGFClassifier
) -> None:
    same = quick().fit(graph=bipartite)
    np.testing.assert_array_equal(same.predict(), fitted.predict())


def test_classifier_predicts_a_new_graph(bipartite: Graph, fitted: SGFClassifier) -> None:
    order = np.random.default_rng(0).permutation(200)
    moved = bipartite.subgraph(order)
    got = fitted.predict_proba(moved.features, graph=moved.edges)
    np.testing.assert_allclose(got, fitted.predict_proba()[order], atol=1e-5)


def test_classifier_members_are_averaged(bipartite: Graph) -> None:
    many = quick(n_members=3, max_epochs=20).fit(graph=bipartite)
    assert len(many.filters_) == 3
    prepared = many.prepare(many.graph_)
    each = [member.answer(prepared) for member in many.fitted_members_]
    mean = np.exp(np.log(each).mean(axis=0))
    expected = mean / mean.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(many.predict_proba(), expected, atol=1e-9)
    assert not np.allclose(each[0], each[1])


def test_classifier_balanced_weights_raise_the_recall_of_a_rare_class() -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.05).astype(int)
    X = rng.normal(size=(600, 5)) + 0.8 * y[:, None]
    recalls = []
    for weight in (None, "balanced", {1: 20.0}):
        clf = quick(class_weight=weight, max_epochs=80).fit(X, y)
        recalls.append((clf.predict() == y)[y == 1].mean())
    assert recalls[1] > recalls[0]
    assert recalls[2] > recalls[0]


def test_classifier_bound_to_a_graph_works_in_cross_validation(bipartite: Graph) -> None:
    clf = quick(graph=bipartite, max_epochs=300)
    assert clone(clf).graph is bipartite
    scores = cross_val_score(clf, np.arange(200), bipartite.labels, cv=3)
    assert scores.mean() > 0.95
    briefly = clf.set_params(max_epochs=5)
    search = GridSearchCV(briefly, {"operator": ["laplacian", "adjacency"]}, cv=2)
    search.fit(np.arange(200)[:, None], bipartite.labels)
    assert search.best_params_["operator"] in ("laplacian", "adjacency")


def test_classifier_grid_search_without_a_graph(bipartite: Graph) -> None:
    search = GridSearchCV(quick(max_epochs=5), {"hidden_size": [4, 8]}, cv=2)
    search.fit(bipartite.features, bipartite.labels)
    assert search.best_params_["hidden_size"] in (4, 8)


def test_loaded_classifier_asks_for_a_graph(
    tmp_path: Path, bipartite: Graph, fitted: SGFClassifier
) -> None:
    fitted.save(tmp_path)
    loaded = SGFClassifier.load(tmp_path)
    with pytest.raises(GraphError, match="pass X and graph"):
        loaded.predict()
    with pytest.raises(GraphError, match="pass the graph of X"):
        loaded.predict(bipartite.features)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda g: quick().fit(g.features, g.labels[:-1], graph=g), GraphError, "row per vertex"),
        (lambda g: quick().fit(g.features[:-1], g.labels[:-1], graph=g), GraphError, "199"),
        (lambda g: quick().fit(g.features, [1] * 200, graph=g), GraphError, "two classes"),
        (lambda g: quick().fit(g.features, [None] * 200, graph=g), GraphError, "no vertex is lab"),
        (
            lambda g: quick(graph=g).fit(g.features[:9], g.labels[:9]),
            GraphError,
            "does not. Route them",
        ),
        (lambda g: quick(graph=g).fit([0, 900], [0, 1]), GraphError, "must lie in 0..199"),
    ],
)
def test_classifier_explains_bad_input(bipartite: Graph, call, error, message: str) -> None:
    with pytest.raises(error, match=message):
        call(bipartite)


HUGE = 10**400
WHOLE = "must be a whole number from"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"operator": "laplace"}, "did you mean 'laplacian'"),
        ({"dropout": 1.0}, "dropout must be in"),
        ({"validation_fraction": 1}, "validation_fraction"),
        ({"validation_fraction": "a"}, "validation_fraction"),
        ({"n_members": 0}, "n_members"),
        ({"n_members": HUGE}, f"n_members {WHOLE} 1 to 1,000,000"),
        ({"class_weight": "even"}, "class_weight"),
        ({"class_weight": {9: 1}}, "no class of y"),
        ({"class_weight": {0: -1.0, 1: 1.0}}, "must not be negative"),
        ({"class_weight": {0: HUGE, 1: 1}}, "class_weight must be a finite number"),
        ({"patience": 0}, "patience"),
        ({"patience": None}, "patience"),
        ({"max_epochs": 1.5}, "max_epochs"),
        ({"monitor": "f1"}, "unknown monitor"),
        ({"feature_scaling": "l2"}, "feature scaling"),
        ({"hidden_size": 0}, "hidden_size"),
        ({"hidden_size": "64"}, "hidden_size"),
        ({"hidden_size": 10**12}, f"hidden_size {WHOLE} 1 to 1,000,000"),
        ({"n_layers": 2.5}, "n_layers"),
        ({"n_layers": True}, "n_layers"),
        ({"n_layers": HUGE}, f"n_layers {WHOLE} 1 to 1,000,000"),
        ({"filter_init": float("nan")}, "init"),
    ],
)
def test_parameter_out_of_range_or_of_the_wrong_kind_is_refused(
    bipartite: Graph, options: dict, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        quick(**options).fit(bipartite.features, bipartite.labels, graph=bipartite)


def test_classifier_predict_refuses_rows_that_are_not_its_graph(
    bipartite: Graph, fitted: SGFClassifier
) -> None:
    with pytest.raises(GraphError, match="pass the graph of X"):
        fitted.predict(np.asarray(bipartite.features)[:10])


def test_classifier_uses_the_split_it_is_given(bipartite: Graph) -> None:
    split = Split(np.arange(0, 200, 2), np.arange(1, 200, 4), np.arange(3, 200, 4))
    clf = quick(max_epochs=3).fit(graph=bipartite, split=split)
    assert clf.split_ is split


def test_classifier_keeps_a_class_with_one_labelled_vertex(bipartite: Graph) -> None:
    y = np.array(bipartite.labels)
    y[0] = 2
    clf = quick(max_epochs=3).fit(bipartite.features, y, graph=bipartite)
    assert clf.classes_.tolist() == [0, 1, 2]
    assert 0 in clf.split_.train


def test_classifier_score_ignores_the_unknown_and_refuses_other_names(
    bipartite: Graph, fitted: SGFClassifier
) -> None:
    ones = np.flatnonzero(bipartite.labels == 1)
    y = np.full(200, -1)
    y[ones] = 1
    expected = (fitted.predict()[ones] == 1).mean()
    assert fitted.score(None, y) == pytest.approx(expected)
    assert fitted.score() == pytest.approx((fitted.predict() == bipartite.labels).mean())
    with pytest.raises(GraphError, match="no label is one of the classes"):
        fitted.score(None, ["left"] * 200)
    with pytest.raises(GraphError, match="one label and one weight per vertex"):
        fitted.score(None, np.asarray(bipartite.labels)[:10])
    with pytest.raises(GraphError, match="sample_weight"):
        fitted.score(None, bipartite.labels, sample_weight=np.zeros(200))


def test_classifier_says_that_training_diverged(bipartite: Graph) -> None:
    with pytest.raises(GraphFilterError, match="diverged"):
        quick(learning_rate=1e30).fit(graph=bipartite)


def test_bound_classifier_takes_one_label_a_vertex(bipartite: Graph) -> None:
    clf = SGFClassifier(graph=bipartite, max_epochs=2)
    with pytest.raises(GraphError, match="vertex 1 is given two"):
        clf.fit([0, 1, 1, 2], ["a", "b", "a", "b"])
    clf.fit([0, 1, 1, 2], ["a", "b", "b", "a"])


def test_bound_classifier_predicts_another_graph(bipartite: Graph) -> None:
    clf = quick(graph=bipartite, max_epochs=5).fit(np.arange(200), bipartite.labels)
    half = bipartite.subgraph(np.arange(0, 200, 2))
    assert clf.predict(half.features, graph=half).shape == (100,)
    assert clf.predict(graph=half).shape == (100,)


def test_classifier_is_not_saved_over_a_run_of_fit(tmp_path: Path, fitted: SGFClassifier) -> None:
    (tmp_path / "metrics.json").write_text("{}")
    with pytest.raises(ConfigError, match="holds a run of graphfilter fit"):
        fitted.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.json"]


def test_classifier_that_failed_to_fit_is_not_fitted(bipartite: Graph) -> None:
    clf = quick()
    with pytest.raises(GraphError, match="two classes"):
        clf.fit(bipartite.features, np.zeros(bipartite.n_vertices), graph=bipartite)
    with pytest.raises(NotFittedError):
        clf.predict()


def test_classifier_keeps_its_fit_when_another_one_fails(bipartite: Graph) -> None:
    clf = quick(max_epochs=2).fit(graph=bipartite)
    before = clf.predict_proba()

    def give_up(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clf.fit(bipartite.features, np.arange(200) % 3, graph=bipartite, callback=Callback(give_up))
    assert clf.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(clf.predict_proba(), before)


def test_classifier_predicts_as_it_was_fitted_whatever_set_params_changes(
    tmp_path: Path, bipartite: Graph
) -> None:
    clf = quick(max_epochs=2).fit(graph=bipartite)
    before = clf.predict_proba()
    clf.set_params(operator="laplacian")
    np.testing.assert_array_equal(clf.predict_proba(), before)
    with pytest.raises(ConfigError, match="changed since"):
        clf.save(tmp_path / "model")


def test_hetero_data_is_one_graph_with_kinds_of_vertices_and_edges() -> None:
    data = pytest.importorskip("torch_geometric.data").HeteroData()
    rng = np.random.default_rng(0)
    data["author"].x = torch.tensor(rng.normal(size=(20, 3)), dtype=torch.float32)
    data["paper"].x = torch.tensor(rng.normal(size=(30, 2)), dtype=torch.float32)
    data["paper"].y = torch.arange(30) % 2
    for part in range(3):
        mask = torch.arange(30) % 3 == part
        data["paper"][f"{('train', 'val', 'test')[part]}_mask"] = mask
    writes = torch.tensor(rng.integers(0, 20, (2, 60)))
    data["author", "writes", "paper"].edge_index = writes
    data["paper", "cites", "paper"].edge_index = torch.tensor([[0, 1, 2], [3, 4, 5]])
    data["paper", "rev_writes", "author"].edge_index = writes.flip(0)
    graph = Graph.from_pyg(data)
    assert graph.n_vertices == 50
    assert graph.vertex_names is not None
    assert graph.vertex_names[21] == "paper:1"
    assert graph.kinds is not None
    assert graph.kinds.names == ("cites", "writes")
    pairs = {tuple(sorted(pair)) for pair in (writes + torch.tensor([[0], [20]])).T.tolist()}
    pairs |= {(20, 23), (21, 24), (22, 25)}
    assert {tuple(edge) for edge in graph.edges.tolist()} == pairs
    assert graph.feature_names == (
        "kind=author", "author: 0", "author: 1", "author: 2", "kind=paper", "paper: 0", "paper: 1"
    )  # fmt: skip
    assert isinstance(graph.features, sp.csr_array)
    assert graph.labels is not None
    dense = graph.features.toarray()
    np.testing.assert_array_equal(dense[:20, 1:4], data["author"].x)
    np.testing.assert_array_equal(dense[20:, 5:], data["paper"].x)
    assert not dense[:20, 4:].any()
    assert graph.labels.tolist() == [-1] * 20 + data["paper"].y.tolist()
    assert graph.splits[0].val.tolist() == list(range(21, 50, 3))
    fitted = SGFClassifier(max_epochs=3, random_state=0).fit(graph=data)
    assert fitted.predict(graph=data).shape == (50,)
    data["author"].y = torch.zeros(20, dtype=torch.long)
    with pytest.raises(GraphError, match="of one kind of vertex; author and paper"):
        Graph.of(data)
