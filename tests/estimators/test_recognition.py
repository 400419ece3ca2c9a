"""A graph that shares vertices with the fitted one, by their ids."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Generator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch

from graphfilter import GraphClassifier, GraphRegressor
from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.estimators.earlier import NO_IDS, KnownVertices, hash_ids
from graphfilter.estimators.members import KNOWN_SHARES
from graphfilter.models.scaling import FeatureScaler
from graphfilter.systems import committee
from graphfilter.util.errors import ChangedVerticesWarning, GraphError, ModelFileError
from graphfilter.util.records import (
    read_checked_json,
    read_tensors,
    write_checked_json,
    write_tensors,
)

PLAIN = make_csbm(80, mean_degree=8, n_features=5, frequency=0.3, seed=2)
NAMES = tuple(f"v{i}" for i in range(80))
GRAPH = PLAIN.replace(vertex_names=NAMES)
OLD = np.arange(65)
SMALL: dict[str, Any] = {"max_epochs": 8, "random_state": 0, "device": "cpu"}


@pytest.fixture(scope="module", autouse=True)
def one_seed() -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committee, "MOST_REPEATS", 1)
        yield


@pytest.fixture(scope="module")
def fitted(one_seed: None) -> GraphClassifier:
    return GraphClassifier(**SMALL).fit(graph=GRAPH)


@pytest.fixture(scope="module")
def before(one_seed: None) -> GraphClassifier:
    """Fitted before the last 15 vertices came."""
    return GraphClassifier(**SMALL).fit(graph=GRAPH.subgraph(OLD))


def test_fitted_graph_in_another_order_is_answered_as_it_was(fitted: GraphClassifier) -> None:
    order = np.random.default_rng(0).permutation(80)
    moved = GRAPH.subgraph(order)
    known = fitted.prepare(moved).known
    assert known is not None
    np.testing.assert_array_equal(known.numbers, order)
    # But for vertices without links, of which nobody knows more than their features.
    linked = moved.degrees > 0
    np.testing.assert_allclose(
        fitted.predict_proba(graph=moved)[linked],
        fitted.predict_proba()[order][linked],
        rtol=1e-4,
        atol=1e-5,
    )


def test_grown_graph_is_answered_by_members_that_know_vertices(before: GraphClassifier) -> None:
    known = before.prepare(GRAPH).known
    assert known is not None
    assert known.is_known.sum() == 65
    prepared = before.prepare(GRAPH)
    heard = {m.system.name for m in before.members_of(prepared) if m.knows_vertices}
    assert heard
    strangers = GRAPH.replace(vertex_names=[f"w{i}" for i in range(80)])
    assert before.prepare(strangers).known is None
    there, here = (before.predict_proba(graph=g) for g in (strangers, GRAPH))
    np.testing.assert_array_equal(there, before.predict_proba(graph=PLAIN))
    assert np.abs(there - here).max() > 1e-3


def test_weights_go_from_those_of_the_fit_to_those_of_another_graph(
    before: GraphClassifier,
) -> None:
    for member in before.fitted_members_:
        ends = member.at(np.array([0.0, 1.0]))
        elsewhere = member.elsewhere()
        np.testing.assert_allclose(ends[0], elsewhere.weight / elsewhere.temperature)
        np.testing.assert_allclose(ends[1], member.weight / member.temperature)
        assert member.growing is not None
        np.testing.assert_allclose(member.at(np.array(KNOWN_SHARES)), member.growing)
        assert member.at(np.array([0.6])) == pytest.approx(member.at(np.array([0.5, 0.7])).mean())


def test_loaded_model_recognises_the_same_vertices(before: GraphClassifier, tmp_path: Path) -> None:
    before.save(tmp_path / "model")
    loaded = GraphClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(
        loaded.predict_proba(graph=GRAPH), before.predict_proba(graph=GRAPH)
    )
    assert b"v64" not in (tmp_path / "model" / "model.safetensors").read_bytes()
    loaded.forget_ids()
    loaded.save(tmp_path / "forgetful")
    forgetful = GraphClassifier.load(tmp_path / "forgetful")
    np.testing.assert_array_equal(
        forgetful.predict_proba(graph=GRAPH), before.predict_proba(graph=PLAIN)
    )


def test_ids_are_told_in_any_of_the_usual_ways(before: GraphClassifier) -> None:
    expected = before.predict_proba(graph=GRAPH)
    x, edges = np.asarray(PLAIN.features), PLAIN.edges
    told = before.predict_proba(x, graph=edges, vertex_ids=NAMES)
    np.testing.assert_allclose(told, expected, rtol=1e-5)
    frame = pd.DataFrame(x, index=list(NAMES))
    pairs = [(NAMES[u], NAMES[v]) for u, v in edges]
    np.testing.assert_allclose(before.predict_proba(frame, graph=pairs), expected, rtol=1e-5)
    nodes = nx.Graph()
    nodes.add_nodes_from(NAMES)
    nodes.add_edges_from(pairs)
    np.testing.assert_allclose(before.predict_proba(frame, graph=nodes), expected, rtol=1e-5)
    answers = before.predict(x, graph=edges, vertex_ids=NAMES)
    np.testing.assert_array_equal(answers, before.classes_[expected.argmax(axis=1)])


def test_vertices_of_a_fit_without_names_are_known_by_their_numbers() -> None:
    fitted = GraphClassifier(**SMALL).fit(graph=PLAIN.subgraph(OLD))
    named = fitted.predict_proba(graph=PLAIN, vertex_ids=range(80))
    assert np.abs(named - fitted.predict_proba(graph=PLAIN)).max() > 1e-4
    # The index that a DataFrame has by default says nothing of who its rows are.
    frame = pd.DataFrame(np.asarray(PLAIN.features))
    np.testing.assert_allclose(
        fitted.predict_proba(frame, graph=PLAIN.edges), fitted.predict_proba(graph=PLAIN), rtol=1e-5
    )


def test_ids_must_be_one_per_vertex_and_each_once(before: GraphClassifier) -> None:
    with pytest.raises(GraphError, match=r"one per vertex \(80\); got 3"):
        before.predict(graph=PLAIN, vertex_ids=["a", "b", "c"])
    with pytest.raises(GraphError, match="every vertex once; got 'v0' twice"):
        before.predict(graph=PLAIN, vertex_ids=[*NAMES[:-1], "v0"])
    with pytest.raises(GraphError, match="got 'v0' twice"):
        before.predict(graph=PLAIN.replace(vertex_names=[*NAMES[:-1], "v0"]))


def test_ids_that_mean_others_by_now_are_told_with_their_count(before: GraphClassifier) -> None:
    shuffled = np.random.default_rng(0).permutation(NAMES)
    with pytest.warns(ChangedVerticesWarning, match=r"of \d+ of 65 known vertices are far"):
        before.predict(graph=GRAPH.replace(vertex_names=shuffled.tolist()))
    # Features as they were, and with a little noise, mean the same.
    noise = 0.1 * np.random.default_rng(1).normal(size=(80, 5))
    before.predict(graph=GRAPH)
    before.predict(graph=GRAPH.replace(features=np.asarray(GRAPH.features) + noise))


def test_changed_vertices_are_counted_by_their_features() -> None:
    scaler = FeatureScaler("none")
    known_vertices = KnownVertices.of(GRAPH, scaler)
    assert known_vertices is not None
    known = known_vertices.recognise(GRAPH)
    assert known is not None
    assert known_vertices.n_changed(GRAPH, known, scaler) == 0
    features = np.array(GRAPH.features)
    features[[3, 4]] += 100
    assert known_vertices.n_changed(GRAPH.replace(features=features), known, scaler) == 2


def test_directions_that_were_not_there_are_another_graph(before: GraphClassifier) -> None:
    directed = Graph.from_edges(
        PLAIN.edges, 80, features=PLAIN.features, directed=True, vertex_names=NAMES
    )
    assert before.prepare(directed).known is None


def test_text_and_number_of_an_id_are_the_same_and_others_differ() -> None:
    np.testing.assert_array_equal(hash_ids([7, "a"]), hash_ids(["7", "a"]))
    assert len(np.unique(hash_ids(range(1000)))) == 1000


def test_damaged_ids_are_refused() -> None:
    vertices = KnownVertices.of(GRAPH, FeatureScaler("none"))
    assert vertices is not None
    arrays = vertices.to_arrays()
    again = KnownVertices.from_arrays(arrays)
    assert again is not None
    np.testing.assert_array_equal(again.ids, vertices.ids)
    for name, value in (
        ("ids", arrays["ids"][:-1]),
        ("ids", arrays["ids"].astype(np.int32)),
        ("sketch", arrays["sketch"] * np.nan),
        ("directed", np.zeros(2, dtype=bool)),
    ):
        with pytest.raises(ValueError, match="ids of the vertices"):
            KnownVertices.from_arrays({**arrays, name: value})
    assert KnownVertices.from_arrays({}) is None


def test_explanation_of_a_new_vertex_adds_up_to_its_answer(before: GraphClassifier) -> None:
    p = before.predict_proba(graph=GRAPH)
    for vertex in (2, 70):
        why = before.explain(f"v{vertex}", graph=GRAPH)
        assert why.score == pytest.approx(p[vertex].max())
        assert sum(value for _, value in why.parts) == pytest.approx(why.score)


def test_sets_of_a_grown_graph_hold_its_answers(before: GraphClassifier) -> None:
    sets = before.predict_set(graph=GRAPH, coverage=0.5)
    answers = before.predict_proba(graph=GRAPH).argmax(axis=1)
    assert sets[np.arange(80), answers].all()


@pytest.mark.parametrize("kind", ["numbers", "labels"])
def test_numbers_and_labels_are_recognised_too(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = np.asarray(PLAIN.features)
    y = x[:, :2] + 0.1 * rng.normal(size=(80, 2))
    estimator = GraphRegressor if kind == "numbers" else GraphClassifier
    made = estimator(effort="low", **SMALL).fit(
        y=y[OLD] if kind == "numbers" else (y[OLD] > 0).astype(int), graph=GRAPH.subgraph(OLD)
    )
    assert made.prepare(GRAPH).known is not None
    here, there = made.answers(graph=GRAPH), made.answers(graph=PLAIN)
    assert np.abs(here - there).max() > 1e-4
    made.save(tmp_path / "model")
    loaded = estimator.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.answers(graph=GRAPH), here, rtol=1e-6)
    # All known: as fitted.
    again = GRAPH.subgraph(OLD[::-1])
    linked = again.degrees > 0
    np.testing.assert_allclose(
        made.answers(graph=again)[linked], made.answers()[::-1][linked], rtol=1e-3, atol=1e-4
    )


def test_fit_on_the_past_keeps_no_ids_and_says_so() -> None:
    times = np.arange(PLAIN.n_edges, dtype=float)
    assert dataclasses.is_dataclass(PLAIN)
    graph = Graph.from_edges(
        PLAIN.edges, 80, features=PLAIN.features, labels=PLAIN.labels, times=times
    ).as_of(float(PLAIN.n_edges - 10))
    fitted = GraphClassifier(effort="low", **SMALL).fit(graph=graph)
    assert fitted.known_ is None
    said = fitted.describe_recognised(GRAPH)
    knows = any(member.knows_vertices for member in fitted.fitted_members_)
    assert said == ([NO_IDS] if knows else [])


def test_model_that_has_forgotten_its_ids_says_so(before: GraphClassifier) -> None:
    forgetful = copy.copy(before)
    forgetful.forget_ids()
    assert forgetful.describe_recognised(GRAPH) == [NO_IDS]
    assert forgetful.describe_recognised(GRAPH.subgraph(OLD)) == []


@pytest.mark.parametrize("name", ["v", "new"])
def test_graph_without_edges_is_answered(fitted: GraphClassifier, name: str) -> None:
    """Averages of neighbours are 0 then, as of an isolated vertex among others."""
    assert any(member.system.view == "averages" for member in fitted.fitted_members_)
    alone = Graph.of(None, 80, features=PLAIN.features)
    alone = alone.replace(vertex_names=[f"{name}{i}" for i in range(80)])
    rows = np.vstack([np.asarray(PLAIN.features), np.ones((2, 5))])
    two = Graph.from_edges([[80, 81]], 82, features=rows)
    two = two.replace(vertex_names=[*(alone.vertex_names or ()), "x", "y"])
    expected = fitted.predict_proba(graph=two)[:80]
    np.testing.assert_allclose(fitted.predict_proba(graph=alone), expected, atol=1e-6)


def test_pools_in_which_no_member_counts_are_refused(
    fitted: GraphClassifier, tmp_path: Path
) -> None:
    fitted.save(tmp_path)
    tensors, metadata = read_tensors(tmp_path / "model.safetensors")
    tensors["pool.growing"] = torch.zeros_like(tensors["pool.growing"])
    checksum = write_tensors(tmp_path / "model.safetensors", tensors, metadata)
    config = read_checked_json(tmp_path / "config.json")
    write_checked_json(tmp_path / "config.json", config | {"model_sha256": checksum})
    with pytest.raises(ModelFileError, match="growing must have 5 pools, with weights"):
        GraphClassifier.load(tmp_path)
