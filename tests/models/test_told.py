"""ToldNetwork: what it is told, what is hidden from it, and what it says on other graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.models import NormedNetwork, ToldConfig, ToldNetwork
from graphfilter.models.deep import ALL_HIDDEN, HIDDEN
from graphfilter.operators import augmented_adjacency
from graphfilter.splits import Split
from graphfilter.systems import Prepared, System, train_system
from graphfilter.training import MULTILABEL, REGRESSION, Task, TrainConfig
from graphfilter.util.errors import GraphError

GRAPH = make_csbm(30, mean_degree=4, n_features=5, frequency=0.6, seed=0)
OPERATOR = augmented_adjacency(GRAPH)
X = torch.tensor(GRAPH.features)
assert GRAPH.labels is not None
ONE_HOT = torch.nn.functional.one_hot(torch.tensor(GRAPH.labels), 2).float()
ROWS = torch.arange(0, 30, 3)


def make(seed: int = 0, dropout: float = 0.0, n_layers: int = 2) -> ToldNetwork:
    config = ToldConfig(n_layers=n_layers, hidden_size=3, dropout=dropout)
    return ToldNetwork(5, 2, config, generator=torch.Generator().manual_seed(seed))


def told(rows: Tensor = ROWS, targets: Tensor = ONE_HOT, **options: int) -> ToldNetwork:
    network = make(**options).eval()
    network.tell(targets, rows)
    return network


def test_it_is_a_normed_network_with_known_labels_among_its_columns() -> None:
    network = told()
    known = torch.zeros(30, 3)
    known[ROWS, :2], known[ROWS, 2] = ONE_HOT[ROWS], 1.0
    torch.testing.assert_close(network.told[:, :-1].float(), known)
    added = (known @ network.of_labels)[:, None]
    layers = NormedNetwork.forward_side_by_side.__func__
    expected = layers(ToldNetwork, [network], OPERATOR, X, [None], added)
    made = ToldNetwork.forward_side_by_side([network], OPERATOR, X, [None])
    torch.testing.assert_close(made, expected)
    others = np.setdiff1d(np.arange(30), ROWS)
    torch.testing.assert_close(network(OPERATOR, X)[others], expected[others, 0])


def test_without_labels_it_is_a_normed_network() -> None:
    network = make().eval()
    plain = NormedNetwork.forward_side_by_side.__func__(ToldNetwork, [network], OPERATOR, X, [None])
    torch.testing.assert_close(network(OPERATOR, X), plain[:, 0], rtol=0, atol=0)
    logits, weight = ToldNetwork.training_side_by_side([network], OPERATOR, X, [None])
    assert weight is None
    torch.testing.assert_close(logits, plain, rtol=0, atol=0)


@pytest.mark.parametrize("vertex", [0, 3, 27])
def test_the_answer_for_a_vertex_does_not_depend_on_its_own_label(vertex: int) -> None:
    other = ONE_HOT.clone()
    other[vertex] = 1 - other[vertex]
    first, second = (told(targets=targets)(OPERATOR, X) for targets in (ONE_HOT, other))
    torch.testing.assert_close(first[vertex], second[vertex], rtol=0, atol=0)
    neighbours = GRAPH.indices[GRAPH.indptr[vertex] : GRAPH.indptr[vertex + 1]]
    assert not torch.equal(first[neighbours], second[neighbours])


def test_hidden_labels_are_not_seen_and_only_they_are_learned_from() -> None:
    generator = torch.Generator()
    network = told(torch.arange(30)).train()
    seen = {0: 0, 1: 0}
    for seed in range(40):
        logits, weight = network.training_side_by_side(
            [network], OPERATOR, X, [generator.manual_seed(seed)]
        )
        assert weight is not None
        hidden = weight[:, 0] > 0
        swapped = torch.where(hidden[:, None], 1 - ONE_HOT, ONE_HOT)
        other = told(torch.arange(30), swapped).train()
        again, _ = other.training_side_by_side([other], OPERATOR, X, [generator.manual_seed(seed)])
        torch.testing.assert_close(again, logits, rtol=0, atol=0)
        share = 1.0 if hidden.all() else HIDDEN
        torch.testing.assert_close(weight[hidden], torch.full((int(hidden.sum()), 1), 1 / share))
        seen[int(hidden.all())] += 1
    assert 40 * ALL_HIDDEN / 2 < seen[1] < 40 * ALL_HIDDEN * 2


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_runs_side_by_side_are_those_alone(dropout: float) -> None:
    together, alone = ([make(s, dropout).train() for s in (0, 1)] for _ in range(2))
    for models in (together, alone):
        for run, model in enumerate(models):
            model.tell(ONE_HOT, ROWS + run)
    generators = [torch.Generator().manual_seed(s) for s in (5, 6)]
    made, weights = ToldNetwork.training_side_by_side(together, OPERATOR, X, generators)
    assert weights is not None
    for run, model in enumerate(alone):
        own, weight = ToldNetwork.training_side_by_side(
            [model], OPERATOR, X, [torch.Generator().manual_seed(5 + run)]
        )
        assert weight is not None
        torch.testing.assert_close(made[:, run], own[:, 0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(weights[:, run], weight[:, 0])


def test_on_another_graph_it_knows_those_that_it_recognises() -> None:
    network = told()
    numbers = np.array([3, -1, 0, 1])
    there = network.recognising(numbers)
    expected = torch.stack([network.told[3], torch.zeros(4).half(), *network.told[:2]])
    torch.testing.assert_close(there.told, expected)
    nothing = network.recognising(np.zeros(0, dtype=np.int64))
    untold = make().eval()
    torch.testing.assert_close(nothing(OPERATOR, X), untold(OPERATOR, X), rtol=0, atol=0)
    assert len(network.told) == 30
    with pytest.raises(GraphError, match="told the labels of 4 vertices, and the graph has 30"):
        there(OPERATOR, X)


def test_answers_do_not_depend_on_the_order_of_the_vertices() -> None:
    network, order = told(), np.random.default_rng(0).permutation(30)
    moved = GRAPH.subgraph(order)
    there = network.recognising(order)(augmented_adjacency(moved), torch.tensor(moved.features))
    torch.testing.assert_close(there, network(OPERATOR, X)[order], rtol=1e-4, atol=1e-5)


def test_what_it_was_told_is_part_of_its_state() -> None:
    network, fresh = told(), make(seed=1).eval()
    fresh.load_state_dict(network.state_dict())
    torch.testing.assert_close(fresh(OPERATOR, X), network(OPERATOR, X), rtol=0, atol=0)
    wrong = network.state_dict() | {"told": torch.zeros(30, 5)}
    with pytest.raises(RuntimeError, match="size mismatch"):
        fresh.load_state_dict(wrong)


def ring(n: int = 600) -> Graph:
    """A ring of long runs of one class, whose features say nothing."""
    rng = np.random.default_rng(0)
    edges = [(v, (v + 1) % n) for v in range(n)]
    labels = np.arange(n) // 20 % 2
    return Graph.from_edges(edges, features=rng.normal(size=(n, 3)), labels=labels)


def system() -> System:
    config = TrainConfig(max_epochs=60, learning_rate=0.01, weight_decay=0.0)
    return System("told", "told", ToldConfig(n_layers=3), config=config)


def test_it_learns_from_the_labels_of_neighbours() -> None:
    graph = ring()
    parts = np.split(np.random.default_rng(1).permutation(600), [400, 500])
    split = Split(*parts, rule="drawn")
    (outcome,) = train_system(Prepared.of(graph), system(), [split], [0])
    assert graph.labels is not None
    right = outcome.probabilities.argmax(1) == graph.labels
    assert right[split.test].mean() > 0.9
    # Those it was told of are answered for without their own label.
    assert 0.8 < right[split.train].mean() < 1.0
    network = outcome.network
    assert isinstance(network, ToldNetwork)
    known = np.flatnonzero(network.told[:, -2].numpy())
    assert set(known) == set(split.train)
    untold = network.recognising(np.zeros(0, dtype=np.int64))
    lost = untold(augmented_adjacency(graph), torch.tensor(graph.features)).argmax(1).numpy()
    assert (lost == graph.labels)[split.test].mean() < 0.7


def test_labels_of_other_vertices_change_nothing() -> None:
    graph = ring()
    assert graph.labels is not None
    split = Split(*np.split(np.random.default_rng(1).permutation(600), [400, 500]), rule="drawn")
    labels = graph.labels.copy()
    labels[split.test] = 1 - labels[split.test]
    first, second = (
        train_system(Prepared.of(g), system().with_(max_epochs=5), [split], [0])[0].probabilities
        for g in (graph, replace(graph, labels=labels))
    )
    assert np.array_equal(first, second)


@pytest.mark.parametrize("task", [MULTILABEL, REGRESSION])
def test_it_is_told_several_labels_or_numbers(task: Task) -> None:
    graph = ring()
    assert graph.labels is not None
    signs = 2.0 * graph.labels - 1
    targets = np.column_stack([signs, -signs]).astype(np.float32)
    if task is MULTILABEL:
        targets = (targets > 0).astype(np.float32)
    split = Split(*np.split(np.random.default_rng(1).permutation(600), [400, 500]), rule="drawn")
    prepared = Prepared.of(graph, task=task, targets=targets)
    (outcome,) = train_system(prepared, system(), [split], [0])
    right = (outcome.probabilities > (0.5 if task is MULTILABEL else 0)) == (targets > 0)
    assert right[split.test].mean() > 0.9
