"""Filters as layers of PyTorch Geometric, and examples beside its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.filters.examples import appnp, cheb, gcn
from tests.filters.plain import plain_layer, pyg, random_edges
from torch import Tensor

from graphfilter import filters, pyg as gfp
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
    assert (made := conv.prepare(columns(6), *graph)).transposed is not made
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
