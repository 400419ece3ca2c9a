"""Edges with times: nothing of what is trained depends on those of the future."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import graphfilter as gf
from graphfilter.data.graph import Graph
from graphfilter.util.errors import ConfigError, GraphError

N = 60
RNG = np.random.default_rng(0)
PAIRS = RNG.integers(0, N, (300, 2))
TIMES = np.arange(300, dtype=float)
FEATURES = RNG.normal(size=(N, 5)).astype(np.float32)
LABELS = np.arange(N) % 2
SPLIT = gf.splits.stratified(LABELS, 0)


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
        classifier.__class__(**classifier.get_params()).fit(graph=make(pairs), split=SPLIT)
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
        outcomes += gf.systems.train_system(prepared, system, [SPLIT], seeds=[0])
    first, second = (outcome.network.state_dict() for outcome in outcomes)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not np.array_equal(outcomes[0].probabilities, outcomes[1].probabilities)


@pytest.mark.research
def test_a_network_of_one_graph_refuses_a_past() -> None:
    prepared = gf.systems.Prepared.of(make(PAIRS))
    with pytest.raises(ConfigError, match="linkx can predict only the graph it was trained on"):
        gf.systems.train_system(prepared, gf.systems.get_system("linkx"), [SPLIT], seeds=[0])


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
