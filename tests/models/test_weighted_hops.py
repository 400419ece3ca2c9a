"""WeightedHops: its equation, any graph, and where it is left out."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from graphfilter.data import make_csbm
from graphfilter.models import WeightedHops, WeightedHopsConfig
from graphfilter.models.hops import MOST_VERTICES
from graphfilter.operators import adjacency, to_tensor

GRAPH = make_csbm(30, mean_degree=4, n_features=5, frequency=1.2, seed=0)
OTHER = make_csbm(20, mean_degree=3, n_features=5, frequency=0.3, seed=1)
X = torch.tensor(GRAPH.features)


def make(n_hops: int = 2) -> WeightedHops:
    config = WeightedHopsConfig(n_hops=n_hops, hidden_size=3)
    return WeightedHops(5, 2, config, generator=torch.Generator().manual_seed(0)).eval()


def test_it_is_its_equation() -> None:
    model, operator = make(), adjacency(GRAPH)
    dense = operator @ torch.eye(30)
    hops = [X, dense @ X, dense @ dense @ X]
    with torch.no_grad():
        model.scores.copy_(torch.tensor([0.0, 2.0, -1.0]))
        share, layers = model.scores.softmax(0), list[Any](model.encoders)
        hidden = [
            share[k] * nn.functional.normalize(layer(hop), dim=1)
            for k, (layer, hop) in enumerate(zip(layers, hops, strict=True))
        ]
        expected = model.head(torch.relu(torch.cat(hidden, dim=1)))
        torch.testing.assert_close(model(operator, X), expected, rtol=1e-4, atol=1e-5)


def test_the_length_of_a_hop_does_not_matter() -> None:
    model, operator = make(n_hops=1), adjacency(GRAPH)
    with torch.no_grad():
        before = model(operator, X)
        for layer in list[Any](model.encoders)[1:]:
            layer.weight.mul_(100)
            layer.bias.mul_(100)
        torch.testing.assert_close(model(operator, X), before, rtol=1e-4, atol=1e-5)


def test_it_serves_another_graph() -> None:
    assert not WeightedHopsConfig.keeps_graph
    assert make()(adjacency(OTHER), to_tensor(OTHER.features)).shape == (20, 2)


def test_its_weights_of_hops_train_at_the_rate_of_filters() -> None:
    model = make()
    assert [id(p) for p in model.filter_parameters()] == [id(model.scores)]


def test_it_is_left_out_where_vertices_are_many() -> None:
    config = WeightedHopsConfig()
    small = make_csbm(MOST_VERTICES, mean_degree=4, n_features=2, frequency=1.0, seed=0)
    large = make_csbm(MOST_VERTICES + 1, mean_degree=4, n_features=2, frequency=1.0, seed=0)
    assert config.skip_reason(small, 100) is None
    assert config.skip_reason(large, 100) == "it helps on small graphs, of up to 1,000 vertices"
