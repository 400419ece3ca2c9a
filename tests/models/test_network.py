from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from graphfilter.data import make_csbm
from graphfilter.filters import (
    ChebyshevFilter,
    IdentityFilter,
    PageRankFilter,
    PowerFilter,
    StackedFilter,
)
from graphfilter.models import FilterNetwork, Linear, drop
from graphfilter.models.network import DropoutOn, FilterOn
from graphfilter.operators import augmented_adjacency, to_tensor
from graphfilter.util.errors import ConfigError


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def setting():
    graph = make_csbm(n_vertices=60, mean_degree=4, n_features=12)
    return augmented_adjacency(graph), torch.tensor(graph.features)


@pytest.mark.parametrize("filter_on", ["hidden", "logits"])
def test_network_prediction_equals_its_formula(setting, filter_on: FilterOn) -> None:
    operator, x = setting
    network = FilterNetwork(12, 3, StackedFilter(4), filter_on=filter_on, generator=generator())
    network.eval()
    f = torch.tensor(sum(
        theta * np.linalg.matrix_power(operator.matrix.toarray(), k)
        for k, theta in enumerate(network.filter.coefficients().tolist())
    ), dtype=torch.float32)  # fmt: skip
    assert network.encoder is not None
    hidden = torch.relu(x @ network.encoder.weight + network.encoder.bias)
    if filter_on == "hidden":
        expected = f @ hidden @ network.head.weight + network.head.bias
    else:
        expected = f @ (hidden @ network.head.weight + network.head.bias)
    torch.testing.assert_close(network(operator, x), expected, atol=1e-5, rtol=1e-4)


def test_network_filters_the_narrower_side_exactly(setting) -> None:
    """Three class columns instead of 64 hidden ones give the same logits."""
    operator, x = setting
    network = FilterNetwork(12, 3, StackedFilter(8), dropout=0.0, generator=generator())
    wide = network.train()(operator, x)
    assert not network.filters_logits()
    narrow = network.eval()(operator, x)
    assert network.filters_logits()
    torch.testing.assert_close(wide, narrow, atol=1e-5, rtol=1e-4)


def test_network_keeps_the_filter_on_a_hidden_layer_that_is_narrower(setting) -> None:
    network = FilterNetwork(12, 5, StackedFilter(2), hidden_size=3).eval()
    assert not network.filters_logits()


def test_network_with_the_identity_ignores_the_graph(setting) -> None:
    operator, x = setting
    network = FilterNetwork(12, 2, IdentityFilter(), generator=generator()).eval()
    assert network.encoder is not None
    alone = network.head(torch.relu(network.encoder(x)))
    torch.testing.assert_close(network(operator, x), alone)


def test_network_without_hidden_layer_is_sgc(setting) -> None:
    operator, x = setting
    network = FilterNetwork(12, 2, PowerFilter(2), hidden_size=None, filter_on="logits").eval()
    smooth = operator @ (operator @ x)
    ones = operator @ (operator @ torch.ones(operator.n, 1))
    expected = smooth @ network.head.weight + ones * network.head.bias
    torch.testing.assert_close(network(operator, x), expected, atol=1e-5, rtol=1e-4)


