"""Hidden columns one block after another: the values, gradients and training of all at once."""

from __future__ import annotations

from typing import Any

import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter.data import make_csbm
from graphfilter.filters import IdentityFilterConfig, StackedFilter
from graphfilter.models import (
    FilterNetwork,
    FilterNetworkConfig,
    layers as column_dropout,
    network as columns,
)
from graphfilter.models.base import Sizes
from graphfilter.models.layers import Input
from graphfilter.operators import SparseFeatures, augmented_adjacency
from graphfilter.splits import stratified
from graphfilter.training import FitResult, TrainConfig, train
from graphfilter.util.machine import VARIABLE

GRAPH = make_csbm(n_vertices=40, mean_degree=4, n_features=5)
OPERATOR = augmented_adjacency(GRAPH)
N_CLASSES, WIDTH = 3, 10


def make_networks(seeds: tuple[int, ...] = (0, 1), **setting: Any) -> list[FilterNetwork]:
    config = FilterNetworkConfig(hidden_size=WIDTH, **setting)
    return [
        FilterNetwork(
            5, N_CLASSES, config.filter.build(), hidden_size=WIDTH, dropout=config.dropout,
            activation=config.activation, generator=torch.Generator().manual_seed(seed),
        )
        for seed in seeds
    ]  # fmt: skip


@pytest.fixture(params=[1, 3, 7])
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The width of blocks where there is next to no memory."""
    monkeypatch.setattr(columns, "LANES", request.param)
    monkeypatch.setattr(column_dropout, "DROPPED_AT_A_TIME", 16)
    return request.param


def features(kind: str, dtype: torch.dtype) -> Input:
    if kind == "sparse":
        return SparseFeatures(sp.csr_array(GRAPH.features), dtype=dtype)
    return torch.tensor(GRAPH.features, dtype=dtype)


def step(networks: list[FilterNetwork], kind: str, dtype: torch.dtype) -> dict[str, Tensor]:
    """Return logits with and without dropout, gradients, and what is drawn next."""
    networks = [network.to(dtype).train() for network in networks]
    operator, x = OPERATOR.to(dtype=dtype), features(kind, dtype)
    draws = [torch.Generator().manual_seed(r) for r in range(len(networks))]
    logits = FilterNetwork.forward_side_by_side(networks, operator, x, draws)
    logits.square().mean().backward()
    found = {"logits": logits.detach()}
    for r, network in enumerate(networks):
        grads = {n: p.grad for n, p in network.named_parameters() if p.grad is not None}
        found |= {f"{r}.{name}": grad for name, grad in grads.items()}
        network.eval()
    found["predicted"] = FilterNetwork.forward_side_by_side(
        networks, operator, x, [None] * len(networks)
    ).detach()
    found["drawn"] = torch.stack([generator.get_state() for generator in draws]).double()
    return found


@pytest.mark.parametrize("setting", [{}, {"dropout": 0.0}, {"activation": "tanh"}])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_blocks_equal_all_columns_at_once(
    width: int, kind: str, setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-6)):
        monkeypatch.delenv(VARIABLE, raising=False)
        at_once = step(make_networks(**setting), kind, dtype)
        monkeypatch.setenv(VARIABLE, "1M")
        in_blocks = step(make_networks(**setting), kind, dtype)
        assert at_once.keys() == in_blocks.keys()
        for name, value in at_once.items():
            assert torch.allclose(value, in_blocks[name], rtol=tolerance, atol=tolerance), name


def test_blocks_of_a_network_without_products_equal_it(width: int, monkeypatch: pytest.MonkeyPatch):
    at_once = step(make_networks(filter=IdentityFilterConfig()), "dense", torch.float64)
    monkeypatch.setenv(VARIABLE, "1M")
    in_blocks = step(make_networks(filter=IdentityFilterConfig()), "dense", torch.float64)
    assert all(torch.allclose(at_once[k], in_blocks[k], atol=1e-12) for k in at_once)


def test_gradient_of_blocks_is_that_of_differences(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(columns, "LANES", 4)
    monkeypatch.setenv(VARIABLE, "1M")
    (network,) = make_networks((0,))
    network.double()
    operator, x = OPERATOR.to(dtype=torch.float64), features("dense", torch.float64)
    names, values = zip(*network.named_parameters(), strict=True)

    def logits(*parameters: Tensor) -> Tensor:
        draws = torch.Generator().manual_seed(3)
        given = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(network, given, (operator, x, draws))

    assert len(network.blocks(1, operator, x)) == 3
    inputs = [value.detach().clone().requires_grad_() for value in values]
    assert torch.autograd.gradcheck(logits, inputs, fast_mode=True)


def test_training_in_blocks_is_that_at_once(width: int, monkeypatch: pytest.MonkeyPatch):
    def learn() -> FitResult:
        network = FilterNetwork(
            5, 2, StackedFilter(4), hidden_size=WIDTH, generator=torch.Generator().manual_seed(0)
        )
        return train(
            [network], OPERATOR, features("dense", torch.float32), torch.tensor(GRAPH.labels),
            [stratified(GRAPH.labels, 0)], TrainConfig(max_epochs=15), seeds=[0],
        )[0]  # fmt: skip

    at_once = learn()
    monkeypatch.setenv(VARIABLE, "1M")
    in_blocks = learn()
    assert (at_once.best_epoch, at_once.stopped) == (in_blocks.best_epoch, in_blocks.stopped)
    for name, value in at_once.state.items():
        assert torch.allclose(value, in_blocks.state[name], atol=1e-5), name


def test_blocks_are_as_wide_as_memory_takes(monkeypatch: pytest.MonkeyPatch):
    network = FilterNetwork(5, 2, StackedFilter(), hidden_size=100)
    x = features("dense", torch.float32)
    assert network.blocks(1, OPERATOR, x) == []
    need = columns.BYTES_PER_ENTRY * OPERATOR.n
    rest = columns.BYTES_PER_EDGE_ENTRY * OPERATOR.kernel.matrix.n_entries
    rest += columns.BYTES_PER_VERTEX * OPERATOR.n + columns.BYTES_PER_FEATURE * 5 * OPERATOR.n
    rest += columns.BYTES_OF_PROCESS
    config, sizes = FilterNetworkConfig(hidden_size=100), Sizes.of(GRAPH, 10)
    widths = []
    for fit in (1, 16, 31, 32, 100):
        monkeypatch.setenv(VARIABLE, str(rest + fit * need))
        found = network.blocks(1, OPERATOR, x)
        # What is said beforehand is what training does.
        assert config.memory(sizes, rest + fit * need).columns == found[0].width
        assert [c for block in found for c in range(block.first, block.last)] == list(range(100))
        widths.append(found[0].width)
    assert widths == [16, 16, 16, 32, 96]


def test_networks_that_mix_their_columns_have_no_blocks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, "1M")
    for network in (
        FilterNetwork(5, 2, StackedFilter(), encoder_layers=2),
        FilterNetwork(5, 2, StackedFilter(), filter_on="logits"),
        FilterNetwork(5, 2, StackedFilter(), dropout_on="every_layer"),
    ):
        assert network.blocks(1, OPERATOR, features("dense", torch.float32)) == []
