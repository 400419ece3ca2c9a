"""What every system must hold, whatever its network."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import nn

from graphfilter.data.datasets import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.models import Network, ToldHops
from graphfilter.models.base import SideBySide
from graphfilter.operators import Operator, make_operator, to_tensor
from graphfilter.splits import stratified
from graphfilter.systems import SYSTEMS, System
from graphfilter.systems.system import Committee
from graphfilter.training import train

GRAPHS = ("csbm", "isolated")

NOT_EQUIVARIANT = {
    "geom-gcn-p": "starts its places in the disc at random numbers in the order of the vertices",
    "linkx": "has a row of weights a vertex",
    "acm-gcn": "has a row of weights a vertex",
    "glognn": "has a row of weights a vertex",
    "lanczosnet": "starts the Lanczos algorithm at random numbers in the order of the vertices",
}

NOTHING_TO_DROP = {"linkx": "its dropout is inside the final MLP, which has one layer"}

TRAINED = [s for s in SYSTEMS.values() if s.model is not None and not s.is_fitted]

SIDE_BY_SIDE = [
    s
    for s in (*TRAINED, *cast(Committee, SYSTEMS["committee"]).members)
    if s.model is not None and issubclass(type(s.model).network, SideBySide)
]


@pytest.fixture(params=TRAINED, ids=lambda system: system.name)
def system(request: pytest.FixtureRequest) -> System:
    return request.param


@cache
def make_graph(name: str) -> Graph:
    graph = make_csbm(n_vertices=40, mean_degree=5, n_features=7, frequency=0.5, seed=1)
    assert graph.features is not None
    assert graph.labels is not None
    if name == "csbm":
        return graph.largest_component()
    extra = np.random.default_rng(0).normal(size=(1, 7))
    features = np.concatenate([graph.features, extra])
    labels = np.append(graph.labels, 0)
    return Graph.from_edges(graph.edges, 41, features=features, labels=labels, name=name)


def build(
    system: System, graph: Graph, seed: int = 0
) -> tuple[Network[Any], Operator, torch.Tensor]:
    model = system.build(graph, seed)
    x = to_tensor(graph.features)
    assert isinstance(x, torch.Tensor)
    return model, make_operator(system.operator, graph), x


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("name", GRAPHS)
def test_system_gives_finite_logits(system: System, name: str) -> None:
    graph = make_graph(name)
    model, operator, x = build(system, graph)
    for training in (True, False):
        logits = model.train(training)(operator, x, seeded(1))
        assert logits.shape == (graph.n_vertices, graph.n_classes)
        assert logits.isfinite().all()


def test_system_draws_from_its_generator_only(system: System) -> None:
    """Same seeds, same weights and logits; the global generator is where it was."""
    graph = make_graph("csbm")
    before = torch.get_rng_state()
    first, operator, x = build(system, graph, seed=3)
    second, _, _ = build(system, graph, seed=3)
    other, _, _ = build(system, graph, seed=4)
    logits = [model(operator, x, seeded(5)) for model in (first, second, other)]
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(logits[0], logits[1])
    assert not torch.equal(logits[0], logits[2])


def test_system_drops_by_its_generator(system: System) -> None:
    if system.name in NOTHING_TO_DROP:
        pytest.skip(NOTHING_TO_DROP[system.name])
    graph = make_graph("csbm")
    model, operator, x = build(system, graph)
    one, same, other = (model(operator, x, seeded(seed)) for seed in (1, 1, 2))
    # A batch norm that has seen a batch still gives the same output in training.
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("system", SIDE_BY_SIDE, ids=lambda system: system.name)
def test_systems_side_by_side_are_each_alone(system: System) -> None:
    graph = make_graph("isolated")
    _, operator, x = build(system, graph)
    networks: Any = [[system.build(graph, seed).train() for seed in range(3)] for _ in range(2)]
    together, alone = networks
    made = together[0].forward_side_by_side(together, operator, x, [*map(seeded, range(3))])
    for run, (model, beside) in enumerate(zip(alone, together, strict=True)):
        expected = model(operator, x, seeded(run))
        torch.testing.assert_close(made[:, run], expected, rtol=1e-4, atol=1e-5)
        # Running averages too.
        for own, same in zip(model.buffers(), beside.buffers(), strict=True):
            torch.testing.assert_close(own, same)


def test_system_predicts_without_randomness(system: System) -> None:
    graph = make_graph("csbm")
    model, operator, x = build(system, graph)
    model.eval()
    with torch.no_grad():
        assert torch.equal(model(operator, x, seeded(1)), model(operator, x, None))


@pytest.mark.parametrize("name", GRAPHS)
def test_system_takes_sparse_features_like_dense_ones(system: System, name: str) -> None:
    graph = make_graph(name)
    features = np.asarray(graph.features)
    thinned = np.where(np.abs(features) > 1.2, features, 0)
    model, operator, _ = build(system, graph)
    model.eval()
    dense = to_tensor(thinned)
    sparse = to_tensor(sp.csr_array(thinned))
    assert type(sparse) is not type(dense)
    with torch.no_grad():
        torch.testing.assert_close(
            model(operator, sparse), model(operator, dense), rtol=1e-4, atol=1e-5
        )


def test_system_gradients_reach_every_parameter(system: System) -> None:
    graph = make_graph("isolated")
    model, operator, x = build(system, graph)
    labels = torch.tensor(graph.labels)
    nn.functional.cross_entropy(model(operator, x, seeded(0)), labels).backward()
    if isinstance(model, ToldHops):  # Its second network trains after its first.
        model.begun.fill_(1)
        nn.functional.cross_entropy(model(operator, x, seeded(0)), labels).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


@pytest.mark.parametrize("name", GRAPHS)
def test_system_trains(system: System, name: str) -> None:
    graph = make_graph(name)
    model, operator, x = build(system, graph)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    labels = torch.tensor(graph.labels)
    split = stratified(graph.labels, 0)
    config = replace(system.config, max_epochs=3)
    (result,) = train([model], operator, x, labels, [split], config, seeds=[0])
    assert result.n_epochs == 3
    assert np.isfinite(result.history["loss"]).all()
    assert any(not torch.equal(v, before[k]) for k, v in model.state_dict().items())


def test_system_weights_carry_over_to_a_new_network(system: System) -> None:
    graph = make_graph("csbm")
    model, operator, x = build(system, graph, seed=0)
    other, _, _ = build(system, graph, seed=1)
    model(operator, x, seeded(0))
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        assert torch.equal(model.eval()(operator, x), other.eval()(operator, x))


@pytest.mark.parametrize("name", GRAPHS)
def test_system_is_equivariant(system: System, name: str) -> None:
    """Numbering the vertices in another order gives the same logits in that order."""
    if system.name in NOT_EQUIVARIANT:
        pytest.skip(NOT_EQUIVARIANT[system.name])
    graph = make_graph(name)
    order = np.random.default_rng(0).permutation(graph.n_vertices)
    model, operator, x = build(system, graph)
    other, permuted, y = build(system, graph.subgraph(order))
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        expected = model.eval()(operator, x)[torch.from_numpy(order)]
        torch.testing.assert_close(other.eval()(permuted, y), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", sorted({*NOT_EQUIVARIANT, *NOTHING_TO_DROP}))
def test_exceptions_are_systems(name: str) -> None:
    assert name in SYSTEMS
