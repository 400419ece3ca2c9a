from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from graphfilter import GraphClassifier, GraphRegressor
from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.models import Trees
from graphfilter.models.views import VIEWS
from graphfilter.systems import committee
from graphfilter.training import Callback
from graphfilter.training.callbacks import Progress
from graphfilter.util.errors import ConfigError

GRAPH = make_csbm(60, mean_degree=6, n_features=5, frequency=0.3, seed=2)


@pytest.fixture(scope="module", autouse=True)
def one_seed() -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committee, "MOST_REPEATS", 1)
        yield


@pytest.fixture(scope="module")
def fitted(one_seed: None) -> GraphClassifier:
    return GraphClassifier(max_epochs=8, random_state=0, device="cpu").fit(graph=GRAPH)


def test_weights_are_shares_of_the_members(fitted: GraphClassifier) -> None:
    shares = fitted.weights_
    assert sum(shares.values()) == pytest.approx(1)
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert {"filter", "filtered-links"} <= set(shares)  # drawn, whatever they weigh


def test_notes_of_members_are_those_of_all_that_were_trained(fitted: GraphClassifier) -> None:
    assert len(fitted.member_notes_) == 12
    assert sum(note.share for note in fitted.member_notes_) == pytest.approx(1)
    assert list(fitted.absent_.values()) == [
        "edges have neither directions nor types",
        "it needs at least 500 vertices",
    ]


def test_column_empty_on_every_labelled_vertex_is_left_out_of_the_trees_with_a_note() -> None:
    rng = np.random.default_rng(0)
    account = np.arange(60) < 45
    vertices = pd.DataFrame(
        {
            "id": np.arange(60),
            "age": rng.normal(size=60),
            "battery": np.where(account, np.nan, rng.normal(size=60)),
            "fraud": np.where(account, np.where(rng.random(60) < 0.5, "yes", "no"), ""),
        }
    )
    edges = pd.DataFrame(GRAPH.edges, columns=["source", "target"])
    graph = Graph.from_frames(vertices, edges, label="fraud")
    fitted = GraphClassifier(max_epochs=2, random_state=0, device="cpu").fit(graph=graph)
    note = next(note for note in fitted.notes_ if "averages" in note)
    assert "trees" in note
    assert "1 column without a value on any training vertex left out" in note
    assert "trees" in {n.name for n in fitted.member_notes_}


def test_failed_member_is_absent_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("window shape cannot be larger than input array shape")

    monkeypatch.setattr(Trees, "fit", fail)
    fitted = GraphClassifier(max_epochs=2, random_state=0, device="cpu").fit(graph=GRAPH)
    title = "trees on features and neighbours' averages"
    assert fitted.absent_[title].startswith("ValueError: window shape")
    expected = f"{title} failed and is left out: ValueError"
    assert any(note.startswith(expected) for note in fitted.notes_)


def test_another_graph_is_predicted_by_members_that_do_not_know_the_vertices(
    fitted: GraphClassifier,
) -> None:
    other = make_csbm(40, mean_degree=6, n_features=5, frequency=0.3, seed=5)
    probabilities = fitted.predict_proba(other.features, graph=other)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    heard = {member.system.name for member in fitted.members_of(fitted.prepare(other))}
    assert heard
    assert not heard & {"links", "filtered-links"}


def test_same_edges_with_other_features_are_the_fitted_graph(fitted: GraphClassifier) -> None:
    """Links are known by their vertices, not by what the vertices look like."""
    changed = GRAPH.replace(features=np.asarray(GRAPH.features) * 0.5)
    here = [member.system.name for member in fitted.members_of(fitted.prepare(GRAPH))]
    assert [member.system.name for member in fitted.members_of(fitted.prepare(changed))] == here


def test_unknown_effort_is_refused() -> None:
    with pytest.raises(ConfigError, match="effort"):
        GraphClassifier(effort="extreme").fit(graph=GRAPH)


def test_high_effort_trains_wider_networks_from_several_seeds() -> None:
    fitted = GraphClassifier(effort="high", max_epochs=2, random_state=0, device="cpu")
    fitted.fit(graph=GRAPH)
    notes = {note.name: note for note in fitted.member_notes_}
    assert "wide" in notes
    assert notes["features"].epochs == 3 * 2


