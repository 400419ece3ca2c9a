"""What members say of validation vertices that are taken for new."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from graphfilter.data import make_csbm
from graphfilter.models import ToldConfig
from graphfilter.models.places import Known
from graphfilter.splits import stratified
from graphfilter.systems import Prepared, System, get_system, predict_networks, train_system
from graphfilter.systems.outcome import (
    SHARES,
    CommitteeOutcome,
    Part,
    outputs_elsewhere,
    outputs_for_new,
    parts_taken_out,
)
from graphfilter.training import CLASSIFICATION, TrainConfig

GRAPH = make_csbm(60, mean_degree=6, n_features=5, frequency=0.3, seed=2)
SPLIT = stratified(GRAPH.labels, 0)


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
def outcome() -> CommitteeOutcome:
    system = get_system("committee").with_(max_epochs=6)
    (found,) = train_system(Prepared.of(GRAPH), system, [SPLIT], [0])
    assert isinstance(found, CommitteeOutcome)
    return found


def test_members_say_the_same_of_new_vertices_unless_they_know_them_by_their_links(
    outcome: CommitteeOutcome,
) -> None:
    prepared = Prepared.of(GRAPH)
    said = outputs_for_new(prepared, outcome.parts, SPLIT.val, 0.7, 0, train=SPLIT.train)
    for part, own in zip(outcome.parts, said, strict=True):
        seen = part.probabilities[SPLIT.val]
        assert own.shape == seen.shape
        np.testing.assert_allclose(own.sum(axis=1), 1)
        if part.system.keeps_graph:
            assert not np.array_equal(own, seen)
        elif not part.system.recognises:
            np.testing.assert_array_equal(own, seen)


def test_there_is_a_pool_for_every_share_in_which_all_may_be_heard(
    outcome: CommitteeOutcome,
) -> None:
    assert len(outcome.growing) == len(SHARES)
    for pool in outcome.growing:
        assert pool.weights.shape == (len(outcome.parts),)
        assert pool.weights.max() > 0
    knows = np.array([part.system.recognises for part in outcome.parts])
    assert {part.system.name for part in outcome.parts if part.system.recognises} == {
        "alike", "places", "filtered-links", "mixed", "trees",
    }  # fmt: skip
    keeps = np.array([part.system.keeps_graph for part in outcome.parts])
    assert not outcome.elsewhere.weights[keeps].any()
    assert (knows >= keeps).all()


def test_some_rows_are_answered_as_all_are(outcome: CommitteeOutcome) -> None:
    prepared = Prepared.of(GRAPH).knowing(Known.all_but(60, [4, 7]))
    rows = np.array([7, 2, 30])
    for part in outcome.parts:
        networks = [run.network for run in part.runs]
        some = predict_networks(prepared, part.system, networks, rows=rows)
        for one, all_of_them in zip(
            some, predict_networks(prepared, part.system, networks), strict=True
        ):
            np.testing.assert_allclose(one, all_of_them[rows], rtol=1e-5, atol=1e-7)


def test_committee_whose_members_know_no_vertices_has_no_such_pools() -> None:
    system = get_system("only-features").with_(max_epochs=2)
    (found,) = train_system(Prepared.of(GRAPH), system, [SPLIT], [0])
    assert isinstance(found, CommitteeOutcome)
    assert found.growing == ()


def test_on_another_graph_a_member_that_is_told_labels_is_weighed_without_any() -> None:
    prepared, config = Prepared.of(GRAPH), TrainConfig(max_epochs=5)
    system = System("told", "told", ToldConfig(n_layers=2, hidden_size=4), config=config)
    runs = train_system(prepared, system, [SPLIT], [0])
    part = Part.of(system, runs, CLASSIFICATION)
    assert part is not None
    (said,) = outputs_elsewhere(prepared, [part], SPLIT.val)
    # As on a graph with other vertices in the places of these.
    nobody = runs[0].network.recognising(np.full(60, -1))
    (untold,) = predict_networks(prepared, system, [nobody], rows=SPLIT.val)
    np.testing.assert_allclose(said, untold, atol=1e-6)
    assert np.abs(said - part.probabilities[SPLIT.val]).max() > 1e-3
