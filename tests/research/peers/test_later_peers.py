"""Networks of later papers against dense formulas and PyTorch Geometric's layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from graphfilter import operators
from graphfilter.data.datasets import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.splits import Split, stratified
from graphfilter.systems import get_system
from graphfilter.util.errors import ConfigError
from graphfilter_research.peers.acm_gcn import ACMGCN, ACMGCNConfig
from graphfilter_research.peers.block_gnn import BlockGNN, BlockGNNConfig
from graphfilter_research.peers.classic_gnn import ClassicGNN, ClassicGNNConfig
from graphfilter_research.peers.fsgnn import FSGNN, FSGNNConfig
from graphfilter_research.peers.glo_gnn import GloGNN, GloGNNConfig
from graphfilter_research.peers.label_propagation import correct, smooth
from graphfilter_research.peers.pieces import attend
from graphfilter_research.peers.pyg import graph_edges, pyg_nn

GRAPH = make_csbm(30, mean_degree=4, n_features=5, seed=2)
# One vertex without neighbours.
EDGES = Graph.from_edges(
    GRAPH.edges, 31, features=np.vstack([np.asarray(GRAPH.features), np.ones(5)]),
    labels=np.append(np.asarray(GRAPH.labels), 0),
)  # fmt: skip
X = torch.tensor(np.asarray(EDGES.features), dtype=torch.float32)
A = torch.tensor(EDGES.adjacency.toarray(), dtype=torch.float32)
AUGMENTED = operators.augmented_adjacency(EDGES)
ADJACENCY = operators.adjacency(EDGES)
LOOPED = A + torch.eye(31)
MEAN = LOOPED / LOOPED.sum(1, keepdim=True)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def dense(operator: operators.Operator) -> Tensor:
    return torch.tensor(operator.matrix.toarray(), dtype=torch.float32)


def attention(to: Tensor, of: Tensor, values: Tensor, pattern: Tensor) -> Tensor:
    score = nn.functional.leaky_relu(to[:, None] + of[None], 0.2)
    return torch.where(pattern != 0, score, -torch.inf).softmax(1) @ values


def test_attend_is_the_dense_softmax_and_its_gradient() -> None:
    operator = AUGMENTED.to(dtype=torch.float64)
    inputs = [
        torch.randn(shape, generator=seeded(i), dtype=torch.float64, requires_grad=True)
        for i, shape in enumerate([(31, 2), (31, 2), (31, 2, 3)])
    ]
    found = attend(operator, *inputs)
    for head in range(2):
        to, of, values = (each[:, head] for each in inputs)
        torch.testing.assert_close(found[:, head], attention(to, of, values, LOOPED.double()))
    assert torch.autograd.gradcheck(lambda *given: attend(operator, *given), inputs)


@pytest.mark.parametrize("convolution", ["gcn", "sage", "gat"])
def test_classic_layer_is_that_of_pytorch_geometric(convolution: str) -> None:
    pytest.importorskip("torch_geometric")
    config = ClassicGNNConfig(
        convolution=convolution, n_layers=1, hidden_size=4, norm="layer", residual=True
    )
    model = ClassicGNN(EDGES, config, generator=seeded()).eval()
    layer: Any = model.layers[0]
    edges, _ = graph_edges(EDGES)
    loops = torch.arange(31).expand(2, -1)
    edges = torch.cat([edges, loops], dim=1)
    if convolution == "gcn":
        conv = pyg_nn().GCNConv(5, 4)
        conv.lin.weight.data = layer.neighbours.data.T
        conv.bias.data = layer.bias.data
    elif convolution == "sage":
        conv = pyg_nn().SAGEConv(5, 4)
        conv.lin_l.weight.data, conv.lin_l.bias.data = layer.neighbours.data.T, layer.bias.data
        conv.lin_r.weight.data = layer.own.data.T
    else:
        conv = pyg_nn().GATConv(5, 4, heads=1, add_self_loops=False, bias=False)
        conv.lin.weight.data = layer.neighbours.data.T
        conv.att_dst.data = layer.score_to.data.T[None]
        conv.att_src.data = layer.score_of.data.T[None]
    with torch.no_grad():
        hidden = nn.functional.layer_norm(conv(X, edges) + layer.residual(X), (4,))
        expected = model.head(torch.relu(hidden))
        torch.testing.assert_close(model(AUGMENTED, X), expected, rtol=1e-4, atol=1e-5)


def test_batch_norm_is_torchs_in_training_and_after() -> None:
    model = ClassicGNN(EDGES, ClassicGNNConfig(dropout=0.0, n_layers=1, hidden_size=4))
    layer: Any = model.layers[0]
    norm = nn.BatchNorm1d(4)
    with torch.no_grad():
        mixed = dense(AUGMENTED) @ X @ layer.neighbours + layer.bias + layer.residual(X)
        for training in (True, True, False):
            expected = model.head(torch.relu(norm.train(training)(mixed)))
            found = model.train(training)(AUGMENTED, X)
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("aggregation", ["gcn", "sage", "gat", "gat-sep"])
def test_block_network_is_its_equations(aggregation: str) -> None:
    config = BlockGNNConfig(aggregation=aggregation, n_layers=2, hidden_size=6, n_heads=2)
    model = BlockGNN(EDGES, config, generator=seeded()).eval()
    apart = aggregation in ("sage", "gat-sep")
    operator = ADJACENCY if apart else AUGMENTED
    with torch.no_grad():
        hidden = nn.functional.gelu(model.encoder(X))
        for block in model.blocks:
            assert isinstance(block, nn.Module)
            part: Any = block
            seen = nn.functional.layer_norm(hidden, (6,))
            if aggregation == "gcn":
                seen = dense(AUGMENTED) @ seen
            elif aggregation == "sage":
                seen = torch.cat([seen, A @ seen / A.sum(1, keepdim=True).clamp(min=1)], dim=1)
            else:
                seen = part.project(seen)
                to, of = seen @ part.score_to, part.score_of(seen)
                heads = [
                    attention(to[:, h], of[:, h], seen[:, 3 * h : 3 * h + 3], dense(operator))
                    for h in range(2)
                ]
                seen = torch.cat([seen, *heads] if apart else heads, dim=1)
            hidden = hidden + part.second(nn.functional.gelu(part.first(seen)))
        expected = model.head(nn.functional.layer_norm(hidden, (6,)))
        torch.testing.assert_close(model(operator, X), expected, rtol=1e-4, atol=1e-5)


def test_fsgnn_filters_features_first() -> None:
    model = FSGNN(EDGES, FSGNNConfig(n_hops=2, hidden_size=3), generator=seeded()).eval()
    roots = A.sum(1).clamp(min=1e-9).rsqrt() * (A.sum(1) > 0)
    plain, looped = roots[:, None] * A * roots, dense(AUGMENTED)
    seen = [X, plain @ X, plain @ plain @ X, looped @ X, looped @ looped @ X]
    with torch.no_grad():
        model.scores.copy_(torch.tensor([0.0, 1.0, 2.0, -1.0, 0.5]))
        share = model.scores.softmax(0)
        parts: list[Any] = list(model.encoders)
        hidden = [
            share[i] * nn.functional.normalize(layer(hop), dim=1)
            for i, (layer, hop) in enumerate(zip(parts, seen, strict=True))
        ]
        expected = model.head(torch.relu(torch.cat(hidden, dim=1)))
        torch.testing.assert_close(model(AUGMENTED, X), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("decayed", ["both", "encoder", "head"])
def test_fsgnn_decays_what_it_is_told_to(decayed: str) -> None:
    model = FSGNN(EDGES, FSGNNConfig(decayed=decayed))
    free = {id(p) for p in model.undecayed_parameters()}
    assert ("head" in decayed or decayed == "both") == (id(model.head.weight) not in free)
    encoders = [id(p) for p in model.encoders.parameters()]
    assert (decayed != "head") == free.isdisjoint(encoders)


@pytest.mark.parametrize("structure", [True, False])
@pytest.mark.parametrize("early_relu", [True, False])
def test_acm_gcn_is_its_equations(structure: bool, early_relu: bool) -> None:
    config = ACMGCNConfig(hidden_size=4, structure=structure, early_relu=early_relu)
    model = ACMGCN(EDGES, config, generator=seeded()).eval()
    high = torch.eye(31) - MEAN
    with torch.no_grad():
        hidden = X
        for layer in (model.first, model.second):
            low_w, high_w, own_w = layer.weight.chunk(3, dim=1)
            pairs = [(MEAN, low_w), (high, high_w), (torch.eye(31), own_w)]
            channels = [
                m @ torch.relu(hidden @ w) if early_relu else torch.relu(m @ hidden @ w)
                for m, w in pairs
            ]
            if structure:
                channels.append(torch.relu(A @ layer.links))
            scores = torch.stack([c @ layer.scores[i] for i, c in enumerate(channels)], dim=1)
            share = (torch.sigmoid(scores) @ layer.mix / len(channels)).softmax(1)
            hidden = (share.T[:, :, None] * torch.stack(channels)).sum(0)
            hidden = hidden * (1 if structure else 3)
        torch.testing.assert_close(model(AUGMENTED, X), hidden, rtol=1e-4, atol=1e-5)


def test_glognn_is_the_dense_solution_over_all_pairs() -> None:
    config = GloGNNConfig(
        hidden_size=4, n_layers=2, n_hops=2, alpha=0.7, beta=1.3, gamma=0.3, delta=0.4
    )
    model = GloGNN(EDGES, config, generator=seeded()).eval()
    with torch.no_grad():
        links = MEAN @ model.links.weight + model.links.bias
        start = hidden = model.head(torch.relu(0.4 * model.encoder(X) + 0.6 * links))
        near = model.hops[0] * MEAN + model.hops[1] * MEAN @ MEAN
        for _ in range(2):
            pairs = hidden @ hidden.T
            z = 0.7 * pairs + 1.3 * near - 0.3 * 0.7 * start @ hidden.T
            z = z @ torch.linalg.inv(0.7**2 * pairs + 2.0 * torch.eye(31))
            hidden = 0.7 * z @ hidden + 0.3 * start
        torch.testing.assert_close(model(AUGMENTED, X), hidden, rtol=1e-3, atol=1e-4)


def test_correct_reaches_the_fixed_point_and_leaves_right_answers() -> None:
    split = stratified(EDGES.labels, 0)
    truth = np.eye(2)[np.asarray(EDGES.labels)]
    np.testing.assert_allclose(correct(EDGES, split, truth, alpha=0.5), truth)
    base = np.full((31, 2), 0.5)
    roots = np.where(EDGES.degrees > 0, 1 / np.sqrt(np.maximum(EDGES.degrees, 1)), 0)
    spread = roots[:, None] * EDGES.adjacency.toarray() * roots
    start = np.zeros((31, 2))
    start[split.train] = truth[split.train] - 0.5
    errors = 0.5 * np.linalg.solve(np.eye(31) - 0.5 * spread, start)
    lengths = np.abs(errors).sum(1, keepdims=True)
    scale = np.where(lengths > 1e-3, 1 / np.maximum(lengths, 1e-12), 1.0)
    found = correct(EDGES, split, base, alpha=0.5)
    np.testing.assert_allclose(found, base + scale * errors, atol=1e-6)


def test_smooth_follows_labels_only_where_asked() -> None:
    everything = Split(np.arange(30), np.array([30]), np.array([], dtype=np.int64))
    scores = np.full((31, 2), 0.5)
    found = smooth(EDGES, everything, scores, alpha=0.0)
    assert (found[:30].argmax(1) == np.asarray(EDGES.labels)[:30]).all()
    np.testing.assert_allclose(found[30], 0.5)


def test_bad_settings_of_peers_are_refused() -> None:
    with pytest.raises(ConfigError, match="multiple of n_heads"):
        BlockGNNConfig(hidden_size=10, n_heads=4)
    with pytest.raises(ConfigError, match="gamma must be"):
        GloGNNConfig(gamma=1.0)


def test_ranked_datasets_are_monitored_by_their_metric() -> None:
    for name in ("gcn-blocks", "sage-tuned", "fsgnn", "acm-gcn", "glognn"):
        system = get_system(name)
        assert system.for_dataset("tolokers").config.monitor == "roc_auc"
        assert system.for_dataset("cora").config.monitor != "roc_auc"
