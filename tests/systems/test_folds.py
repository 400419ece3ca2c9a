"""Committees whose networks each hold a fold of the labelled vertices out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.models import TreesConfig
from graphfilter.splits import EARLIER, N_FOLDS, NO_FOLD, Split, by_group, by_time, stratified
from graphfilter.systems import Prepared, committee, get_system, predict_networks, train_system
from graphfilter.systems.networks import Start
from graphfilter.systems.outcome import (
    LEAST,
    CommitteeOutcome,
    Part,
    prior_weights,
    without_own_labels,
)
from graphfilter.systems.pooling import fit_pool, log_probabilities, together
from graphfilter.systems.system import Committee
from graphfilter.training import MULTILABEL, REGRESSION, Callback, Progress, Task

GRAPH = make_csbm(80, mean_degree=6, n_features=5, frequency=0.3, seed=2)
SPLIT = stratified(GRAPH.labels, 0)
LABELLED = np.sort(np.concatenate([SPLIT.train, SPLIT.val]))


def short(*names: str, max_epochs: int = 4) -> Committee:
    """The committee of these members, for few epochs."""
    system = get_system("committee").with_(max_epochs=max_epochs)
    assert isinstance(system, Committee)
    members = [m for m in system.members if m.name in names]
    few = [
        replace(m, model=TreesConfig(n_rounds=3)) if isinstance(m.model, TreesConfig) else m
        for m in members
    ]
    return replace(system, members=tuple(few))


def train(
    system: Committee, graph: Graph = GRAPH, split: Split = SPLIT, **options: Any
) -> CommitteeOutcome:
    (outcome,) = train_system(Prepared.of(graph), system, [split], [3], **options)
    assert isinstance(outcome, CommitteeOutcome)
    return outcome


@pytest.fixture(scope="module")
def outcome() -> CommitteeOutcome:
    return train(short("features", "filter", "alike", "trees"))


def test_each_network_learns_from_all_labels_but_its_fold(outcome: CommitteeOutcome) -> None:
    held = outcome.held
    assert held is not None
    np.testing.assert_array_equal(np.flatnonzero(held != NO_FOLD), LABELLED)
    for part in outcome.parts:
        assert len(part.runs) == N_FOLDS
        for fold in range(N_FOLDS):
            seen = part.learned_from(fold, SPLIT.train)
            assert set(seen) == set(LABELLED) - set(np.flatnonzero(held == fold))


def test_a_labelled_vertex_is_answered_for_by_who_has_not_seen_its_label(
    outcome: CommitteeOutcome,
) -> None:
    held = outcome.held
    assert held is not None
    prepared = Prepared.of(GRAPH)
    for part in outcome.parts:
        said = predict_networks(prepared, part.system, [run.network for run in part.runs])
        for vertex in (*SPLIT.train[:5], *SPLIT.val[:5]):
            for run in part.runs:
                np.testing.assert_array_equal(run.probabilities[vertex], said[held[vertex]][vertex])
            np.testing.assert_allclose(
                part.probabilities[vertex], said[held[vertex]][vertex], atol=1e-9
            )
        np.testing.assert_allclose(part.probabilities[SPLIT.test], together(said)[SPLIT.test])


def test_members_are_weighed_on_every_labelled_vertex(outcome: CommitteeOutcome) -> None:
    said = log_probabilities([part.probabilities for part in outcome.parts])[:, LABELLED]
    shares = prior_weights([part.system for part in outcome.parts], GRAPH, SPLIT)
    assert GRAPH.labels is not None
    labels = GRAPH.labels[LABELLED]
    whole = fit_pool(said, labels, prior=shares)
    heard = whole.shares >= min(LEAST, whole.shares.max())
    kept = fit_pool(said[heard], labels, prior=shares[heard])
    np.testing.assert_allclose(outcome.pool.weights[heard], kept.weights, atol=1e-9)
    np.testing.assert_allclose(outcome.pool.temperatures[heard], kept.temperatures, atol=1e-9)


def test_labels_of_test_vertices_change_nothing() -> None:
    assert GRAPH.labels is not None
    labels = GRAPH.labels.copy()
    labels[SPLIT.test] = 1 - labels[SPLIT.test]
    system = short("features", "alike")
    first, second = (train(system, g) for g in (GRAPH, GRAPH.replace(labels=labels)))
    np.testing.assert_array_equal(first.probabilities, second.probabilities)


def test_features_that_say_nothing_are_not_learned_by_heart() -> None:
    """Where nothing can be learned, answers for labelled vertices are no better than others."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(120, 40)).astype(np.float32)
    edges = rng.integers(0, 120, size=(300, 2))
    graph = Graph.from_edges(edges, n_vertices=120, features=noise, labels=np.arange(120) % 2)
    split = stratified(graph.labels, 0)
    found = train(short("features", "trees", max_epochs=60), graph, split)
    right = found.probabilities.argmax(axis=1) == graph.labels
    assert right[split.train].mean() < 0.65
    seeds = replace(short("features", "trees", max_epochs=60), folds_up_to=0)
    learned = train(seeds, graph, split).probabilities.argmax(axis=1) == graph.labels
    assert learned[split.train].mean() > 0.75


