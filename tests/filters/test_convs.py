"""Filters as layers of PyTorch Geometric: beside its own, in its loaders, exported and compiled."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.filters.examples import appnp, cheb, gcn
from tests.filters.plain import plain_layer, pyg, random_edges
from torch import Tensor, nn

from graphfilter import filters, pyg as gfp
from graphfilter.operators.operator import DirectedOperator
from graphfilter.util.errors import ConfigError, GraphError

N = 40
CONVS: dict[str, Callable[..., gfp.FilterConv]] = {
    "stacked": lambda *io, **o: gfp.StackedFilterConv(*io, n_layers=6, init="uniform", **o),
    "horizontal": lambda *io, **o: gfp.HorizontalFilterConv(*io, degree=6, init=0.3, **o),
    "chebyshev": lambda *io, **o: gfp.ChebyshevFilterConv(*io, degree=6, **o),
    "power": lambda *io, **o: gfp.PowerFilterConv(*io, k=3, **o),
    "pagerank": lambda *io, **o: gfp.PageRankFilterConv(*io, K=8, alpha=0.2, **o),
    "exact": lambda *io, **o: gfp.ExactPageRankFilterConv(*io, alpha=0.2, **o),
}
convs = pytest.mark.parametrize("name", CONVS)


def columns(width: int, dtype: torch.dtype = torch.float32, n: int = N) -> Tensor:
    return torch.randn(n, width, generator=torch.Generator().manual_seed(1)).to(dtype)


def assert_same(conv: gfp.FilterConv, x: Tensor, *graph: Tensor) -> None:
    """Compare values and the gradients of x and of every parameter, to 1e-6 (float64: 1e-11)."""
    tolerance = 1e-6 if x.dtype == torch.float32 else 1e-11
    if conv.lin is not None:
        with torch.no_grad():
            conv.lin.weight.copy_(columns(conv.lin.in_features, x.dtype, conv.lin.out_features) / 3)
    found = []
    for layer in (lambda x: conv(x, *graph), lambda x: plain_layer(conv, x, *graph)):
        conv.zero_grad()
        own = x.clone().requires_grad_()
        y = layer(own)
        (y * columns(y.shape[1], x.dtype, len(x)).sin()).sum().backward()
        grads = [p.grad for p in (own, *conv.parameters()) if p.grad is not None]
        found.append([y.detach(), *grads])
    assert len(found[0]) == len(found[1])
    for got, expected in zip(*found, strict=True):
        scale = max(float(expected.abs().max()), 1.0)
        assert float((got - expected).abs().max()) <= tolerance * scale


@convs
@pytest.mark.parametrize("sizes", [(8, 3), (3, 8), ()], ids=["narrower", "wider", "filter only"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_conv_equals_plain_message_passing(
    name: str, sizes: tuple[int, ...], dtype: torch.dtype
) -> None:
    edges, weights = random_edges(N)
    # Without the vertex that no edge comes in to, where gcn_norm has 0 on the diagonal of Â.
    n = N - 1 if name == "chebyshev" else N
    conv = CONVS[name](*sizes).to(dtype)
    assert_same(conv, columns(sizes[0] if sizes else 5, dtype, n), edges, weights.to(dtype))


@pytest.mark.parametrize("name", [name for name in CONVS if name != "exact"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("weighted", [False, True])
def test_conv_on_directed_edges_equals_plain_message_passing(
    name: str, weighted: bool, dtype: torch.dtype
) -> None:
    edges, weights = random_edges(N, both_ways=False)
    graph = (edges, weights.to(dtype)) if weighted else (edges,)
    conv = CONVS[name](6, 4).to(dtype)
    assert isinstance(conv.prepare(columns(6), *graph), DirectedOperator)
    assert_same(conv, columns(6, dtype, N - 1), *graph)


def test_conv_with_self_loops_and_repeated_edges_equals_plain_message_passing() -> None:
    edges = torch.tensor([[0, 1, 1, 2, 2, 0, 0], [1, 0, 2, 1, 2, 1, 1]])
    weights = torch.tensor([1.0, 2.0, 0.5, 0.5, 3.0, 1.0, 1.0])
    for graph in ((edges,), (edges, weights.double())):
        assert_same(
            gfp.StackedFilterConv(4, 2, n_layers=3).double(), columns(4).double()[:3], *graph
        )


@pytest.mark.parametrize("both_ways", [True, False])
def test_fixed_filters_equal_the_layers_of_pyg(both_ways: bool) -> None:
    edges, weights = random_edges(N, both_ways=both_ways)
    x = columns(6, torch.float64)
    graph = (edges, weights.double())
    appnp = pyg.APPNP(K=10, alpha=0.1)
    torch.testing.assert_close(gfp.PageRankFilterConv(K=10, alpha=0.1)(x, *graph), appnp(x, *graph))
    sgc = pyg.SGConv(6, 3, K=3).double()
    ours = gfp.PowerFilterConv(6, 3, k=3).double()
    ours.load_state_dict({"lin.weight": sgc.lin.weight, "bias": sgc.lin.bias})
    torch.testing.assert_close(ours(x, *graph), sgc(x, *graph))


def test_one_product_with_self_loops_is_gcn() -> None:
    edges, _ = random_edges(N)
    gcn = pyg.GCNConv(6, 3).double()
    conv = gfp.PowerFilterConv(6, 3, k=1).double()
    conv.load_state_dict(gcn.state_dict())
    x = columns(6, torch.float64)
    torch.testing.assert_close(conv(x, edges), gcn(x, edges))


def test_conv_takes_leading_dimensions() -> None:
    edges, _ = random_edges(N)
    conv = gfp.StackedFilterConv(6, 3)
    x = torch.randn(2, 5, N, 6)
    y = conv(x, edges)
    assert y.shape == (2, 5, N, 3)
    torch.testing.assert_close(y[1, 3], conv(x[1, 3], edges))


def test_conv_filters_given_polynomial() -> None:
    """The filter handed in keeps its scalars."""
    theta = torch.tensor([0.2, -1.0, 0.7])
    conv = gfp.FilterConv(filters.StackedFilter.from_polynomial(theta))
    assert conv.filter.coefficients().tolist() == pytest.approx(theta.tolist())
    conv.reset_parameters()
    assert conv.filter.coefficients().tolist() == [0.5, 0.25, 0.25]


def test_lazy_channels_are_taken_from_the_first_x() -> None:
    conv = gfp.StackedFilterConv(-1, 3)
    assert conv(columns(7), random_edges(N)[0]).shape == (N, 3)
    assert conv.lin is not None
    assert conv.lin.weight.shape == (3, 7)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_conv_in_half_precision_is_the_rounded_float32(dtype: torch.dtype) -> None:
    edges, _ = random_edges(N)
    conv = gfp.PageRankFilterConv()
    x = columns(4).to(dtype)
    y = conv(x, edges)
    assert y.dtype == dtype
    torch.testing.assert_close(y, conv(x.float(), edges).to(dtype))


def test_conv_runs_under_autocast() -> None:
    edges, _ = random_edges(N)
    conv = gfp.StackedFilterConv(6, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        conv(columns(6), edges).float().sum().backward()
    assert conv.lin is not None
    assert conv.lin.weight.grad is not None


def test_exact_pagerank_refuses_directed_edges() -> None:
    with pytest.raises(ConfigError, match="both ways"):
        gfp.ExactPageRankFilterConv()(columns(2), random_edges(N, both_ways=False)[0])


def test_conv_refuses_two_sets_of_vertices() -> None:
    x = columns(4)
    with pytest.raises(GraphError, match="one square matrix"):
        gfp.StackedFilterConv(4, 2)((x, x), random_edges(N)[0])  # pyright: ignore[reportArgumentType]


def test_conv_with_one_kind_of_channels_is_refused() -> None:
    with pytest.raises(ConfigError, match="both, or neither"):
        gfp.StackedFilterConv(4)


def test_repr_names_what_distinguishes_a_layer() -> None:
    text = repr(gfp.PowerFilterConv(4, 2, k=3, operator="adjacency", cached=True))
    assert "4, 2, operator=adjacency, cached=True" in text
    assert "PowerFilter(k=3)" in text


torch_geometric = pytest.importorskip("torch_geometric")

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


def test_exported_program_gives_the_same_values_after_saving() -> None:
    net = Net(gfp.prepare_operator(EDGES, WEIGHTS)).eval()
    x = X[: net.operator.n]
    program = torch.export.export(net, (x,))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    torch.testing.assert_close(torch.export.load(file).module()(x), net(x))


def test_export_of_a_layer_with_edges_is_refused_with_the_remedy() -> None:
    with pytest.raises(GraphError, match="prepare_operator"):
        torch.export.export(gfp.StackedFilterConv(6, 3), (X, EDGES))


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


def assert_learned(losses: list[float], accuracy: float, least: float) -> None:
    assert losses[-1] < losses[0] / 2
    assert accuracy >= least


def test_stacked_filter_trains_in_the_place_of_gcn() -> None:
    assert_learned(*gcn.main(gfp.StackedFilterConv), least=0.9)
    assert_learned(*gcn.main(pyg.GCNConv), least=0.9)


def test_stacked_filter_trains_in_the_place_of_appnp() -> None:
    assert_learned(*appnp.main(lambda: gfp.StackedFilterConv(cached=True)), least=0.9)


def test_fixed_pagerank_trains_as_appnp_does() -> None:
    """The same function: the same losses, to rounding."""
    ours, _ = appnp.main(lambda: gfp.PageRankFilterConv(K=10, alpha=0.1, cached=True))
    theirs, _ = appnp.main(lambda: pyg.APPNP(K=10, alpha=0.1, cached=True))
    assert ours == pytest.approx(theirs, rel=1e-3)


def test_chebyshev_filter_trains_in_the_place_of_cheb_conv() -> None:
    """On a graph of high frequency, where its filter starts."""
    options = {"degree": 2, "cached": True}
    assert_learned(*cheb.main(gfp.ChebyshevFilterConv, "bipartite", **options), least=0.95)


def test_stacked_filter_learns_what_low_pass_layers_cannot() -> None:
    """Neighbours always disagree: one setting for both kinds of graph."""
    _, ours = appnp.main(lambda: gfp.StackedFilterConv(cached=True), "bipartite", 120)
    _, theirs = appnp.main(lambda: pyg.APPNP(K=10, alpha=0.1), "bipartite", 120)
    assert ours > 0.95 > theirs
