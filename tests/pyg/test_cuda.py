"""The layers on a GPU, against message passing there; skipped where there is none."""

from __future__ import annotations

import pytest
import torch
from tests.pyg.plain import plain_layer, random_edges
from torch import Tensor, nn

from graphfilter import pyg as gfp
from graphfilter.errors import GraphError
from graphfilter.operators.directed import DirectedOperator

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

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
    conv = gfp.StackedFilterConv(20, 12, n_layers=6, init="uniform", cached=True).cuda().to(dtype)
    generator = torch.Generator().manual_seed(0)
    x, target = torch.randn(2, N, 20, generator=generator).to("cuda", dtype)
    assert isinstance(conv.prepare(x, *graph), DirectedOperator) != both_ways
    found: list[list[Tensor]] = []
    for call in (conv, lambda *inputs: plain_layer(conv, *inputs)):
        conv.zero_grad()
        own = x.clone().requires_grad_()
        y = call(own, *graph)
        (y * target[:, :12]).sum().backward()
        grads = [p.grad.clone() for p in (own, *conv.parameters()) if p.grad is not None]
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


def test_autocast_and_compile_and_export_on_a_gpu() -> None:
    edges, _ = hub_edges(both_ways=True)
    conv = gfp.StackedFilterConv(16, 4, cached=True).cuda()
    x = torch.randn(N, 16, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        conv(x, edges).float().sum().backward()
    compiled = torch.compile(conv, backend="aot_eager")
    torch.testing.assert_close(compiled(x, edges), conv(x, edges))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.operator = conv, gfp.prepare_operator(edges, num_nodes=N)

        def forward(self, x: Tensor) -> Tensor:
            return self.conv(x, self.operator)

    program = torch.export.export(Net(), (x,))
    torch.testing.assert_close(program.module()(x), conv(x, edges))


def test_edges_on_another_device_than_x_are_refused() -> None:
    edges, _ = hub_edges(both_ways=True)
    with pytest.raises(GraphError, match="bring one to the other"):
        gfp.PageRankFilterConv().cuda()(torch.randn(N, 4, device="cuda"), edges.cpu())
