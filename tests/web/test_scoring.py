"""What an endpoint says of vertices is what graphfilter predict says of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.web_client import WebClient

import graphfilter as gf
from graphfilter.runs.loading import RunDescription
from graphfilter.web.endpoint import Neighbour, Vertex

# In predictions.csv.
DIGITS = 5e-7
NEW = {
    "a": {"age": 0.4, "size": None, "colour": "red"},
    "b": {"age": -1.2, "size": 0.3, "colour": "blue"},
}


def probabilities(reply: Any) -> list[dict[str, float]]:
    assert reply.status == 200, reply.body
    return [vertex["probabilities"] for vertex in reply.json["vertices"]]


def predict(graphfilter, run: Path, folder: Path, *tables: Path) -> pd.DataFrame:
    out = folder / "said.csv"
    words = ("--edges", tables[0], "--vertices", tables[1], "--out", out, "--quiet")
    graphfilter("predict", run, *words)
    return pd.read_csv(out, dtype={"id": str}).set_index("id")


def test_known_vertices_are_answered_as_predict_does(
    graphfilter, ask: WebClient, run: Path, tables: Path, tmp_path: Path
) -> None:
    expected = predict(graphfilter, run, tmp_path, tables / "edges.csv", tables / "vertices.csv")
    ids = ["v7", "v0", "v59", "v7"]
    reply = ask("POST", "/score", {"ids": ids})
    for id, vertex in zip(ids, reply.json["vertices"], strict=True):
        row = expected.loc[id]
        assert vertex["id"] == id
        assert not vertex["new"]
        assert vertex["predicted"] == row["predicted"]
        assert vertex["probabilities"] == pytest.approx(
            {"coffee": row["p_coffee"], "tea": row["p_tea"]}, abs=DIGITS
        )


def test_new_vertices_are_answered_as_predict_does_of_the_grown_tables(
    graphfilter, ask: WebClient, run: Path, tables: Path, tmp_path: Path
) -> None:
    links = [("a", "v1"), ("a", "v2"), ("b", "a"), ("b", "v5")]
    vertices = pd.read_csv(tables / "vertices.csv").drop(columns="drink")
    rows = pd.DataFrame([{"id": id, **features} for id, features in NEW.items()])
    pd.concat([vertices, rows]).to_csv(tmp_path / "v.csv", index=False)
    edges = pd.concat(
        [pd.read_csv(tables / "edges.csv"), pd.DataFrame(links, columns=["from", "to"])]
    )
    edges.to_csv(tmp_path / "e.csv", index=False)
    expected = predict(graphfilter, run, tmp_path, tmp_path / "e.csv", tmp_path / "v.csv")
    asked = [
        {"id": id, "features": features, "neighbours": [to for own, to in links if own == id]}
        for id, features in NEW.items()
    ]
    reply = ask("POST", "/score", {"ids": ["v4"], "vertices": asked})
    found = {vertex["id"]: vertex for vertex in reply.json["vertices"]}
    assert [found[id]["new"] for id in ("v4", "a", "b")] == [False, True, True]
    for id in NEW:
        assert found[id]["predicted"] == expected.loc[id, "predicted"]
        assert found[id]["probabilities"]["tea"] == pytest.approx(
            expected.loc[id, "p_tea"], abs=DIGITS
        )
    # A known vertex is answered as without the new ones.
    alone = ask("POST", "/score", {"ids": ["v4"]})
    assert alone.json["vertices"][0] == found["v4"]


def test_requests_at_the_same_time_are_answered_as_each_alone(ask: WebClient) -> None:
    """To the same bits: no request sees the vertices of another."""
    asked = [
        {"vertices": [{"features": {**NEW["a"], "age": age}, "neighbours": [f"v{k}"]}]}
        for k, age in enumerate(np.linspace(-1, 1, 6))
    ]
    alone = [ask("POST", "/score", one).json for one in asked]
    assert len({str(one["vertices"][0]["probabilities"]) for one in alone}) == len(asked)
    with ThreadPoolExecutor(12) as pool:
        together = list(pool.map(lambda k: ask("POST", "/score", asked[k % 6]).json, range(36)))
    assert together == [alone[k % 6] for k in range(36)]


def test_new_word_and_missing_value_are_told_in_notes(ask: WebClient) -> None:
    vertex = {"features": {"age": None, "size": 0.1, "colour": "mauve"}}
    reply = ask("POST", "/score", {"vertices": [vertex]})
    assert reply.status == 200, reply.body
    assert any("mauve" in note for note in reply.json["notes"])
    assert any("age" in note for note in reply.json["notes"])
    assert reply.json["vertices"][0]["id"] == "new 0"


def test_vertex_without_neighbours_is_isolated(ask: WebClient, scorer) -> None:
    (found,) = probabilities(ask("POST", "/score", {"vertices": [{"features": NEW["b"]}]}))
    graph = gf.Graph.of(None, 1, features=scorer.encoder.transform(_table([NEW["b"]]), "x"))
    expected = scorer.estimator.predict_proba(graph=graph)[0]
    assert list(found.values()) == pytest.approx(expected.tolist(), abs=1e-6)


def _table(rows: list[dict[str, Any]]):
    import pyarrow as pa

    return pa.Table.from_pylist(rows)


@pytest.fixture(scope="module")
def graph() -> gf.Graph:
    made = gf.data.make_csbm(n_vertices=50, n_features=3, frequency=0.3)
    weights = np.arange(1, made.n_edges + 1, dtype=np.float32)
    return gf.Graph.from_edges(
        made.edges, features=made.features, labels=made.labels, weights=weights
    )


def test_features_without_a_table_are_a_list_and_edges_have_weights(graph: gf.Graph) -> None:
    from graphfilter.data.from_tables import grow
    from graphfilter.web.endpoint import Scorer

    clf = gf.SGFClassifier(n_layers=3, max_epochs=5, random_state=0).fit(graph=graph)
    scorer = Scorer(clf, RunDescription(), None, graph)
    new = Vertex([0.1, 0.2, 0.3], "x", [Neighbour("4", 2.5), "7"])
    (found,) = scorer.score_new([new]).vertices
    grown = grow(graph, np.array([[0.1, 0.2, 0.3]]), [[50, 4], [50, 7]], weights=[2.5, 1.0])
    assert list(found["probabilities"].values()) == clf.predict_proba(graph=grown)[50].tolist()


def test_committee_says_of_some_vertices_what_it_says_of_all(graph: gf.Graph) -> None:
    """Of those that it recognises by id, and of new ones, weighed by what is known of them."""
    named = graph.replace(vertex_names=[f"v{i}" for i in range(50)])
    clf = gf.GraphClassifier(max_epochs=5, random_state=0).fit(graph=named.subgraph(range(40)))
    some = np.array([49, 3, 41])
    expected = clf.answers(graph=named)[some]
    np.testing.assert_allclose(clf.answers(graph=named, only=some), expected, atol=1e-6)
    assert (clf.answers(only=some[1:2]) == clf.answers()[some[1:2]]).all()


def test_requests_hash_their_own_ids_alone(
    graph: gf.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new vertex may be one of the fit that the graph has not."""
    from graphfilter.data.from_tables import grow
    from graphfilter.estimators import earlier
    from graphfilter.web.endpoint import Scorer

    named = graph.replace(vertex_names=[f"v{i}" for i in range(50)])
    options = {"effort": "low", "max_epochs": 5, "random_state": 0}
    clf = gf.GraphClassifier(**options).fit(graph=named.subgraph(range(40)))
    served = named.subgraph(range(5, 50))
    scorer = Scorer(clf, RunDescription(), None, served)
    hashed: list[int] = []
    hash_ids = earlier.hash_ids
    monkeypatch.setattr(
        earlier, "hash_ids", lambda names: hashed.append(len(names)) or hash_ids(names)
    )
    features = [np.asarray(named.features)[2].tolist(), [0.3, 0.1, 0.0]]
    new = [Vertex(features[0], "v2", ["v7"]), Vertex(features[1], "x", ["v2"])]
    found = scorer.score_new(new).vertices
    assert hashed == [2]
    grown = grow(served, np.array(features), [[45, 2], [46, 45]], vertex_names=["v2", "x"])
    expected = clf.answers(graph=grown)[[45, 46]]
    got = [list(one["probabilities"].values()) for one in found]
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_numbers_and_several_labels_have_answers_of_their_own(graph: gf.Graph) -> None:
    from graphfilter.web.endpoint import Scorer

    x = np.asarray(graph.features)
    numbers = gf.SGFRegressor(n_layers=2, max_epochs=5, random_state=0)
    numbers.fit(None, x[:, 0], graph=graph)
    (found,) = Scorer(numbers, RunDescription(), None, graph).score_known(["3"]).vertices
    assert list(found["predicted"].values()) == [numbers.predict()[3]]
    labels = gf.SGFClassifier(n_layers=2, max_epochs=5, random_state=0)
    labels.fit(None, (x > 0).astype(int), graph=graph)
    (found,) = Scorer(labels, RunDescription(), None, graph).score_known(["3"]).vertices
    has = labels.predict()[3]
    assert found["predicted"] == [str(i) for i in range(3) if has[i]]
    assert list(found["probabilities"].values()) == labels.predict_proba()[3].tolist()


