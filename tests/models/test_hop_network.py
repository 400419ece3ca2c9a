"""The network on hops, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from graphfilter.data.datasets import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.models import HopNetwork, HopNetworkConfig, Linear, hops as hop_network
from graphfilter.operators import augmented_adjacency, laplacian, to_tensor
from graphfilter.operators.polynomial import stack_powers
from graphfilter.util.errors import ConfigError


@pytest.fixture
def graph() -> Graph:
    return make_csbm(n_vertices=50, mean_degree=4, n_features=70, frequency=0.5, seed=0)


def features(graph: Graph) -> torch.Tensor:
    x = to_tensor(graph.features)
    assert isinstance(x, torch.Tensor)
    return x


def make(graph: Graph, **options: object) -> HopNetwork:
    config = HopNetworkConfig(**{"dropout": 0.0, **options})  # pyright: ignore[reportArgumentType]
    generator = torch.Generator().manual_seed(0)
    return HopNetwork(graph.n_features, graph.n_classes, config, generator=generator)


@pytest.mark.parametrize("kind", [augmented_adjacency, laplacian])
def test_hops_are_powers_of_the_operator(graph: Graph, kind) -> None:
    operator, x = kind(graph), features(graph)
    hops = stack_powers(operator, x, 3)
    dense, expected = operator.matrix.toarray(), x.double().numpy()
    for k in range(4):
        np.testing.assert_allclose(hops[:, k], expected, rtol=1e-4, atol=1e-5)
        expected = dense @ expected


def test_network_equals_its_closed_form(graph: Graph) -> None:
    operator, x = augmented_adjacency(graph), features(graph)
    network = make(graph, n_hops=2, hidden_size=3)
    p, hop, hidden = torch.from_numpy(operator.matrix.toarray()).float(), x, []
    for layer in network.encoders:
        assert isinstance(layer, Linear)
        hidden.append(torch.relu(hop @ layer.weight + layer.bias))
        hop = p @ hop
    expected = torch.cat(hidden, dim=1) @ network.head.weight + network.head.bias
    torch.testing.assert_close(network(operator, x), expected, rtol=1e-4, atol=1e-5)


def test_network_without_hops_and_layers_is_a_softmax_regression(graph: Graph) -> None:
    operator, x = augmented_adjacency(graph), features(graph)
    network = make(graph, n_hops=0, hidden_size=None)
    assert {name for name, _ in network.named_parameters()} == {"head.weight", "head.bias"}
    expected = x @ network.head.weight + network.head.bias
    torch.testing.assert_close(network(operator, x), expected)


def test_network_takes_hops_in_place_of_features(graph: Graph) -> None:
    operator, x = augmented_adjacency(graph), features(graph)
    network = make(graph).eval()
    hops = stack_powers(operator, x, network.config.n_hops)
    assert torch.equal(network(operator, hops), network(operator, x))


def test_network_reads_vertices_in_blocks(graph: Graph, monkeypatch) -> None:
    operator, x = augmented_adjacency(graph), features(graph)
    network = make(graph, batch_size=1).eval()
    whole = network(operator, x)
    monkeypatch.setattr(hop_network, "READ_BYTES", 7 * 70 * 5 * 4)
    assert network.rows_at_once == 7
    torch.testing.assert_close(network(operator, x), whole)


def test_dropout_hides_a_feature_at_every_hop(graph: Graph) -> None:
    """What one hop loses is not to be read off the next: a row keeps or loses all of a column."""
    network = make(graph, n_hops=3, hidden_size=None, dropout=0.5)
    with torch.no_grad():
        network.head.weight.zero_()
        # The sum of the first feature over the hops.
        network.head.weight[[0, 70, 140, 210], 0] = 1.0
        network.head.bias.zero_()
    sums = network.rows(torch.ones(1000, 4, 70), torch.Generator().manual_seed(0))[:, 0]
    assert set(sums.tolist()) == {0.0, 8.0}
    assert 0.45 < float((sums > 0).float().mean()) < 0.55


def test_sparse_features_give_the_hops_of_dense_ones(graph: Graph) -> None:
    operator, x = augmented_adjacency(graph), features(graph)
    thinned = np.where(x.numpy() > 1, x.numpy(), 0)
    network = make(graph)
    dense, sparse = (network.hops(operator, to_tensor(m)) for m in (thinned, sp.csr_array(thinned)))
    assert torch.equal(dense, sparse)


@pytest.mark.parametrize("wrong", [{"n_hops": -1}, {"hidden_size": 0}, {"batch_size": 0}])
def test_impossible_settings_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="must be a whole number"):
        HopNetworkConfig(**wrong)  # pyright: ignore[reportArgumentType]
