"""Filters in PyTorch Geometric: its loaders and transforms, exported and compiled."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest
import torch
from tests.filters.plain import pyg, random_edges
from torch import Tensor, nn

from graphfilter import pyg as gfp
from graphfilter.util.errors import GraphError

torch_geometric = pytest.importorskip("torch_geometric")

N = 40
EDGES, WEIGHTS = random_edges(N)
X = torch.randn(N, 6, generator=torch.Generator().manual_seed(3))


class Net(nn.Module):
    """Two layers, as the examples of PyTorch Geometric have them."""

    def __init__(self, operator: Any = None) -> None:
        super().__init__()
        self.first = gfp.StackedFilterConv(6, 8, n_layers=4, cached=True)
        self.second = gfp.PageRankFilterConv(8, 3, K=3)
        self.operator = operator

    def forward(self, x: Tensor, edge_index: Any = None) -> Tensor:
        graph = self.operator if edge_index is None else edge_index
        return self.second(self.first(x, graph).relu(), graph)


def gradients(net: nn.Module, call: Any) -> list[Tensor]:
    net.zero_grad()
    y = call(X, EDGES)
    y.square().sum().backward()
    return [y.detach(), *(p.grad.clone() for p in net.parameters() if p.grad is not None)]


# torch's own, where what it compiles starts at the output of what it does not.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
def test_compiled_layers_give_the_same_values_and_gradients() -> None:
    net = Net()
    compiled = torch.compile(net, backend="aot_eager")
    expected = gradients(net, net)
    for got, one in zip(gradients(net, compiled), expected, strict=True):
        torch.testing.assert_close(got, one, rtol=1e-6, atol=1e-6)
    torch._dynamo.reset()  # pyright: ignore[reportPrivateUsage]


def test_a_layer_that_holds_its_operator_is_not_exported() -> None:
    net = Net(gfp.prepare_operator(EDGES, WEIGHTS)).eval()
    with pytest.raises(GraphError, match="must get the edges"):
        torch.export.export(net, (X[: net.operator.n],))


@pytest.mark.parametrize("operator", ["augmented_adjacency", "adjacency", "laplacian"])
def test_a_layer_exported_with_edges_takes_graphs_of_any_size(operator: str) -> None:
    first = gfp.StackedFilterConv(6, 8, operator=operator)
    second = gfp.ChebyshevFilterConv(8, 3) if operator == "laplacian" else gfp.PowerFilterConv()
    net = pyg.Sequential(
        "x, edge_index, edge_weight",
        [(conv, "x, edge_index, edge_weight -> x") for conv in (first, second)],
    ).eval()
    n, m = torch.export.Dim("n", min=3), torch.export.Dim("m", min=3)
    sizes = ({0: n}, {1: m}, {0: m})
    program = torch.export.export(net, (X, EDGES, WEIGHTS), dynamic_shapes=(sizes,))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded = torch.export.load(file).module()
    some = torch.cat([X, X])[: len(X) + 5], EDGES[:, 4:], WEIGHTS[4:]
    for given in ((X, EDGES, WEIGHTS), some):
        torch.testing.assert_close(loaded(*given), net(*given))
    with pytest.raises(GraphError, match="cannot be exported with edges"):
        torch.export.export(gfp.ExactPageRankFilterConv(6, 3), (X, EDGES))


def test_layers_run_in_a_pyg_sequential() -> None:
    first, second = gfp.StackedFilterConv(6, 8), gfp.PageRankFilterConv()
    sequential = pyg.Sequential(
        "x, edge_index, edge_weight",
        [
            (first, "x, edge_index, edge_weight -> x"),
            nn.ReLU(),
            (second, "x, edge_index, edge_weight -> x"),
        ],
    )
    expected = second(first(X, EDGES, WEIGHTS).relu(), EDGES, WEIGHTS)
    torch.testing.assert_close(sequential(X, EDGES, WEIGHTS), expected)


def test_state_dict_moves_what_was_learned_to_another_layer() -> None:
    one = gfp.StackedFilterConv(6, 3, init="uniform", seed=1)
    other = gfp.StackedFilterConv(6, 3)
    assert sorted(one.state_dict()) == ["bias", "filter.alpha", "filter.beta", "lin.weight"]
    other.load_state_dict(one.state_dict())
    torch.testing.assert_close(other(X, EDGES), one(X, EDGES))


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copied_and_pickled_networks_give_the_same(copier: Any) -> None:
    for net in (Net(), Net(gfp.prepare_operator(EDGES, num_nodes=N))):
        edges = EDGES if net.operator is None else None
        torch.testing.assert_close(copier(net)(X, edges), net(X, edges))


def test_saved_network_loads_without_the_cache() -> None:
    net = Net()
    expected = net(X, EDGES)
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    loaded = Net()
    loaded.load_state_dict(torch.load(file, weights_only=True))
    torch.testing.assert_close(loaded(X, EDGES), expected)


def test_relations_within_one_kind_run_in_a_hetero_conv() -> None:
    conv = gfp.StackedFilterConv(6, 3)
    hetero = pyg.HeteroConv({("a", "to", "a"): conv, ("a", "in", "b"): pyg.SAGEConv((6, 6), 3)})
    into = torch.tensor([[0, 1, 2], [0, 1, 0]])
    edges = {("a", "to", "a"): EDGES, ("a", "in", "b"): into}
    out = hetero({"a": X, "b": X[:2]}, edges)
    torch.testing.assert_close(out["a"], conv(X, EDGES))


def test_to_hetero_over_two_kinds_is_refused_with_the_remedy() -> None:
    kinds = ["a", "b"], [("a", "to", "a"), ("a", "in", "b"), ("b", "of", "a")]
    into = torch.tensor([[0, 1, 2], [0, 1, 0]])

    class One(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = gfp.StackedFilterConv(6, 3)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return self.conv(x, edge_index)

    hetero = pyg.to_hetero(One(), kinds)
    edges = dict(zip(kinds[1], (EDGES, into, into.flip(0)), strict=True))
    with pytest.raises(GraphError, match="HeteroConv"):
        hetero({"a": X, "b": X[:2]}, edges)


def test_layers_take_an_edge_index_of_pyg() -> None:
    edges = torch_geometric.EdgeIndex(EDGES, sparse_size=(N, N))
    conv = gfp.StackedFilterConv(6, 3, cached=True)
    torch.testing.assert_close(conv(X, edges), conv(X, EDGES))


def test_batch_of_graphs_is_filtered_graph_by_graph() -> None:
    data = torch_geometric.data.Data(x=X, edge_index=EDGES)
    batch = torch_geometric.data.Batch.from_data_list([data, data])
    conv = gfp.StackedFilterConv(6, 3)
    torch.testing.assert_close(conv(batch.x, batch.edge_index)[N:], conv(X, EDGES))


# With torch-sparse in the place of pyg-lib it says that it would rather have that.
@pytest.mark.filterwarnings("ignore:Using '.*' without a 'pyg-lib':UserWarning")
@pytest.mark.parametrize("kind", ["directional", "bidirectional", "induced"])
def test_batches_of_a_neighbor_loader_equal_plain_message_passing(kind: str) -> None:
    typing = torch_geometric.typing
    if not (typing.WITH_PYG_LIB or typing.WITH_TORCH_SPARSE):
        pytest.skip("NeighborLoader needs pyg-lib or torch-sparse; neither is installed")
    data = torch_geometric.data.Data(x=X, edge_index=EDGES)
    loader = torch_geometric.loader.NeighborLoader(
        data, num_neighbors=[3, 2], batch_size=8, subgraph_type=kind
    )
    ours, theirs = gfp.PageRankFilterConv(K=3, alpha=0.2), pyg.APPNP(K=3, alpha=0.2)
    for batch in loader:
        torch.testing.assert_close(
            ours(batch.x, batch.edge_index), theirs(batch.x, batch.edge_index)
        )


def test_sampled_neighbourhoods_equal_plain_message_passing() -> None:
    """What a loader samples: edges towards a few vertices, from others that none lead to."""
    generator = torch.Generator().manual_seed(0)
    kept = torch.randperm(EDGES.shape[1], generator=generator)[:60]
    sampled = EDGES[:, kept][:, EDGES[1, kept] < 15]
    ours, theirs = gfp.PageRankFilterConv(K=3, alpha=0.2), pyg.APPNP(K=3, alpha=0.2)
    torch.testing.assert_close(ours(X, sampled), theirs(X, sampled))


def test_sparse_tensor_of_torch_sparse_gives_the_same() -> None:
    torch_sparse = pytest.importorskip("torch_sparse", reason="torch-sparse is not installed")
    adjacency = torch_sparse.SparseTensor(
        row=EDGES[1], col=EDGES[0], value=WEIGHTS, sparse_sizes=(N, N)
    )
    conv = gfp.StackedFilterConv(6, 3, cached=True)
    torch.testing.assert_close(conv(X, adjacency), conv(X, EDGES, WEIGHTS))
    first = conv.prepare(X, adjacency)
    assert conv.prepare(X, adjacency) is first
    adjacency.set_value_(2 * WEIGHTS, layout="coo")
    assert conv.prepare(X, adjacency) is not first


def test_module_moves_to_another_precision_as_a_whole() -> None:
    net = Net().double()
    assert net(X.double(), EDGES).dtype == torch.float64
    with pytest.raises(RuntimeError):
        net(X, EDGES)