@pytest.fixture(scope="module")
def ring() -> gf.Graph:
    """A cycle: few vertices are near any other."""
    rng = np.random.default_rng(0)
    edges = [[i, (i + 1) % 90] for i in range(90)]
    labels = np.arange(90) // 10 % 2
    features = (rng.normal(size=(90, 4)) + labels[:, None]).astype(np.float32)
    made = gf.Graph.from_edges(edges, features=features, labels=labels)
    return made.replace(vertex_names=[f"v{i}" for i in range(90)])


def test_the_farther_one_looks_the_nearer_are_the_scores_of_new_vertices(ring: gf.Graph) -> None:
    """Of a committee that trusts a low-pass filter, which reaches every vertex."""
    from graphfilter.web.endpoint import Scorer

    clf = gf.GraphClassifier(max_epochs=5, random_state=0).fit(graph=ring)
    assert clf.held_ is not None
    asked = [Vertex([0.4, 1.0, -0.2, 0.6], "x", ["v4", "v30"])]
    exact, *found = (
        next(iter(Scorer(clf, RunDescription(), None, ring, n).score_new(asked).vertices))
        for n in (None, 2, 4, 8)
    )
    apart = [abs(one["probabilities"]["0"] - exact["probabilities"]["0"]) for one in found]
    assert apart[0] > apart[1] > apart[2]
    assert apart[2] < 0.01


