"""The peers compute what we compute: otherwise their times would compare nothing."""

from __future__ import annotations

import pytest
import torch

import layer
import memory
import peers
from graphfilter.data import make_karate
from graphfilter.filters import StackedFilter
from graphfilter.models import FilterNetwork
from graphfilter.operators import augmented_adjacency
from graphfilter.splits import stratified
from graphfilter.training import TrainConfig
from graphfilter_research.peers.pyg import graph_edges
from graphs import make_graph


def test_pyg_network_equals_the_filter_network() -> None:
    graph = make_karate()
    x = torch.randn(34, 5, generator=torch.Generator().manual_seed(0))
    ours = FilterNetwork(5, 2, StackedFilter(4, init="uniform"), hidden_size=8).eval()
    theirs = peers.PygNetwork(5, 2, n_layers=4, hidden_size=8, dropout=0.7).eval()
    assert ours.encoder is not None
    with torch.no_grad():
        for mine, other in ((ours.encoder, theirs.encoder), (ours.head, theirs.head)):
            other.weight.copy_(mine.weight.T)
            other.bias.copy_(mine.bias)
        theirs.alpha.copy_(ours.get_parameter("filter.alpha"))
        theirs.beta.copy_(ours.get_parameter("filter.beta"))
    edges = peers.normalise(graph_edges(graph)[0], 34)
    wanted = ours(augmented_adjacency(graph), x)
    assert torch.allclose(theirs(x, *edges), wanted, atol=1e-5)
    for theirs.plain in (True, False):
        assert torch.allclose(theirs(x, augmented_adjacency(graph).csr()), wanted, atol=1e-5)
    csr = augmented_adjacency(graph).csr()
    assert torch.allclose(theirs(x.to_sparse_csr(), csr), wanted, atol=1e-5)
    # The same dropout is drawn where every entry is stored, and the gradient is the same.
    theirs.train()
    grads = []
    for given in (x, x.to_sparse_csr()):
        torch.manual_seed(0)
        grads.append(torch.autograd.grad(theirs(given, csr).sum(), theirs.encoder.weight)[0])
    assert torch.allclose(*grads, atol=1e-5)


def test_pyg_epoch_trains() -> None:
    graph = make_karate()
    torch.manual_seed(0)
    network = peers.PygNetwork(34, 2, n_layers=2, hidden_size=8, dropout=0.0)
    inputs = (torch.eye(34), *peers.normalise(graph_edges(graph)[0], 34))
    labels = torch.tensor(graph.labels)
    epoch = peers.pyg_epoch(
        network, inputs, labels, stratified(graph.labels, seed=0), TrainConfig()
    )

    def loss() -> float:
        return torch.nn.functional.cross_entropy(network(*inputs), labels).item()

    before = loss()
    for _ in range(20):
        epoch()
    assert loss() < before


@pytest.mark.parametrize("degrees", layer.DEGREES)
@pytest.mark.parametrize("method", ["ours", *layer.PEERS])
def test_every_layer_equals_the_exact_rows(method: str, degrees) -> None:
    case = layer.Layer(make_graph(60, 500, degrees), torch.float32)
    call = (
        case.ours()
        if method == "ours"
        else getattr(peers.PlainProduct(case.graph, torch.float32), method)(
            case.x, case.out, layer.SCALE, layer.KEEP
        )
    )
    measured = case.measure(call, seconds=0)
    assert measured["error"] < 1e-6


def test_layer_measures_the_error_of_a_wrong_result() -> None:
    case = layer.Layer(make_graph(60, 500), torch.float32)
    assert case.measure(lambda: case.out.zero_(), seconds=0)["error"] > 0.1


def test_exact_rows_equal_the_dense_product() -> None:
    graph = make_graph(40, 200, "power-law")
    case = layer.Layer(graph, torch.float64)
    wanted = layer.SCALE * (graph.operator(torch.float64) @ case.x) + layer.KEEP * case.before
    assert torch.allclose(case.exact, wanted[case.rows])


def test_memory_compares_methods_with_the_same_gradients() -> None:
    graph = make_graph(300, 2000)
    ours, *others = (memory.measure(method, 3, graph) for method in memory.TITLES)
    for other in others:
        memory.check_same_gradients(ours, other)
    wrong = memory.measure("autograd", 3, make_graph(300, 2000, seed=1))
    with pytest.raises(AssertionError):
        memory.check_same_gradients(ours, wrong)
