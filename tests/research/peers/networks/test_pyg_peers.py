"""The peers on PyTorch Geometric's layers agree with its own networks on the same weights."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter import operators
from graphfilter.data.datasets import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.models import FilterNetwork
from graphfilter.operators import to_tensor
from graphfilter.operators.operator import loop_weight
from graphfilter.systems import get_system
from graphfilter.util.errors import ConfigError
from graphfilter_research.peers.arma import ARMA
from graphfilter_research.peers.chebnet import ChebNet
from graphfilter_research.peers.gat import GAT
from graphfilter_research.peers.gcn import GCN, GCNConfig
from graphfilter_research.peers.gcnii import GCNII, GCNIIConfig
from graphfilter_research.peers.jknet import JKNet, JKNetConfig
from graphfilter_research.peers.linkx import LINKX, LINKXConfig
from graphfilter_research.peers.mixhop import MixHop, MixHopConfig
from graphfilter_research.peers.pyg import (
    Projection,
    drawing_from,
    edges_to_csr,
    graph_edges,
    operator_csr,
    operator_edges,
    pyg_nn,
    to_dense,
)

N_FEATURES = 7

pyg = pyg_nn()


def make_graph(*, weighted: bool = False) -> Graph:
    graph = make_csbm(n_vertices=50, mean_degree=4, n_features=N_FEATURES, seed=2)
    if not weighted:
        return graph
    weights = np.random.default_rng(0).uniform(0.5, 2, graph.n_edges)
    return Graph.from_edges(
        graph.edges, 50, weights=weights, features=graph.features, labels=graph.labels
    )


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def graph(request: pytest.FixtureRequest) -> Graph:
    return make_graph(weighted=request.param)


def inputs(graph: Graph) -> tuple[operators.Operator, Tensor, Tensor, Tensor]:
    edges, weights = graph_edges(graph)
    x = to_tensor(graph.features)
    assert isinstance(x, Tensor)
    return operators.augmented_adjacency(graph), x, edges, weights


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def test_gcn_equals_pyg(graph: Graph) -> None:
    operator, x, edges, weights = inputs(graph)
    ours = GCN(N_FEATURES, 2, generator=seeded()).eval()
    first, second = pyg.GCNConv(N_FEATURES, 16), pyg.GCNConv(16, 2)
    with torch.no_grad():
        first.lin.weight.copy_(ours.project.weight.T)
        first.bias.copy_(ours.convs[0].get_parameter("bias").normal_(generator=seeded()))
        second.load_state_dict(ours.convs[1].state_dict())
        expected = second(torch.relu(first(x, edges, weights)), edges, weights)
        close(ours(operator, x), expected)


def test_gcn_with_one_layer_is_linear() -> None:
    operator, x, _, _ = inputs(make_graph())
    ours = GCN(N_FEATURES, 2, GCNConfig(n_layers=1), generator=seeded()).eval()
    with torch.no_grad():
        close(ours(operator, x), operator @ (x @ ours.project.weight))


def test_sgc_equals_pyg(graph: Graph) -> None:
    operator, x, edges, weights = inputs(graph)
    ours = get_system("sgc").build(graph, 0).eval()
    assert isinstance(ours, FilterNetwork)
    theirs = pyg.SGConv(N_FEATURES, 2, K=2)
    with torch.no_grad():
        # Ours adds the bias before the filter, theirs after it.
        ours.head.bias.zero_()
        theirs.lin.weight.copy_(ours.head.weight.T)
        theirs.lin.bias.zero_()
        close(ours(operator, x), theirs(x, edges, weights))


@pytest.mark.parametrize(("name", "K", "alpha"), [("appnp", 10, 0.1), ("appnp-0.2", 2, 0.2)])
def test_appnp_equals_pyg(graph: Graph, name: str, K: int, alpha: float) -> None:
    operator, x, edges, weights = inputs(graph)
    ours = get_system(name).build(graph, 0).eval()
    assert isinstance(ours, FilterNetwork)
    assert ours.encoder is not None
    with torch.no_grad():
        logits = ours.head(torch.relu(ours.encoder(x)))
        close(ours(operator, x), pyg.APPNP(K, alpha)(logits, edges, weights))


def test_gat_equals_pyg() -> None:
    operator, x, edges, _ = inputs(make_graph())
    ours = GAT(N_FEATURES, 2, generator=seeded()).eval()
    first, second = pyg.GATConv(N_FEATURES, 8, heads=8), pyg.GATConv(64, 2)
    with torch.no_grad():
        first.lin.weight.copy_(ours.project.weight.T)
        for name in ("att_src", "att_dst", "bias"):
            getattr(first, name).copy_(getattr(ours.first, name))
        second.load_state_dict(ours.second.state_dict())
        expected = second(torch.nn.functional.elu(first(x, edges)), edges)
        close(ours(operator, x), expected)


def test_gcnii_equals_pyg(graph: Graph) -> None:
    operator, x, edges, weights = inputs(graph)
    ours = GCNII(
        N_FEATURES, 2, GCNIIConfig(n_layers=3, alpha=0.2, theta=1.5), generator=seeded()
    ).eval()
    with torch.no_grad():
        start = hidden = torch.relu(ours.encoder(x))
        for layer, weight in enumerate(ours.weights, start=1):
            theirs = pyg.GCN2Conv(64, alpha=0.2, theta=1.5, layer=layer)
            theirs.weight1.copy_(weight)
            hidden = torch.relu(theirs(hidden, start, edges, weights))
        close(ours(operator, x), ours.head(hidden))


def test_gcnii_with_full_residual_ignores_the_graph() -> None:
    operator, x, _, _ = inputs(make_graph())
    ours = GCNII(N_FEATURES, 2, GCNIIConfig(n_layers=2, alpha=1.0), generator=seeded()).eval()
    other = operators.augmented_adjacency(Graph.from_edges([[0, 1]], n_vertices=operator.n))
    with torch.no_grad():
        close(ours(operator, x), ours(other, x))


def test_mixhop_runs_on_the_augmented_adjacency(graph: Graph) -> None:
    operator, x, edges, weights = inputs(graph)
    ours = MixHop(graph, MixHopConfig(n_layers=1), generator=seeded()).eval()
    theirs = pyg.MixHopConv(N_FEATURES, 20, powers=[0, 1, 2])
    theirs.load_state_dict(ours.convs[0].state_dict())
    with torch.no_grad():
        hidden = torch.relu(theirs(x, edges, weights))
        close(ours(operator, x), ours.head(hidden))
        powers = [x, operator @ x, operator @ (operator @ x)]
        by_hand = [lin(z) for lin, z in zip(theirs.lins, powers, strict=True)]
        close(hidden, torch.relu(torch.cat(by_hand, dim=1) + theirs.bias))


def test_chebnet_is_chebyshev_of_the_laplacian(graph: Graph) -> None:
    _, x, _, _ = inputs(graph)
    dense = torch.tensor(operators.laplacian(graph).matrix.toarray(), dtype=torch.float32)
    ours = ChebNet(graph, generator=seeded()).eval()
    shifted = dense - torch.eye(len(dense))
    # Its layer gives a vertex without edges L = 1 where this package has 0.
    shifted[graph.degrees == 0] = 0

    def layer(conv: Any, z: Tensor) -> Tensor:
        terms = [z, shifted @ z, 2 * shifted @ (shifted @ z) - z]
        return sum(lin(t) for lin, t in zip(conv.lins, terms, strict=True)) + conv.bias

    with torch.no_grad():
        expected = layer(ours.second, torch.relu(layer(ours.first, x)))
        close(ours(operators.laplacian(graph), x), expected)


def test_arma_step_is_its_recurrence(graph: Graph) -> None:
    _, x, _, _ = inputs(graph)
    matrix = operators.adjacency(graph).matrix.toarray()
    # Its layer gives a vertex without edges no message, where this package has its own.
    matrix[graph.degrees == 0] = 0
    dense = torch.tensor(matrix, dtype=torch.float32)
    ours = ARMA(graph, generator=seeded()).eval()

    def layer(conv: Any, z: Tensor) -> Tensor:
        stacks = dense @ (z @ conv.init_weight) + z @ conv.root_weight[0] + conv.bias[0]
        return (stacks if conv.act is None else torch.relu(stacks)).mean(dim=0)

    with torch.no_grad():
        close(ours(operators.adjacency(graph), x), layer(ours.second, layer(ours.first, x)))


def test_linkx_takes_the_plain_adjacency_for_features(graph: Graph) -> None:
    operator, x, _, _ = inputs(graph)
    ours = LINKX(graph, LINKXConfig(n_layers=1), generator=seeded()).eval()
    parts = ours.network
    weights = graph.adjacency.toarray() / loop_weight(graph)
    adjacency = torch.tensor(weights, dtype=torch.float32)
    with torch.no_grad():
        of_graph = adjacency @ parts.edge_lin.weight + parts.edge_lin.bias
        of_x = parts.node_mlp(x)
        mixed = of_graph + of_x + parts.cat_lin1(of_graph) + parts.cat_lin2(of_x)
        close(ours(operator, x), parts.final_mlp(torch.relu(mixed)))


def test_jknet_without_dropped_edges_sees_the_operator(graph: Graph) -> None:
    operator = operators.augmented_adjacency(graph)
    model = JKNet(graph, JKNetConfig(drop_edge=0.0), generator=seeded())
    sampled = model.sample_adjacency(operator.n, seeded())
    close(sampled.to_dense(), operator_csr(operator).to_dense())


def test_jknet_drops_edges_in_both_directions_and_normalises_the_rest() -> None:
    graph = make_graph()
    model = JKNet(graph, JKNetConfig(drop_edge=0.5), generator=seeded())
    dense = model.sample_adjacency(graph.n_vertices, seeded()).to_dense()
    close(dense, dense.T.contiguous())
    kept = torch.triu(dense, 1).nonzero()
    assert 0 < len(kept) < graph.n_edges
    expected = operators.augmented_adjacency(Graph.from_edges(kept.numpy(), graph.n_vertices))
    close(dense, operator_csr(expected).to_dense())


def test_lend_draws_from_the_generator_and_gives_back() -> None:
    before = torch.get_rng_state()
    generator = seeded(3)
    with drawing_from(generator):
        first = torch.rand(4)
    second = torch.rand(4, generator=generator)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(torch.cat([first, second]), torch.rand(8, generator=seeded(3)))


def test_lend_gives_back_after_an_error() -> None:
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError, match="size"), drawing_from(seeded(3)):
        torch.add(torch.rand(4), torch.rand(5))
    assert torch.equal(torch.get_rng_state(), before)


def test_operator_edges_are_its_entries() -> None:
    operator = operators.augmented_adjacency(make_graph(weighted=True))
    edges = operator_edges(operator)
    csr = edges_to_csr(edges, operator_csr(operator).values(), operator.n)
    np.testing.assert_allclose(csr.to_dense(), operator.matrix.toarray(), rtol=1e-6)


def test_graph_edges_are_the_adjacency(small_graph: Graph) -> None:
    edges, weights = graph_edges(small_graph)
    dense = edges_to_csr(edges, weights, small_graph.n_vertices).to_dense()
    expected = small_graph.adjacency.toarray() / loop_weight(small_graph)
    np.testing.assert_allclose(dense, expected, rtol=1e-6)


def test_projection_equals_the_dense_product() -> None:
    matrix = sp.random_array((6, 9), density=0.2, rng=np.random.default_rng(0), format="csr")
    sparse = to_tensor(matrix)
    assert not isinstance(sparse, Tensor)
    dense = torch.tensor(matrix.toarray(), dtype=torch.float32)
    project = Projection(9, 3, seeded())
    close(project(sparse), dense @ project.weight)
    close(project(dense), dense @ project.weight)
    assert torch.equal(to_dense(sparse), dense)


def test_missing_pyg_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    # None in sys.modules makes an import fail as if the package were not there.
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    monkeypatch.delitem(sys.modules, "torch_geometric.nn")
    with pytest.raises(ConfigError, match=r"graphfilter\[peers\]"):
        pyg_nn()
