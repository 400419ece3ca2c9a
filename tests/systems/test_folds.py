"""Folds that hold labels out, graphs that grow, edges of the past."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import graphfilter as gf
from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.models import ToldConfig, TreesConfig
from graphfilter.splits import Split, by_group, by_time, stratified
from graphfilter.systems import (
    Prepared,
    System,
    committee,
    get_system,
    predict_networks,
    train_system,
)
from graphfilter.systems.networks import Request
from graphfilter.systems.outcome import (
    LEAST,
    SHARES,
    CommitteeOutcome,
    Part,
    outputs_elsewhere,
    outputs_for_new,
    parts_taken_out,
    prior_weights,
    without_own_labels,
)
from graphfilter.systems.pooling import fit_pool, log_probabilities, together
from graphfilter.systems.prepared import N_FOLDS, NO_FOLD
from graphfilter.systems.system import Committee
from graphfilter.training import (
    CLASSIFICATION,
    MULTILABEL,
    REGRESSION,
    Callback,
    Progress,
    Task,
    TrainConfig,
)
from graphfilter.util.errors import ConfigError, GraphError

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
    seeds = replace(short("features", "trees", max_epochs=60), folds_up_to=0, few_labels=0)
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
    assert committee.choose_folds(system, Prepared.of(graph), split) is None


def test_large_graphs_have_no_folds_and_small_ones_do() -> None:
    system = get_system("committee")
    assert isinstance(system, Committee)
    prepared = Prepared.of(GRAPH)
    assert committee.choose_folds(system, prepared, SPLIT) is not None
    for_small = replace(system, folds_up_to=79, few_labels=0)
    assert committee.choose_folds(for_small, prepared, SPLIT) is None


def test_few_labels_are_all_learned_from_on_larger_graphs_too() -> None:
    """None chooses epochs or weights alone; above the limit, validation vertices do."""
    system = get_system("committee")
    assert isinstance(system, Committee)
    graph = make_csbm(1500, mean_degree=4, n_features=2, seed=0)
    assert graph.labels is not None
    labels = np.where(np.arange(1500) < 300, graph.labels, -1)
    few = stratified(np.where(np.arange(1500) < 60, labels, -1), 0)
    prepared = Prepared.of(graph)
    folding = committee.choose_folds(system, prepared, few)
    assert folding is not None
    assert sorted(np.flatnonzero(folding.held >= 0)) == sorted([*few.train, *few.val])
    assert committee.choose_folds(replace(system, few_labels=40), prepared, few) is None


def test_interrupted_it_resumes_to_the_same_bits(tmp_path: Path) -> None:
    system, path = short("features", "smooth"), tmp_path / "checkpoint.safetensors"
    whole = train(system)

    def stop(progress: Progress) -> None:
        if progress.stage.startswith("fixed average") and progress.epoch == 2:
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
    found = train(replace(short("features", "alike"), few_labels=0))
    assert found.held is None
    assert [len(part.runs) for part in found.parts] == [1, 1]


GROWN = make_csbm(60, mean_degree=6, n_features=5, frequency=0.3, seed=2)
GROWN_SPLIT = stratified(GROWN.labels, 0)


@settings(deadline=None, max_examples=50)
@given(
    n=st.integers(2, 60),
    part=st.floats(0, 1),
    share=st.sampled_from(SHARES),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_validation_vertex_is_new_once(n: int, part: float, share: float, seed: int) -> None:
    val = np.sort(np.random.default_rng(seed).permutation(n)[: int(part * n)])
    taken = list(parts_taken_out(n, val, share, seed))
    np.testing.assert_array_equal(np.sort(np.concatenate([asked for asked, _ in taken])), val)
    for asked, new in taken:
        assert set(asked) <= set(new)
        wanted = max(1, round((1 - share) * n))
        # Vertices that are validated on in another part stay known, and may be all there are.
        assert len(new) == len(set(new)) == min(wanted, len(asked) + n - len(val))
    again = list(parts_taken_out(n, val, share, seed))
    for one, other in zip(taken, again, strict=True):
        np.testing.assert_array_equal(one[1], other[1])


@pytest.fixture(scope="module")
def outcome_of() -> CommitteeOutcome:
    system = get_system("committee").with_(max_epochs=6)
    (found,) = train_system(Prepared.of(GROWN), system, [GROWN_SPLIT], [0])
    assert isinstance(found, CommitteeOutcome)
    return found


def test_members_say_the_same_of_new_vertices_unless_they_know_them_by_their_links(
    outcome_of: CommitteeOutcome,
) -> None:
    request = Request(Prepared.of(GROWN), outcome_of.system, [GROWN_SPLIT], [0])
    said = outputs_for_new(request, outcome_of.parts, GROWN_SPLIT.val, 0.7)
    for part, own in zip(outcome_of.parts, said, strict=True):
        seen = part.probabilities[GROWN_SPLIT.val]
        assert own.shape == seen.shape
        np.testing.assert_allclose(own.sum(axis=1), 1)
        if part.system.keeps_graph:
            assert not np.array_equal(own, seen)
        elif not part.system.recognises:
            np.testing.assert_array_equal(own, seen)


def test_there_is_a_pool_for_every_share_in_which_all_may_be_heard(
    outcome_of: CommitteeOutcome,
) -> None:
    assert len(outcome_of.growing) == len(SHARES)
    for pool in outcome_of.growing:
        assert pool.weights.shape == (len(outcome_of.parts),)
        assert pool.weights.max() > 0
    knows = np.array([part.system.recognises for part in outcome_of.parts])
    assert {part.system.name for part in outcome_of.parts if part.system.recognises} == {
        "alike", "places", "filtered-links", "mixed", "trees", "told-trees", "linear",
    }  # fmt: skip
    keeps = np.array([part.system.keeps_graph for part in outcome_of.parts])
    assert not outcome_of.elsewhere.weights[keeps].any()
    assert (knows >= keeps).all()


def test_some_rows_are_answered_as_all_are(outcome_of: CommitteeOutcome) -> None:
    prepared = Prepared.of(GROWN).taking_for_new([4, 7])
    rows = np.array([7, 2, 30])
    for part in outcome_of.parts:
        networks = [run.network for run in part.runs]
        some = predict_networks(prepared, part.system, networks, rows=rows)
        for one, all_of_them in zip(
            some, predict_networks(prepared, part.system, networks), strict=True
        ):
            np.testing.assert_allclose(one, all_of_them[rows], rtol=1e-5, atol=1e-7)


def test_committee_whose_members_know_no_vertices_has_no_such_pools() -> None:
    system = get_system("only-features").with_(max_epochs=2)
    (found,) = train_system(Prepared.of(GROWN), system, [GROWN_SPLIT], [0])
    assert isinstance(found, CommitteeOutcome)
    assert found.growing == ()


def test_on_another_graph_a_member_that_is_told_labels_is_weighed_without_any() -> None:
    prepared, config = Prepared.of(GROWN), TrainConfig(max_epochs=5)
    system = System("told", "told", ToldConfig(n_layers=2, hidden_size=4), config=config)
    runs = train_system(prepared, system, [GROWN_SPLIT], [0])
    part = Part.of(system, runs, CLASSIFICATION)
    assert part is not None
    (said,) = outputs_elsewhere(prepared, [part], GROWN_SPLIT.val)
    # As on a graph with other vertices in the places of these.
    nobody = runs[0].network.recognising(np.full(60, -1))
    (untold,) = predict_networks(prepared, system, [nobody], rows=GROWN_SPLIT.val)
    np.testing.assert_allclose(said, untold, atol=1e-6)
    assert np.abs(said - part.probabilities[GROWN_SPLIT.val]).max() > 1e-3


N = 60
RNG = np.random.default_rng(0)
PAIRS = RNG.integers(0, N, (300, 2))
TIMES = np.arange(300, dtype=float)
FEATURES = RNG.normal(size=(N, 5)).astype(np.float32)
LABELS = np.arange(N) % 2
PAST_SPLIT = gf.splits.stratified(LABELS, 0)


def make(pairs: np.ndarray, **options: object) -> Graph:
    return Graph.from_edges(
        pairs, N, features=FEATURES, labels=LABELS, times=TIMES, **options  # pyright: ignore
    ).as_of(200.0)  # fmt: skip


def with_another_future(seed: int = 1) -> np.ndarray:
    changed = PAIRS.copy()
    changed[200:] = np.random.default_rng(seed).integers(0, N, (100, 2))
    return changed


def networks(classifier: gf.SGFClassifier | gf.GraphClassifier) -> list[torch.Tensor]:
    return [t for member in classifier.members_ for t in member.state_dict().values()]


def test_the_past_is_the_graph_of_the_rows_before() -> None:
    weights = RNG.random(300)
    kinds = np.array(["a", "b", "c"])[np.arange(300) % 3]
    graph = make(PAIRS, weights=weights, kinds=kinds, directed=True, merge="sum")
    earlier = Graph.from_edges(
        PAIRS[:200], N, features=FEATURES, labels=LABELS, weights=weights[:200],
        kinds=kinds[:200], directed=True, merge="sum",
    )  # fmt: skip
    assert graph.past.checksum() == earlier.checksum()
    order = np.random.default_rng(2).permutation(N)
    assert graph.subgraph(order).past.checksum() == earlier.subgraph(order).checksum()
    plain = Graph.from_edges(PAIRS, N)
    assert plain.past is plain


@pytest.mark.parametrize(
    "classifier",
    [
        gf.SGFClassifier(max_epochs=4, random_state=0),
        gf.GraphClassifier(effort="low", max_epochs=4, random_state=0),
        gf.GraphClassifier(max_epochs=3, random_state=0),
    ],
    ids=["sgf", "committee-low", "committee"],
)
def test_training_knows_no_edge_of_the_future(
    classifier: gf.SGFClassifier | gf.GraphClassifier,
) -> None:
    """Another future changes no weight, and what the future holds changes predictions."""
    fitted = [
        classifier.__class__(**classifier.get_params()).fit(graph=make(pairs), split=PAST_SPLIT)
        for pairs in (PAIRS, with_another_future())
    ]
    first, second = (networks(one) for one in fitted)
    assert len(first) == len(second)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    shares = [[member.weight for member in one.fitted_members_] for one in fitted]
    assert shares[0] == shares[1]
    answers = [one.predict_proba() for one in fitted]
    assert not np.array_equal(answers[0], answers[1])
    whole = Graph.from_edges(PAIRS, N, features=FEATURES)
    np.testing.assert_allclose(fitted[0].predict_proba(graph=whole), answers[0], atol=1e-6)


def test_plain_models_are_trained_on_the_past_too() -> None:
    outcomes = []
    for pairs in (PAIRS, with_another_future()):
        prepared = gf.systems.Prepared.of(make(pairs))
        system = gf.systems.get_system("appnp").with_(max_epochs=4)
        outcomes += gf.systems.train_system(prepared, system, [PAST_SPLIT], seeds=[0])
    first, second = (outcome.network.state_dict() for outcome in outcomes)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not np.array_equal(outcomes[0].probabilities, outcomes[1].probabilities)


@pytest.mark.research
def test_a_network_of_one_graph_refuses_a_past() -> None:
    prepared = gf.systems.Prepared.of(make(PAIRS))
    with pytest.raises(ConfigError, match="linkx can predict only the graph it was trained on"):
        gf.systems.train_system(prepared, gf.systems.get_system("linkx"), [PAST_SPLIT], seeds=[0])


def test_moments_are_dates_or_numbers_as_the_times_are() -> None:
    days = np.datetime64("2024-01-01") + np.arange(3).astype("timedelta64[D]")
    graph = Graph.from_edges([[0, 1], [1, 2], [2, 3]], times=days)
    assert graph.as_of("2024-01-03").past.n_edges == 2
    assert graph.as_of("2024-01-02 12:00").past.n_edges == 2
    with pytest.raises(ConfigError, match=r"a date like 2024-12-31; got '2024'"):
        graph.as_of("2024")
    with pytest.raises(GraphError, match=r"an edge must be before 2023-01-01"):
        graph.as_of("2023-01-01")
    numbered = Graph.from_edges([[0, 1], [1, 2]], times=[2001, 2002])
    assert numbered.as_of(2002).past.n_edges == 1
    with pytest.raises(ConfigError, match="must be a number"):
        numbered.as_of("2002-01-01")
    with pytest.raises(GraphError, match="they have none"):
        Graph.from_edges([[0, 1]]).as_of(1)
    unknown = Graph.from_edges([[0, 1], [1, 2]], times=[1.0, np.nan]).as_of(5)
    assert unknown.past.n_edges == 1
    assert unknown.history is not None
    assert "1 of 2 rows of edges, those before 5 (1 have no time)" in unknown.history.note()
