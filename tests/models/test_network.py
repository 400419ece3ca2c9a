"""The filter network: its closed forms, its hidden columns in parts, its dropout, its configs."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.filters import (
    ChebyshevFilter,
    Filter,
    HorizontalFilter,
    IdentityFilter,
    PageRankFilter,
    PowerFilter,
    StackedFilter,
)
from graphfilter.models import FilterNetwork, GraphNetwork, KernelConfig, Linear, ModelConfig, drop
from graphfilter.models.base import MOST_COMPARED
from graphfilter.models.layers import long_sums, matmul_side_by_side
from graphfilter.models.network import DropoutOn, FilterOn
from graphfilter.operators import adjacency, augmented_adjacency, laplacian, to_tensor
from graphfilter.operators.sparse import draw
from graphfilter.systems import SYSTEMS
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
        ({"dropout_on": "all"}, "unknown dropout_on"),
        ({"filter_on": "input"}, "unknown filter_on"),
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


GRAPH = make_csbm(n_vertices=200, mean_degree=4, n_features=50)
X = torch.tensor(GRAPH.features)


def drawn_from(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def identity_network(**options) -> FilterNetwork:
    return FilterNetwork(
        50, 2, IdentityFilter(), hidden_size=100, generator=drawn_from(), **options
    ).train()


@pytest.mark.parametrize("filter_on", ["hidden", "logits"])
@pytest.mark.parametrize("dropout_on", ["linear", "every_layer"])
def test_head_drops_its_input(filter_on: str, dropout_on: str) -> None:
    """A hidden layer of ones: a logit is a binomial count, scaled to keep its mean of 100."""
    model = identity_network(dropout=0.5, filter_on=filter_on, dropout_on=dropout_on)
    assert model.encoder is not None
    with torch.no_grad():
        model.encoder.weight.zero_()
        model.encoder.bias.fill_(1.0)
        model.head.weight.fill_(1.0)
        model.head.bias.zero_()
        logits = model(adjacency(GRAPH), X, drawn_from(1))[:, 0]
    # The sum of 100 numbers that are 0 or 2: mean 100, standard deviation 10.
    assert abs(logits.mean() - 100) < 5 * 10 / 200**0.5
    assert 8 < logits.std() < 12
    torch.testing.assert_close(logits % 2, torch.zeros(200))


def test_encoder_drops_its_input() -> None:
    """An encoder that adds up features of one, and a head that passes its first column on."""
    model = identity_network(dropout=0.5, activation="none")
    assert model.encoder is not None
    with torch.no_grad():
        model.encoder.weight.fill_(1.0)
        model.encoder.bias.zero_()
        model.head.weight.zero_()
        model.head.weight[0] = 1.0
        model.head.bias.zero_()
        logits = model(adjacency(GRAPH), torch.ones_like(X), drawn_from(1))[:, 0]
    kept = logits[logits != 0] / 2
    # The head drops half of the rows; the others hold the encoder's sums of 50 numbers, 0 or 2.
    assert 70 < len(kept) < 130
    assert abs(kept.mean() - 50) < 5 * 50**0.5 / len(kept) ** 0.5
    assert 5 < kept.std() < 9


@pytest.mark.parametrize(
    "make",
    [StackedFilter, HorizontalFilter, PageRankFilter, lambda: ChebyshevFilter(1, lambda_max=2.0)],
)
def test_dropout_of_everything_leaves_the_skipped_signal(make) -> None:
    """With every input of a product dropped, what is left is w_0 H_0, whole."""
    filter_: Filter = make()
    operator = laplacian(GRAPH) if isinstance(filter_, ChebyshevFilter) else adjacency(GRAPH)
    with torch.no_grad():
        left = filter_(operator, X, torch.zeros_like)
        torch.testing.assert_close(left, filter_.weights()[0].float() * X)


def test_dropout_on_linear_layers_leaves_the_filter_alone() -> None:
    """The signal that reaches a filter is the one that leaves it, where the filter is I."""
    seen = []

    class Watching(IdentityFilter):
        def forward(self, operator, x, dropout=None):
            seen.append(dropout)
            return super().forward(operator, x, dropout)

    cases: list[tuple[DropoutOn, list[bool]]] = [("linear", []), ("every_layer", [True])]
    for dropout_on, expected in cases:
        model = FilterNetwork(50, 2, Watching(), dropout_on=dropout_on, generator=drawn_from())
        seen.clear()
        model.train()(adjacency(GRAPH), X, drawn_from(1))
        assert [drop is not None for drop in seen] == expected


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=seeded())


@pytest.mark.parametrize("width", [3, 16])
def test_each_run_has_its_own_matrix(width: int) -> None:
    x, weights = normal(9, 4, 5), normal(4, 5, width)
    expected = torch.einsum("nrc,rcd->nrd", x, weights)
    torch.testing.assert_close(matmul_side_by_side(x, weights), expected)


@pytest.mark.parametrize("width", [3, 16])
def test_gradient_of_products_side_by_side(width: int) -> None:
    x, weights = normal(6, 2, 3), normal(2, 3, width)
    inputs = x.requires_grad_(), weights.requires_grad_()
    assert torch.autograd.gradcheck(matmul_side_by_side, inputs)


@pytest.mark.parametrize("n_pieces", [1, 2, 5, 11, 40])
def test_sums_in_pieces_are_the_sums(n_pieces: int) -> None:
    x, y = normal(11, 3, 4), normal(11, 3, 2)
    expected = torch.einsum("nrc,nrd->rcd", x, y)
    torch.testing.assert_close(long_sums(x, y, n_pieces), expected)


def test_nothing_is_drawn_where_nothing_is_dropped() -> None:
    generator = seeded(1)
    assert draw((3, 4), 0.0, [generator], torch.device("cpu")) is None
    assert torch.equal(generator.get_state(), seeded(1).get_state())


def test_dropout_keeps_the_mean() -> None:
    drawn = draw((400, 50), 0.7, [seeded(0), seeded(1)], torch.device("cpu"))
    assert drawn is not None
    kept = drawn.kept()
    mean = drawn.scale * kept.float().mean((1, 2))
    torch.testing.assert_close(mean, torch.ones(2), atol=0.03, rtol=0)
    assert not torch.equal(kept[0], kept[1])


CONFIGS = {type(s.model): s.model for s in SYSTEMS.values() if s.model is not None}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=lambda config: config.kind)
def test_config_is_of_its_network(config: ModelConfig) -> None:
    assert config.kind == type(config).network.__name__
    assert config.keeps_graph == issubclass(type(config).network, GraphNetwork)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=lambda config: config.kind)
def test_numbers_of_a_config_are_checked(config: ModelConfig) -> None:
    for field in fields(config):
        if str(field.type) in ("int", "int | None"):
            least = config.least.get(field.name, 1)
            for wrong in (least - 1, 2.5):
                with pytest.raises(ConfigError, match=f"{field.name} must be a whole number"):
                    replace(config, **{field.name: wrong})
        elif str(field.type) == "float":
            with pytest.raises(ConfigError, match=f"{field.name} must be a finite number"):
                replace(config, **{field.name: float("nan")})


def test_weights_of_edges_do_not_count_as_neighbours() -> None:
    ring = np.stack([np.arange(100), (np.arange(100) + 1) % 100], axis=1)
    plain = Graph.from_edges(ring)
    amounts = Graph.from_edges(ring, weights=np.full(100, 1e6))
    assert KernelConfig().skip_reason(plain, 50) is None
    assert KernelConfig().skip_reason(amounts, 50) is None
    assert "too many to compare" in str(KernelConfig().skip_reason(plain, MOST_COMPARED + 1))


def test_a_hub_shares_too_many_neighbours() -> None:
    hub = np.stack([np.zeros(40_000, int), np.arange(1, 40_001)], axis=1)
    assert "common neighbour" in str(KernelConfig().skip_reason(Graph.from_edges(hub), 50))