def no_edges() -> Graph:
    return Graph.from_edges(
        np.zeros((0, 2), dtype=int), features=GRAPH.features, labels=GRAPH.labels
    )


@pytest.mark.parametrize(
    ("graph", "split"),
    [
        (GRAPH, Split(SPLIT.train, SPLIT.val, SPLIT.test)),
        (GRAPH, by_time(GRAPH.labels, np.arange(80))),
        (GRAPH, by_group(GRAPH.labels, np.arange(80) // 4, 0)),
        (GRAPH, Split(SPLIT.train, [], SPLIT.test, rule=SPLIT.rule)),
        (GRAPH, Split(SPLIT.train[:6], SPLIT.val[:3], SPLIT.test, rule=SPLIT.rule)),
        (no_edges(), SPLIT),
    ],
    ids=["given", "by time", "by group", "no validation", "few labels", "no edges"],
)
def test_parts_are_not_divided_again_where_that_would_mislead(graph: Graph, split: Split) -> None:
    system = get_system("committee")
    assert isinstance(system, Committee)
    assert committee.choose_folds(system, Prepared.of(graph), split, None) is None


def test_large_graphs_have_no_folds_and_small_ones_do() -> None:
    system = get_system("committee")
    assert isinstance(system, Committee)
    prepared = Prepared.of(GRAPH)
    assert committee.choose_folds(system, prepared, SPLIT, None) is not None
    assert committee.choose_folds(replace(system, folds_up_to=79), prepared, SPLIT, None) is None


def test_weights_begun_with_decide_which_vertices_are_held_out() -> None:
    system, prepared = get_system("committee"), Prepared.of(GRAPH)
    assert isinstance(system, Committee)
    # Earlier networks that all learned from the training vertices must not see others now.
    assert committee.choose_folds(system, prepared, SPLIT, Start(())) is None
    kept = np.full(80, NO_FOLD, dtype=np.int8)
    kept[SPLIT.train[:10]] = 4
    parts = SPLIT.train, SPLIT.val, SPLIT.test
    start, given = Start((), held=kept), Split(*parts)
    assert committee.choose_folds(system, prepared, given, start) is None
    found = committee.choose_folds(
        system, prepared, Split(*parts, rule=f"{EARLIER}; others drawn"), start
    )
    assert found is not None
    assert (found.held[SPLIT.train[:10]] == 4).all()


def test_interrupted_it_resumes_to_the_same_bits(tmp_path: Path) -> None:
    system, path = short("features", "smooth"), tmp_path / "checkpoint.safetensors"
    whole = train(system)

    def stop(progress: Progress) -> None:
        if progress.stage.startswith("fixed low-pass") and progress.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(system, callback=Callback(stop, checkpoint=path))
    resumed = train(system, callback=Callback(checkpoint=path, resume=True))
    np.testing.assert_array_equal(resumed.probabilities, whole.probabilities)


def test_several_splits_at_once_are_those_alone() -> None:
    system, other = short("features", "alike"), stratified(GRAPH.labels, 1)
    both = train_system(Prepared.of(GRAPH), system, [SPLIT, other], [3, 4])
    alone = train(system)
    np.testing.assert_allclose(both[0].probabilities, alone.probabilities, atol=1e-5)
    assert isinstance(both[1], CommitteeOutcome)
    assert both[1].held is not None
    assert set(np.flatnonzero(both[1].held != NO_FOLD)) == {*other.train, *other.val}


@pytest.mark.parametrize("task", [MULTILABEL, REGRESSION])
def test_labels_and_numbers_are_held_out_too(task: Task) -> None:
    assert GRAPH.labels is not None
    targets = np.column_stack([GRAPH.labels, 1 - GRAPH.labels]).astype(np.float32)
    prepared = Prepared.of(GRAPH, task=task, targets=targets)
    (found,) = train_system(prepared, short("features", "alike"), [SPLIT], [0])
    assert isinstance(found, CommitteeOutcome)
    assert found.held is not None
    for part in found.parts:
        said = predict_networks(prepared, part.system, [run.network for run in part.runs])
        own = without_own_labels(said, found.held)
        for run, expected in zip(part.runs, own, strict=True):
            np.testing.assert_allclose(run.probabilities, expected, atol=1e-6)


def test_a_member_that_fails_in_one_fold_is_left_out(outcome: CommitteeOutcome) -> None:
    part = outcome.parts[0]
    lost = replace(part.runs[2], probabilities=np.full_like(part.probabilities, np.nan))
    runs = [*part.runs[:2], lost, *part.runs[3:]]
    assert Part.of(part.system, runs, Prepared.of(GRAPH).task, outcome.held) is None
    assert Part.of(part.system, runs, Prepared.of(GRAPH).task) is not None


def test_folds_take_the_place_of_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committee, "MOST_REPEATS", 1)
    found = train(short("features", "alike"))
    assert found.held is None
    assert [len(part.runs) for part in found.parts] == [1, 1]