@pytest.mark.parametrize(("model", "atol"), [("sgf", 1e-6), ("committee", 1e-2)])
def test_new_vertices_are_scored_on_those_near_them(
    ring: gf.Graph, model: str, atol: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly where a filter reaches no farther; nearly by networks of more layers."""
    monkeypatch.setattr("graphfilter.systems.committee.MOST_REPEATS", 1)
    from graphfilter.web.endpoint import Scorer

    clf = (
        gf.SGFClassifier(n_layers=3, max_epochs=5, random_state=0)
        if model == "sgf"
        else gf.GraphClassifier(max_epochs=5, random_state=0)
    ).fit(graph=ring)
    whole, near = (Scorer(clf, RunDescription(), None, ring, within) for within in (None, 4))
    features = [0.4, 1.0, -0.2, 0.6]
    asked = [Vertex(features, "x", ["v4", "v30", "y"]), Vertex(features, "y", ["v5"])]
    for vertices in (asked, [Vertex(features, "alone")]):
        expected, found = whole.score_new(vertices), near.score_new(vertices)
        for one, other in zip(expected.vertices, found.vertices, strict=True):
            assert other["probabilities"] == pytest.approx(one["probabilities"], abs=atol)
        assert not expected.notes
        assert "an approximation" in found.notes[0]
    assert (
        "on the 15 nearest of 90 vertices, at most 4 edges away" in near.score_new(asked).notes[0]
    )
    # Where most vertices are near, all are used.
    far = Scorer(clf, RunDescription(), None, ring, 40).score_new(asked)
    assert far == whole.score_new(asked)
