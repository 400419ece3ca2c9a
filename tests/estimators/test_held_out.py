"""Estimators whose networks each hold a fold out: labelled vertices are answered for unseen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from graphfilter import GraphClassifier, GraphRegressor
from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.estimators.members import combine, shares_in
from graphfilter.splits import Split
from graphfilter.systems.prepared import N_FOLDS, NO_FOLD
from graphfilter.util.errors import ModelFileError
from graphfilter.util.records import (
    read_checked_json,
    read_tensors,
    write_checked_json,
    write_tensors,
)

PLAIN = make_csbm(80, mean_degree=8, n_features=5, frequency=0.3, seed=2)
GRAPH = PLAIN.replace(vertex_names=tuple(f"v{i}" for i in range(80)))
OLD = np.arange(65)
SMALL: dict[str, Any] = {"effort": "low", "max_epochs": 8, "random_state": 0, "device": "cpu"}


@pytest.fixture(scope="module")
def fitted() -> GraphClassifier:
    assert GRAPH.labels is not None
    labels = np.where(np.arange(80) % 5 == 0, -1, GRAPH.labels)
    return GraphClassifier(**SMALL).fit(GRAPH.features, labels, graph=GRAPH)


@pytest.fixture(scope="module")
def before() -> GraphClassifier:
    """Fitted before the last 15 vertices came."""
    return GraphClassifier(**SMALL).fit(graph=GRAPH.subgraph(OLD))


def held_of(estimator: GraphClassifier) -> np.ndarray:
    assert estimator.held_ is not None
    return estimator.held_


def by_hand(estimator: GraphClassifier, graph: Graph, vertex: int, fold: int) -> np.ndarray:
    """Return the answer of those members alone that held a fold out."""
    prepared = estimator.prepare(graph)
    members = [m for m in estimator.members_of(prepared) if m.held_fold == fold]
    every = shares_in(prepared)
    shares = None if every is None else every[[vertex]]
    if shares is None:
        own = [m.weight * N_FOLDS / m.temperature for m in members]
    else:
        own = [float(m.at(shares)[0]) * N_FOLDS for m in members]
    logits = sum(
        w * np.log(np.maximum(m.answer(prepared)[vertex], 1e-12))
        for w, m in zip(own, members, strict=True)
    )
    p = np.exp(logits - np.max(logits))
    return p / p.sum()


def test_every_labelled_vertex_is_in_a_fold(fitted: GraphClassifier) -> None:
    held = held_of(fitted)
    labelled = np.sort(np.concatenate([fitted.split_.train, fitted.split_.val]))
    np.testing.assert_array_equal(np.flatnonzero(held != NO_FOLD), labelled)
    assert [m.held_fold for m in fitted.fitted_members_[:N_FOLDS]] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("part", ["train", "val"])
def test_answer_for_a_labelled_vertex_is_that_of_its_fold(
    fitted: GraphClassifier, part: str
) -> None:
    vertex = int(getattr(fitted.split_, part)[0])
    expected = by_hand(fitted, fitted.graph_, vertex, held_of(fitted)[vertex])
    np.testing.assert_allclose(fitted.predict_proba()[vertex], expected, atol=1e-9)


def test_other_vertices_are_answered_for_by_all(fitted: GraphClassifier) -> None:
    prepared, free = fitted.prepare(fitted.graph_), held_of(fitted) == NO_FOLD
    members = fitted.members_of(prepared)
    every = combine([m.answer(prepared) for m in members], members, fitted.task_)
    np.testing.assert_allclose(fitted.predict_proba()[free], every[free], atol=1e-9)
    assert np.abs(fitted.predict_proba() - every)[~free].max() > 1e-4


def test_saved_model_holds_the_same_vertices_out(fitted: GraphClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    loaded = GraphClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(held_of(loaded), held_of(fitted))
    np.testing.assert_array_equal(loaded.predict_proba(graph=GRAPH), fitted.predict_proba())
    few = loaded.answers(graph=GRAPH, only=np.array([3, 40, 5]))
    np.testing.assert_allclose(few, fitted.predict_proba()[[3, 40, 5]], atol=1e-6)


def test_known_vertices_of_a_grown_graph_are_answered_for_unseen(before: GraphClassifier) -> None:
    there, held = before.predict_proba(graph=GRAPH), held_of(before)
    for vertex in np.flatnonzero(held != NO_FOLD)[:4].tolist():
        expected = by_hand(before, GRAPH, vertex, int(held[vertex]))
        np.testing.assert_allclose(there[vertex], expected, atol=1e-6)
    prepared = before.prepare(GRAPH)
    found = before.held_in(prepared)
    assert found is not None
    np.testing.assert_array_equal(found[:65], held)
    assert (found[65:] == NO_FOLD).all()


def test_on_another_graph_nothing_was_held_out(fitted: GraphClassifier) -> None:
    other = make_csbm(80, mean_degree=8, n_features=5, frequency=0.3, seed=5)
    assert fitted.held_in(fitted.prepare(other)) is None
    assert np.isfinite(fitted.predict_proba(graph=other)).all()


def test_explanation_adds_up_to_the_answer_for_seen_and_unseen(fitted: GraphClassifier) -> None:
    held, p = held_of(fitted), fitted.predict_proba()
    chosen = [int(np.flatnonzero(held == fold)[0]) for fold in (NO_FOLD, 0, 3)]
    for vertex in chosen:
        explained = fitted.explain(f"v{vertex}")
        assert explained.score == explained.probability == pytest.approx(p[vertex].max())
        added = sum(value for _, value in explained.parts)
        assert added == pytest.approx(explained.score, abs=1e-6)


def test_number_is_explained_by_who_has_not_seen_it() -> None:
    y = np.asarray(GRAPH.features)[:, 0] * 3 + 1
    found = GraphRegressor(**SMALL).fit(GRAPH.features, y, graph=GRAPH)
    assert found.held_ is not None
    vertex = int(found.split_.train[0])
    explained = found.explain(f"v{vertex}")
    assert explained.score == pytest.approx(found.predict()[vertex], rel=1e-3, abs=1e-3)


def test_note_says_who_answers_for_labelled_vertices(fitted: GraphClassifier) -> None:
    (note,) = [note for note in fitted.notes_ if "held a fifth of the 64" in note]
    assert note.endswith("have not seen its label.")


def test_what_is_trained_on_the_past_has_no_folds() -> None:
    """Its networks answer for a later graph: validation vertices must not be among the learned."""
    rng = np.random.default_rng(0)
    edges, times = rng.integers(0, 60, size=(300, 2)), np.arange(300)
    noise = rng.normal(size=(60, 30)).astype(np.float32)
    graph = Graph.from_edges(
        edges, 60, features=noise, labels=np.arange(60) % 2, times=times
    ).as_of(200)
    found = GraphClassifier(effort="low", max_epochs=60, random_state=0, device="cpu")
    found.fit(graph=graph)
    assert found.held_ is None
    right = found.predict_proba().argmax(axis=1) == graph.labels
    assert right[found.split_.train].mean() > right[found.split_.val].mean() + 0.1


def test_split_that_was_given_has_no_folds() -> None:
    parts = np.split(np.arange(80), [48, 64])
    given = GraphClassifier(**SMALL).fit(graph=GRAPH, split=Split(*parts))
    assert given.held_ is None
    assert all(m.held_fold is None for m in given.fitted_members_)


@pytest.mark.parametrize(
    "damage", ["missing", "out of range", "of floats", "another order", "none"]
)
def test_damaged_folds_are_refused(fitted: GraphClassifier, tmp_path: Path, damage: str) -> None:
    fitted.save(tmp_path)
    config, (tensors, metadata) = (
        read_checked_json(tmp_path / "config.json"),
        read_tensors(tmp_path / "model.safetensors"),
    )
    if damage == "missing":
        del tensors["held"]
    elif damage == "out of range":
        tensors["held"][0] = N_FOLDS
    elif damage == "of floats":
        tensors["held"] = tensors["held"].to(torch.float32)
    elif damage == "another order":
        config["members"][0]["held_fold"] = 1
    else:
        tensors["held"] = tensors["held"][:0]
    config["model_sha256"] = write_tensors(tmp_path / "model.safetensors", tensors, metadata)
    config.pop("sha256", None)
    write_checked_json(tmp_path / "config.json", config)
    with pytest.raises(ModelFileError):
        GraphClassifier.load(tmp_path)