def test_no_seconds_still_give_an_answer_and_negative_ones_are_refused() -> None:
    fitted = GraphClassifier(seconds=0, random_state=0, device="cpu").fit(graph=GRAPH)
    assert len(fitted.member_notes_) == 1
    assert fitted.absent_["deep network"] == "not started when training was stopped"
    assert not {note.title for note in fitted.member_notes_} & set(fitted.absent_)
    np.testing.assert_allclose(fitted.predict_proba().sum(axis=1), 1)
    with pytest.raises(ConfigError, match="seconds must not be negative"):
        GraphClassifier(seconds=-1).fit(graph=GRAPH)
    numbers = GraphRegressor(seconds=0, random_state=0, device="cpu")
    numbers.fit(GRAPH.features, np.arange(float(GRAPH.n_vertices)), graph=GRAPH)
    assert len(numbers.member_notes_) == 1
    assert np.isfinite(numbers.predict()).all()


def test_class_weights_reach_every_member() -> None:
    rare = np.where(np.arange(60) % 6 == 0, 1, 0)
    weighted = GraphClassifier(
        class_weight={0: 1.0, 1: 50.0}, max_epochs=8, random_state=0, device="cpu"
    ).fit(GRAPH.features, rare, graph=GRAPH)
    plain = clone(weighted).set_params(class_weight=None).fit(GRAPH.features, rare, graph=GRAPH)
    assert (weighted.predict() == 1).sum() > (plain.predict() == 1).sum()


def test_places_are_kept_with_the_model(
    fitted: GraphClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Singular vectors come out otherwise with other threads or libraries; trees must not care."""
    fitted.save(tmp_path / "model")
    expected = fitted.predict_proba()

    def otherwise(graph: Graph, features: Any) -> Any:
        raise AssertionError("places must not be found again")

    monkeypatch.setitem(VIEWS, "places", replace(VIEWS["places"], find=otherwise))
    again = GraphClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(graph=GRAPH), expected)
    assert again.explain(3, graph=GRAPH).score == pytest.approx(fitted.explain(3).score, abs=1e-5)


def test_trees_keep_the_basis_of_features_that_were_too_many(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    mixed = np.asarray(GRAPH.features) @ rng.normal(size=(5, 800))
    wide = GRAPH.replace(features=mixed + 0.1 * rng.normal(size=(60, 800)))
    fitted = GraphClassifier(max_epochs=2, random_state=0, device="cpu").fit(graph=wide)
    assert "trees" in {note.name for note in fitted.member_notes_}
    trees = next(m for m in fitted.fitted_members_ if m.system.name == "trees")
    assert (trees.system.view, trees.columns) == ("compressed averages", 59 * 4 + 1)
    fitted.save(tmp_path / "model")
    loaded = GraphClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(graph=wide), fitted.predict_proba())
    other = wide.subgraph(np.arange(30))
    np.testing.assert_array_equal(
        loaded.predict_proba(graph=other), fitted.predict_proba(graph=other)
    )


class Tracking(Callback):
    """A user's: logs to something with the interface of MLflow, and ends after some epochs."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most, self.metrics = most, list[tuple[str, float, int]]()

    def log_metric(self, key: str, value: float, step: int) -> None:
        self.metrics.append((key, value, step))

    def on_epoch(self, progress: Progress) -> bool:
        if progress.epoch:
            self.log_metric(progress.stage, progress.val_score, progress.epoch)
        return len(self.metrics) >= self.most


def test_callback_of_a_user_sees_every_member_and_changes_nothing() -> None:
    watched, alone = (GraphClassifier(effort="low", max_epochs=6, random_state=0) for _ in "12")
    tracking = Tracking(most=10**6)
    watched.fit(graph=GRAPH, callback=tracking)
    np.testing.assert_array_equal(watched.outputs_, alone.fit(graph=GRAPH).outputs_)
    stages = dict.fromkeys(stage.partition(" (")[0] for stage, _, _ in tracking.metrics)
    assert list(stages) == ["features alone", "adaptive filter"]
    steps = [step for stage, _, step in tracking.metrics if stage.startswith("features")]
    assert steps == list(range(1, 7))
    assert all(0 <= score <= 1 for _, score, _ in tracking.metrics)


def test_callback_of_a_user_ends_a_committee_which_answers_with_what_it_has() -> None:
    model = GraphClassifier(effort="low", max_epochs=6, random_state=0)
    model.fit(graph=GRAPH, callback=Tracking(most=3))
    assert model.n_epochs_ == 3
    assert {result.stopped for result in model.results_} >= {"asked"}
    assert model.absent_["adaptive filter"] == "not started when training was stopped"
    np.testing.assert_allclose(model.predict_proba().sum(axis=1), 1)
