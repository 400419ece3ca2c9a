"""MixedNetwork: its equation, its columns of links, and where it is left out."""

from __future__ import annotations

from typing import Any

import pytest
import scipy.sparse as sp
import torch

from graphfilter.data import make_csbm
from graphfilter.models import MixedConfig, MixedNetwork
from graphfilter.models.deep import MOST_VERTICES
from graphfilter.operators import SparseFeatures, augmented_adjacency
from graphfilter.util.errors import ConfigError

GRAPH = make_csbm(30, mean_degree=4, n_features=5, frequency=1.2, seed=0)
FEATURES = torch.tensor(GRAPH.features)
LINKS = torch.tensor(GRAPH.adjacency.toarray(), dtype=torch.float32)


def make(n_links: int, seed: int = 0, dropout: float = 0.0) -> MixedNetwork:
    config = MixedConfig(hidden_size=3, n_links=n_links, dropout=dropout)
    generator = torch.Generator().manual_seed(seed)
    return MixedNetwork(5 + n_links, 2, config, generator=generator)


def layer_of(layer: Any, hidden: torch.Tensor, links: torch.Tensor | None) -> torch.Tensor:
    """Return one layer vertex by vertex, as its equation reads."""
    mean = torch.eye(30) + LINKS
    mean = mean / mean.sum(1, keepdim=True)
    low, high, own = (hidden @ part for part in layer.weight.chunk(3, dim=1))
    channels = [mean @ low, high - mean @ high, own]
    if links is not None:
        channels.append(links @ layer.links)
    channels = [torch.relu(channel) for channel in channels]
    rows = []
    for v in range(30):
        pairs = zip(channels, layer.scores, strict=True)
        seen = torch.stack([torch.sigmoid(channel[v] @ score) for channel, score in pairs])
        alpha = torch.softmax(seen @ layer.mix / len(channels), dim=0)
        rows.append(alpha @ torch.stack([channel[v] for channel in channels]))
    return torch.stack(rows) * (3.0 if links is None else 1.0)


@pytest.mark.parametrize("linked", [False, True])
def test_it_is_its_equation(linked: bool) -> None:
    model = make(30 if linked else 0).eval()
    links = LINKS if linked else None
    x = torch.cat([FEATURES, LINKS], dim=1) if linked else FEATURES
    with torch.no_grad():
        hidden = layer_of(model.first, FEATURES, links)
        expected = layer_of(model.second, hidden, links)
        made = model(augmented_adjacency(GRAPH), x)
    torch.testing.assert_close(made, expected, rtol=1e-4, atol=1e-5)


def test_sparse_columns_give_what_dense_ones_give() -> None:
    model, x = make(30), torch.cat([FEATURES, LINKS], dim=1)
    sparse = SparseFeatures(sp.csr_array(x.numpy()))
    operator = augmented_adjacency(GRAPH)
    torch.testing.assert_close(model(operator, sparse), model(operator, x), rtol=1e-4, atol=1e-5)


def test_columns_in_two_parts_are_made_once() -> None:
    x = SparseFeatures(sp.csr_array(torch.cat([FEATURES, LINKS], dim=1).numpy()))
    first, last = x.parted(30)
    torch.testing.assert_close(first.to_dense(), FEATURES)
    torch.testing.assert_close(last.to_dense(), LINKS)
    assert x.parted(30)[1] is last


def test_runs_side_by_side_are_those_alone() -> None:
    operator, x = augmented_adjacency(GRAPH), torch.cat([FEATURES, LINKS], dim=1)
    models = [make(30, seed, 0.5).train() for seed in (0, 1)]
    generators = [torch.Generator().manual_seed(s) for s in (5, 6)]
    made = MixedNetwork.forward_side_by_side(models, operator, x, generators)
    for run, model in enumerate(models):
        own = model(operator, x, torch.Generator().manual_seed(5 + run))
        torch.testing.assert_close(made[:, run], own, rtol=1e-4, atol=1e-5)


def test_more_links_than_columns_are_refused() -> None:
    with pytest.raises(
        ConfigError, match="n_links must be at most the number of columns, 5; got 6"
    ):
        MixedNetwork(5, 2, MixedConfig(n_links=6))


def test_it_is_left_out_where_vertices_are_many() -> None:
    config = MixedConfig()
    small, large = (
        make_csbm(n, mean_degree=4, n_features=2, frequency=1.0, seed=0)
        for n in (MOST_VERTICES, MOST_VERTICES + 1)
    )
    assert config.skip_reason(small, 100) is None
    assert config.skip_reason(large, 100) == "it helps on small graphs, of up to 1,000 vertices"
