"""Contributions against dense matrices, and against each other."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.estimators.contributions import (
    Member,
    explain_by_leaving_out,
    explain_linear,
    explain_members,
    steps_from,
)
from graphfilter.filters import ChebyshevFilter, Filter, IdentityFilter, StackedFilter
from graphfilter.models import FilterNetwork
from graphfilter.operators import Operator, make_operator, to_tensor
from graphfilter.systems import get_system


@pytest.fixture(scope="module")
def graph() -> Graph:
    return make_csbm(n_vertices=40, frequency=0.4, mean_degree=4, n_features=5, seed=1)


def make_network(graph: Graph, filter: Filter | None = None, **settings: Any) -> FilterNetwork:
    generator = torch.Generator().manual_seed(3)
    filter = StackedFilter(5, init=0.4) if filter is None else filter
    network = FilterNetwork(graph.n_features, 3, filter, generator=generator, **settings)
    return network.double().eval()


def double(graph: Graph) -> tuple[Operator, torch.Tensor]:
    operator = make_operator("augmented_adjacency", graph, dtype=torch.float64)
    x = to_tensor(graph.features, dtype=torch.float64)
    assert isinstance(x, torch.Tensor)
    return operator, x


SETTINGS = [
    {},
    {"filter_on": "logits"},
    {"hidden_size": None, "filter_on": "logits"},
    {"activation": "tanh"},
    {"filter": ChebyshevFilter(4)},
    {"filter": IdentityFilter()},
]
DIRECTIONS = np.array([[1.0, -1.0, 0.0], [1.0, -0.5, -0.5]])


@pytest.mark.parametrize("setting", SETTINGS)
def test_contributions_sum_to_the_score(graph: Graph, setting) -> None:
    network = make_network(graph, **setting)
    operator, x = double(graph)
    logits = network(operator, x).detach().numpy()
    made = explain_linear(network, operator, x, graph, [7, 11], DIRECTIONS)
    for vertex, direction, parts in zip([7, 11], DIRECTIONS, made, strict=True):
        assert parts.score == pytest.approx(logits[vertex] @ direction, abs=1e-10)
        assert parts.vertices is not None
        assert parts.vertices.sum() == pytest.approx(parts.steps.sum(), abs=1e-10)


def test_contribution_of_a_vertex_is_its_entry_of_the_filter_matrix(graph: Graph) -> None:
    network = make_network(graph)
    operator, x = double(graph)
    matrix = network.filter(operator, torch.eye(40, dtype=torch.float64)).detach().numpy()
    assert network.encoder is not None
    with torch.no_grad():
        moved = torch.relu(network.encoder(x)) - torch.relu(
            network.encoder(x.mean(0, keepdim=True))
        )
        said = (moved @ network.head.weight).numpy() @ DIRECTIONS[0]
    parts = explain_linear(network, operator, x, graph, [7], DIRECTIONS[:1])[0]
    assert parts.vertices is not None
    np.testing.assert_allclose(parts.vertices, matrix[7] * said, atol=1e-12)


@pytest.mark.parametrize("setting", SETTINGS)
def test_features_divide_what_their_vertices_contribute(graph: Graph, setting) -> None:
    network = make_network(graph, **setting)
    operator, x = double(graph)
    parts = explain_linear(network, operator, x, graph, [7], DIRECTIONS[:1])[0]
    assert parts.own_features is not None
    assert parts.other_features is not None
    assert parts.own_features.sum() == pytest.approx(parts.steps[0], abs=1e-10)
    assert parts.other_features.sum() == pytest.approx(parts.steps[1:].sum(), abs=1e-10)


def test_feature_that_the_network_does_not_read_contributes_nothing(graph: Graph) -> None:
    network = make_network(graph)
    assert network.encoder is not None
    with torch.no_grad():
        network.encoder.weight[2] = 0
    operator, x = double(graph)
    parts = explain_linear(network, operator, x, graph, [7], DIRECTIONS[:1])[0]
    assert parts.own_features is not None
    assert parts.other_features is not None
    assert parts.own_features[2] == parts.other_features[2] == 0


@pytest.mark.parametrize("setting", SETTINGS)
def test_leaving_out_equals_the_exact_contributions_of_a_linear_filter(
    graph: Graph, setting
) -> None:
    network = make_network(graph, **setting)
    operator, x = double(graph)
    exact = explain_linear(network, operator, x, graph, [7, 11], DIRECTIONS)

    def logits(features: torch.Tensor, at: int | slice) -> torch.Tensor:
        return network(operator, features)[at]

    measured = explain_by_leaving_out(logits, x, graph, [7, 11], DIRECTIONS)
    for a, b in zip(exact, measured, strict=True):
        np.testing.assert_allclose([a.base, a.structure], [b.base, b.structure], atol=1e-10)
        np.testing.assert_allclose(a.steps, b.steps, atol=1e-10)


@pytest.mark.research
def test_leaving_out_of_a_deep_network_sums_to_its_score(graph: Graph) -> None:
    system = get_system("gcn")
    network = system.build(graph, seed=0).eval()
    operator = make_operator(system.operator, graph)
    x = to_tensor(graph.features)
    assert isinstance(x, torch.Tensor)
    member = Member.of(network, operator, x)
    assert member.terms == ()
    logits = network(operator, x).detach().double().numpy()
    parts = explain_members([member], graph, [5], np.array([[1.0, -1.0]]))
    assert parts[0].score == pytest.approx(logits[5, 0] - logits[5, 1], abs=1e-5)
    # Two layers: what is three steps away is not seen.
    np.testing.assert_allclose(parts[0].steps[3:], 0, atol=1e-6)


def test_sparse_features_are_explained_as_dense_ones(graph: Graph) -> None:
    rng = np.random.default_rng(0)
    sparse = sp.random_array((40, 12), density=0.1, rng=rng, format="csr", dtype=np.float64)
    graph = graph.replace(features=sparse)
    settings: list[Any] = [{}, {"hidden_size": None, "filter_on": "logits"}]
    for setting in settings:
        network = make_network(graph, **setting)
        operator = make_operator("augmented_adjacency", graph, dtype=torch.float64)
        x = to_tensor(sp.csr_array(sparse), dtype=torch.float64)
        assert not isinstance(x, torch.Tensor)
        a = explain_linear(network, operator, x, graph, [3], DIRECTIONS[:1])[0]
        b = explain_linear(network, operator, x.to_dense(), graph, [3], DIRECTIONS[:1])[0]
        for name in ("vertices", "own_features", "other_features"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-12)


def test_vertices_without_neighbours_speak_for_themselves_alone() -> None:
    graph = Graph.of(None, 4, features=np.eye(4), labels=[0, 1, 2, 0])
    network = make_network(graph)
    operator, x = double(graph)
    parts = explain_linear(network, operator, x, graph, [0], DIRECTIONS[:1])[0]
    np.testing.assert_array_equal(parts.steps[1:], 0)
    assert parts.structure == pytest.approx(0, abs=1e-12)


def test_members_add_up_by_weight_and_temperature(graph: Graph) -> None:
    operator, x = double(graph)
    first, second = make_network(graph), make_network(graph, ChebyshevFilter(3))
    members = [
        Member.of(first, operator, x, weight=0.75, temperature=2.0),
        Member.of(second, operator, x, weight=0.25, temperature=0.5),
    ]
    said = [m(operator, x)[9].detach().numpy() @ DIRECTIONS[0] for m in (first, second)]
    expected = 0.75 * said[0] / 2.0 + 0.25 * said[1] / 0.5
    for terms in (members[0].terms, ()):  # Linear filters by their matrix, others by leaving out.
        some = [dataclasses.replace(members[0], terms=terms), members[1]]
        found = explain_members(some, graph, [9], DIRECTIONS[:1])[0]
        assert found.score == pytest.approx(expected)
        assert found.vertices is not None
        assert len(found.vertices) == 40


def test_steps_are_the_shortest_paths(small_graph: Graph) -> None:
    from scipy.sparse.csgraph import shortest_path

    lengths = shortest_path(small_graph.adjacency, unweighted=True)
    for vertex in range(small_graph.n_vertices):
        expected = np.minimum(lengths[vertex], 4)
        np.testing.assert_array_equal(steps_from(small_graph, vertex), expected)


def test_features_of_a_deeper_encoder_divide_what_their_vertices_contribute(graph: Graph) -> None:
    network = make_network(graph, encoder_layers=3)
    operator, x = double(graph)
    parts = explain_linear(network, operator, x, graph, [7], DIRECTIONS[:1])[0]
    score = network(operator, x)[7].detach().numpy() @ DIRECTIONS[0]
    assert parts.score == pytest.approx(score, abs=1e-10)
    assert parts.own_features is not None
    assert parts.other_features is not None
    assert parts.own_features.sum() == pytest.approx(parts.steps[0], abs=1e-10)
    assert parts.other_features.sum() == pytest.approx(parts.steps[1:].sum(), abs=1e-10)
