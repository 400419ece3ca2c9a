"""The layers on a GPU, against message passing there; skipped where there is none."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from tests.filters.plain import plain_layer, random_edges
from torch import Tensor, nn

from graphfilter import pyg as gfp
from graphfilter.util.errors import GraphError

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU"),
]

N = 400


def hub_edges(*, both_ways: bool) -> tuple[Tensor, Tensor]:
    """Return edges with a vertex of so many neighbours that its row is cut into pieces."""
    edges, weights = random_edges(N, 1500, both_ways=both_ways)
    hub = torch.stack([torch.arange(1, 390), torch.zeros(389, dtype=torch.long)])
    hub = torch.cat([hub, hub.flip(0)], 1) if both_ways else hub
    return torch.cat([edges, hub], 1).cuda(), torch.cat([weights, torch.ones(hub.shape[1])]).cuda()


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_layer_on_a_gpu_equals_plain_message_passing(
    both_ways: bool, weighted: bool, dtype: torch.dtype
) -> None:
    edges, weights = hub_edges(both_ways=both_ways)
    graph = (edges, weights.to(dtype)) if weighted else (edges,)
    torch.manual_seed(0)
    conv = gfp.StackedFilterConv(20, 12, n_layers=6, init="uniform", cached=True).cuda().to(dtype)
    generator = torch.Generator().manual_seed(0)
    x, target = torch.randn(2, N, 20, generator=generator).to("cuda", dtype)
    assert ((made := conv.prepare(x, *graph)).transposed is made) == both_ways
    # The same numbers in float64: the peer adds in any order, and its own rounding is not ours.
    plain = copy.deepcopy(conv).double()
    exact = [part.double() if part.is_floating_point() else part for part in graph]
    found: list[list[Tensor]] = []
    for call, columns, given in (
        (conv, x, graph),
        (lambda *inputs: plain_layer(plain, *inputs), x.double(), exact),
    ):
        own = columns.clone().requires_grad_()
        y = call(own, *given)
        (y * target[:, :12]).sum().backward()
        parameters = (conv if columns is x else plain).parameters()
        grads = [p.grad.double() for p in (own, *parameters) if p.grad is not None]
        found.append([y.detach(), *grads])
    tolerance = 5e-6 if dtype == torch.float32 else 1e-11
    for got, expected in zip(*found, strict=True):
        scale = max(float(expected.abs().max()), 1.0)
        assert float((got - expected).abs().max()) <= tolerance * scale


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_on_a_gpu_is_near_float32(dtype: torch.dtype) -> None:
    edges, _ = hub_edges(both_ways=True)
    conv = gfp.PageRankFilterConv().cuda()
    x = torch.randn(N, 16, device="cuda")
    y = conv(x.to(dtype), edges)
    assert y.dtype == dtype
    torch.testing.assert_close(y.float(), conv(x, edges), rtol=0.02, atol=0.02)


class Net(nn.Module):
    """A layer that holds its operator."""

    def __init__(self, conv: nn.Module, edges: Tensor) -> None:
        super().__init__()
        self.conv, self.operator = conv, gfp.prepare_operator(edges, num_nodes=N)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x, self.operator)


def test_autocast_trains_on_a_gpu() -> None:
    conv = gfp.StackedFilterConv(16, 4).cuda()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        y = conv(torch.randn(N, 16, device="cuda"), hub_edges(both_ways=True)[0])
    y.float().sum().backward()
    assert conv.filter.alpha.grad is not None


# torch's own, where what it compiles starts at the output of what it does not.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
def test_compiled_and_exported_layers_on_a_gpu_give_the_same() -> None:
    edges, _ = hub_edges(both_ways=True)
    conv = gfp.StackedFilterConv(16, 4, cached=True).cuda()
    x = torch.randn(N, 16, device="cuda")
    compiled = torch.compile(conv, backend="aot_eager")
    torch.testing.assert_close(compiled(x, edges), conv(x, edges))
    program = torch.export.export(Net(conv, edges), (x,))
    torch.testing.assert_close(program.module()(x), conv(x, edges))


def test_edges_on_another_device_than_x_are_refused() -> None:
    edges, _ = hub_edges(both_ways=True)
    with pytest.raises(GraphError, match="move one of them"):
        gfp.PageRankFilterConv().cuda()(torch.randn(N, 4, device="cuda"), edges.cpu())


# torch's own, of streams; raised as an error it would break the capture.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("both_ways", [True, False])
def test_layer_is_captured_in_a_cuda_graph(both_ways: bool) -> None:
    """With its operator prepared, a step waits for nothing.

    The last test here: a capture that fails leaves torch's generator unusable.
    """
    edges, _ = hub_edges(both_ways=both_ways)
    conv = gfp.StackedFilterConv(16, 4).cuda()
    # A copy: parameters that were in a step on the default stream cannot be captured on another.
    plain = copy.deepcopy(conv)
    x, own = (torch.randn(N, 16, device="cuda") for _ in range(2))
    own.copy_(x).requires_grad_()
    x.requires_grad_()
    expected = Net(plain, edges)(x)
    expected.square().sum().backward()
    graphed: Any = torch.cuda.make_graphed_callables(
        Net(conv, edges), (x.detach().clone().requires_grad_(),)
    )
    y = graphed(own)
    y.square().sum().backward()
    torch.testing.assert_close(y, expected)
    for got, one in zip((own, *conv.parameters()), (x, *plain.parameters()), strict=True):
        torch.testing.assert_close(got.grad, one.grad)
