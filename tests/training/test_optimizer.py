"""The two groups of weights, each with its own learning rate and weight decay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from graphfilter.data import make_csbm
from graphfilter.filters import StackedFilter
from graphfilter.models import FilterNetwork
from graphfilter.operators import augmented_adjacency
from graphfilter.splits import Split
from graphfilter.training import TrainConfig, train
from graphfilter.training.epoch import Adam

GRAPH = make_csbm(n_vertices=40, mean_degree=4, n_features=5)
EVERYTHING = Split(np.arange(40), np.array([], dtype=int), np.array([], dtype=int))


def one_step(**settings: Any) -> tuple[FilterNetwork, FilterNetwork]:
    """Train one epoch from a head of zeros; return the network before and after.

    The gradient of the filter and of the encoder is then exactly zero, and only decay, if any,
    moves them. Adam's first step is the learning rate, whatever the size of a gradient.
    """
    networks = []
    for _ in range(2):
        network = FilterNetwork(
            5, 2, StackedFilter(4), hidden_size=6, generator=torch.Generator().manual_seed(0)
        )
        with torch.no_grad():
            network.head.weight.zero_()
        networks.append(network)
    before, after = networks
    x, labels = torch.tensor(GRAPH.features), torch.tensor(GRAPH.labels)
    config = TrainConfig(max_epochs=1, filter_learning_rate=0.125, learning_rate=0.25, **settings)
    train([after], augmented_adjacency(GRAPH), x, labels, [EVERYTHING], config, seeds=[0])
    return before, after


@pytest.mark.parametrize("decay", [0.0, 0.1, 10.0])
@pytest.mark.parametrize("of_filter", [True, False])
def test_decay_moves_its_own_weights_by_their_learning_rate(of_filter: bool, decay: float) -> None:
    mine, other = "filter_weight_decay", "weight_decay"
    if not of_filter:
        mine, other = other, mine
    before, after = one_step(**{mine: decay, other: 0.0})
    moved = {}
    for name, weight, rate in (
        ("filter", "filter.alpha", 0.125),
        ("encoder", "encoder.weight", 0.25),
    ):
        start = before.get_parameter(weight)
        moved[name] = (after.get_parameter(weight) - start, start, rate)
    for name, (change, weight, rate) in moved.items():
        decayed = decay > 0 and (name == "filter") == of_filter
        expected = -rate * weight.sign() if decayed else torch.zeros_like(weight)
        torch.testing.assert_close(change, expected, rtol=1e-3, atol=1e-6)


def test_weights_that_learn_move_by_their_learning_rate() -> None:
    before, after = one_step(filter_weight_decay=0.0, weight_decay=0.0)
    change = (after.head.weight - before.head.weight).abs()
    torch.testing.assert_close(change, torch.full_like(change, 0.25), rtol=1e-3, atol=1e-6)


def test_adam_takes_the_steps_of_torchs_own() -> None:
    """To the bit, from a stored state on as well."""
    start = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    ends = []
    for kind in (torch.optim.Adam, Adam):
        weight = torch.nn.Parameter(start.clone())
        made = kind([weight], lr=0.1, weight_decay=0.01, fused=True)
        for _ in range(3):
            made.zero_grad()
            weight.square().sum().backward()
            made.step()
            again = kind([weight], lr=0.1, weight_decay=0.01, fused=True)
            again.load_state_dict(made.state_dict())
            made = again
        ends.append(weight.detach())
    assert torch.equal(*ends)
