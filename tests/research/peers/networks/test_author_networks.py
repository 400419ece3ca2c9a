"""Networks as their authors have them, against their equations."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from graphfilter import operators
from graphfilter.data.datasets import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.filters import (
    ExactPageRankFilterConfig,
    PowerFilterConfig,
    RepeatedChebyshevFilter,
)
from graphfilter.models import FilteredFeatures, FilteredFeaturesConfig
from graphfilter.systems import get_system
from graphfilter.util.errors import ConfigError
from graphfilter_research.peers.fastgcn import FastGCN, FastGCNConfig
from graphfilter_research.peers.gat import VelickovicGAT, VelickovicGATConfig
from graphfilter_research.peers.gcn import incoming
from graphfilter_research.peers.gcnii import GCNIIStar, GCNIIStarConfig
from graphfilter_research.peers.gpr_gnn import GPRGNN, GPRGNNConfig
from graphfilter_research.peers.graphsage import GraphSAGE

GRAPH = make_csbm(30, mean_degree=4, n_features=5, seed=2)
OPERATOR = operators.augmented_adjacency(GRAPH)
X = torch.tensor(np.asarray(GRAPH.features), dtype=torch.float32)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def dense() -> Tensor:
    return torch.tensor(OPERATOR.matrix.toarray(), dtype=torch.float32)


def test_gcnii_star_is_its_recurrence() -> None:
    config = GCNIIStarConfig(n_layers=3, hidden_size=4, alpha=0.2, theta=1.5)
    model = GCNIIStar(5, 2, config, generator=seeded()).eval()
    with torch.no_grad():
        start = hidden = torch.relu(model.encoder(X))
        for layer, weight in enumerate(model.weights, start=1):
            beta = math.log(1.5 / layer + 1)
            spread = dense() @ hidden
            residual = 0.8 * spread + 0.2 * start
            mixed = torch.cat([spread, start], dim=1) @ weight
            hidden = torch.relu((1 - beta) * residual + beta * mixed)
        torch.testing.assert_close(model(OPERATOR, X), model.head(hidden))


def test_gcnii_star_side_by_side_equals_each_alone() -> None:
    config = GCNIIStarConfig(n_layers=2, hidden_size=4)
    models = [GCNIIStar(5, 2, config, generator=seeded(s)) for s in range(2)]
    both = GCNIIStar.forward_side_by_side(models, OPERATOR, X, [seeded(7), seeded(8)])
    for i, model in enumerate(models):
        torch.testing.assert_close(both[:, i], model(OPERATOR, X, seeded(7 + i)))


def test_gpr_gnn_drops_its_logits() -> None:
    """With dropout on the logits alone, nearly all, training is the filter of nearly nothing."""
    config = GPRGNNConfig(dropout=0.0, logit_dropout=0.999)
    model = GPRGNN(GRAPH.n_features, 2, config, generator=seeded())
    assert model.encoder is not None
    with torch.no_grad():
        logits = model.head(torch.relu(model.encoder(X)))
        expected = model.filter(OPERATOR, logits)
        torch.testing.assert_close(model.eval()(OPERATOR, X), expected)
        dropped = model.train()(OPERATOR, X, seeded(1))
    assert (dropped == 0).float().mean() > 0.5
    with pytest.raises(ConfigError, match="logit_dropout must be in"):
        GPRGNNConfig(logit_dropout=1.0)


@pytest.mark.parametrize("filter", [PowerFilterConfig(2), ExactPageRankFilterConfig(1 / 11)])
def test_filtered_features_are_an_mlp_on_them(filter) -> None:
    model = FilteredFeatures(5, 2, FilteredFeaturesConfig(filter=filter), generator=seeded()).eval()
    if isinstance(filter, PowerFilterConfig):
        matrix = dense() @ dense()
    else:
        # GLP's AR filter with α = 10.
        eye = torch.eye(len(X))
        matrix = torch.linalg.inv(eye + 10 * (eye - dense()))
    with torch.no_grad():
        hidden = torch.relu(matrix @ X @ model.encoder.weight + model.encoder.bias)
        torch.testing.assert_close(model(OPERATOR, X), model.head(hidden), rtol=1e-4, atol=1e-5)


def test_graphsage_takes_the_mean_of_the_neighbours() -> None:
    model = GraphSAGE(GRAPH, generator=seeded()).eval()
    adjacency = torch.tensor(GRAPH.adjacency.toarray(), dtype=torch.float32)
    mean = adjacency / adjacency.sum(1, keepdim=True).clamp(min=1)
    with torch.no_grad():
        hidden = X
        for layer in (model.first, model.second):
            own, others = layer(hidden).chunk(2, dim=1)
            # The bias of the neighbours' half is averaged too: a vertex without any gets none.
            both = torch.relu(torch.cat([own, mean @ others], dim=1))
            hidden = both / both.norm(dim=1, keepdim=True).clamp(min=1e-12)
        torch.testing.assert_close(model(OPERATOR, X), model.head(hidden))


def test_fastgcn_is_a_gcn_on_average() -> None:
    model = FastGCN(5, 2, FastGCNConfig(n_sampled=10), generator=seeded())
    with torch.no_grad():
        exact = model.eval()(OPERATOR, X)
        hidden = torch.relu(dense() @ (X @ model.first.weight) + model.first.bias)
        torch.testing.assert_close(
            exact, dense() @ (hidden @ model.second.weight) + model.second.bias
        )
        draws = torch.stack([model.train()(OPERATOR, X, seeded(s)) for s in range(2000)])
    error = (draws.mean(0) - exact).abs() / (draws.std(0) / math.sqrt(2000))
    assert error.max() < 5


@pytest.mark.parametrize("name", ["gcn-authors", "gat-authors"])
def test_authors_leave_weights_undecayed(name: str) -> None:
    model = get_system(name).build(GRAPH, 0)
    left = {id(p) for p in model.undecayed_parameters()}
    names = [n for n, p in model.named_parameters() if id(p) in left]
    if name == "gcn-authors":
        assert names == ["convs.0.bias", "convs.1.bias", "convs.1.lin.weight"]
    else:
        assert names == ["first.bias", "second.bias"]


def test_gat_of_several_answering_heads_is_their_mean() -> None:
    one = VelickovicGAT(GRAPH.n_features, 2, VelickovicGATConfig(n_out_heads=4)).eval()
    with torch.no_grad():
        assert one(OPERATOR, X).shape == (30, 2)
        assert one.second.att_src.shape == (1, 4, 2)


@pytest.mark.parametrize("lambda_max", [2.0, 1.5])
def test_repeated_chebyshev_is_the_recurrence_of_the_code(lambda_max: float) -> None:
    """Sixteen terms: the first two are the input, and each later one 2 M T - T'."""
    filter_ = RepeatedChebyshevFilter(16, lambda_max).double()
    with torch.no_grad():
        filter_.cheby.copy_(torch.linspace(-1, 1, 16))
    lam = np.linspace(0, 2, 21)
    shifted = 2 * lam / lambda_max - 1
    last, before = np.ones(21), np.ones(21)
    total = filter_.cheby[0].item() * last + filter_.cheby[1].item() * before
    for weight in filter_.cheby[2:].tolist():
        last, before = 2 * shifted * last - before, last
        total += weight * last
    np.testing.assert_allclose(filter_.response(lam), total, rtol=1e-9, atol=1e-9)
    assert filter_.degree == 14


def test_directed_gcn_hears_only_what_points_to_a_vertex() -> None:
    """On a path 0 → 1 → 2 each vertex hears of itself and of the one before."""
    path = Graph.from_edges([[0, 1], [1, 2]], directed=True)
    matrix = incoming(path).toarray()
    assert np.array_equal(matrix != 0, [[1, 0, 0], [1, 1, 0], [0, 1, 1]])
    np.testing.assert_allclose(matrix[1], [1 / np.sqrt(2), 1 / 2, 0])
    both = incoming(GRAPH)
    np.testing.assert_allclose(both.toarray(), OPERATOR.matrix.toarray(), rtol=1e-6, atol=1e-9)