def test_network_on_sparse_features_equals_dense(setting) -> None:
    operator, x = setting
    x = torch.where(x > 1, x, 0)
    sparse = to_tensor(sp.csr_array(x.numpy()))
    networks = [FilterNetwork(12, 2, StackedFilter(3), dropout=0.0, generator=generator())
                for _ in range(2)]  # fmt: skip
    dense_loss = networks[0](operator, x).square().sum()
    sparse_loss = networks[1](operator, sparse).square().sum()
    torch.testing.assert_close(dense_loss, sparse_loss)
    dense_loss.backward()
    sparse_loss.backward()
    for a, b in zip(networks[0].parameters(), networks[1].parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dropout_on", ["linear", "every_layer"])
@pytest.mark.parametrize("filter_on", ["hidden", "logits"])
@pytest.mark.parametrize("training", [True, False])
def test_networks_side_by_side_equal_each_alone(
    setting, dropout_on: DropoutOn, filter_on: FilterOn, training: bool
) -> None:
    operator, x = setting
    networks = [
        FilterNetwork(
            12, 3, StackedFilter(4, "uniform", seed), hidden_size=8, dropout_on=dropout_on,
            filter_on=filter_on, generator=generator(seed),
        ).train(training)
        for seed in range(3)
    ]  # fmt: skip
    generators = [generator(s) for s in (5, 6, 7)]
    together = FilterNetwork.forward_side_by_side(networks, operator, x, generators)
    for network, logits, seed in zip(networks, together.unbind(1), (5, 6, 7), strict=True):
        torch.testing.assert_close(logits, network(operator, x, generator(seed)))


def test_dropout_placements_are_different_models(setting) -> None:
    """The paper's text drops on the linear layers, its code also before each of the filters."""
    operator, x = setting
    linear, every = (
        FilterNetwork(12, 3, StackedFilter(4), dropout_on=on, generator=generator())
        for on in ("linear", "every_layer")
    )
    assert not torch.allclose(linear(operator, x, generator(1)), every(operator, x, generator(1)))
    torch.testing.assert_close(linear.eval()(operator, x), every.eval()(operator, x))


@pytest.mark.parametrize("filter_", [ChebyshevFilter(3), PageRankFilter(3)])
def test_dropout_on_every_layer_takes_any_filter(setting, filter_) -> None:
    operator, x = setting
    network = FilterNetwork(12, 2, filter_, dropout_on="every_layer", generator=generator())
    first, again = (network(operator, x, generator(2)) for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, network(operator, x, generator(3)))


def test_network_is_seeded_by_its_generator_alone() -> None:
    torch.manual_seed(0)
    one = FilterNetwork(5, 2, StackedFilter(), generator=generator(1))
    torch.manual_seed(99)
    same = FilterNetwork(5, 2, StackedFilter(), generator=generator(1))
    assert one.encoder is not None
    assert same.encoder is not None
    assert torch.equal(one.encoder.weight, same.encoder.weight)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.7, 0.95])
def test_drop_keeps_the_stated_share_and_the_mean(rate: float) -> None:
    x = torch.ones(400_003)
    dropped = drop(x, rate, generator())
    share = (dropped != 0).double().mean()
    sigma = (rate * (1 - rate) / len(x)) ** 0.5
    assert abs(share - (1 - rate)) < 5 * sigma + 2**-16
    kept = dropped[dropped != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - rate)), rtol=1e-3, atol=0)


def test_drop_entries_are_independent() -> None:
    mask = (drop(torch.ones(100_000, 4), 0.5, generator()) != 0).double() - 0.5
    correlation = (mask.T @ mask) / len(mask) * 4
    assert (correlation - torch.eye(4)).abs().max() < 0.02


def test_drop_of_nothing_is_the_input_itself() -> None:
    x = torch.randn(3)
    assert drop(x, 0.0) is x


def test_drop_of_next_to_nothing_drops_nothing() -> None:
    """A rate below the resolution of the mask."""
    assert torch.equal(drop(torch.ones(5), 1e-6, generator()), torch.ones(5))


def test_drop_of_no_entries_is_empty() -> None:
    assert drop(torch.ones(0), 0.5, generator()).shape == (0,)


def test_drop_gradient_is_its_mask() -> None:
    x = torch.ones(50, requires_grad=True)
    dropped = drop(x, 0.5, generator())
    dropped.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, dropped.detach())


def test_linear_starts_within_the_bound_of_torchs() -> None:
    layer = Linear(100, 8, generator())
    assert layer.weight.abs().max() <= 0.1
    assert layer.weight.std().item() == pytest.approx(0.1 / 3**0.5, rel=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dropout": 1.0}, "dropout must be in"),
        ({"dropout_on": "all"}, "unknown dropout placement"),
        ({"filter_on": "input"}, "unknown filter placement"),
        ({"activation": "relue"}, "did you mean 'relu'"),
        ({"hidden_size": None}, "must be on the logits"),
    ],
)
def test_network_refuses_impossible_settings(options: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        FilterNetwork(4, 2, StackedFilter(), **options)


def test_network_on_an_operator_in_half_precision_is_near_the_one_in_single() -> None:
    """Eight bits a term: logits and gradients within a few parts in a hundred of the largest."""
    graph = make_csbm(n_vertices=200, mean_degree=8, n_features=20, seed=0)
    x = torch.tensor(graph.features)
    network = FilterNetwork(20, 2, StackedFilter(6), hidden_size=16, dropout=0.0).train()
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        logits = network(augmented_adjacency(graph, dtype=dtype), x)
        assert logits.dtype == torch.float32
        found.append([logits, *torch.autograd.grad(logits.square().sum(), [*network.parameters()])])
    for single, half in zip(*found, strict=True):
        assert (single - half).abs().max() <= 0.05 * single.abs().max()
        assert not torch.equal(single, half)
