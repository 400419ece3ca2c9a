"""The layers as a user of PyTorch Geometric would write them: message passing and autograd."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from graphfilter.pyg import FilterConv

pyg: Any = pytest.importorskip(
    "torch_geometric.nn", reason="compared with PyTorch Geometric's own layers"
)
gcn_norm = pyg.conv.gcn_conv.gcn_norm


class Propagation(pyg.MessagePassing):
    def __init__(self) -> None:
        super().__init__(aggr="add")

    def forward(self, x: Tensor, edge_index: Tensor, weight: Tensor) -> Tensor:
        return self.propagate(edge_index, x=x, weight=weight)

    def message(self, x_j: Tensor, weight: Tensor) -> Tensor:
        return weight.view(-1, 1) * x_j


def plain_layer(conv: FilterConv, x: Tensor, edges: Tensor, weight: Tensor | None = None) -> Tensor:
    """Return what ``conv`` gives, by gcn_norm, message passing and autograd through the steps."""
    spread = Propagation()
    filter_: Any = conv.filter
    loops = conv.operator == "augmented_adjacency"
    norm = gcn_norm(edges, weight, num_nodes=len(x), add_self_loops=loops, dtype=x.dtype)
    start = x if conv.lin is None else x @ conv.lin.weight.T

    def product(h: Tensor) -> Tensor:
        return spread(h, *norm)

    kind = type(filter_).__name__
    if kind == "StackedFilter":
        h = start
        for alpha, beta in zip(filter_.alpha, filter_.beta, strict=True):
            h = alpha * product(h) + beta * start
    elif kind == "HorizontalFilter":
        h, total = start, filter_.theta[0] * start
        for theta in filter_.theta[1:]:
            h = product(h)
            total = total + theta * h
        h = total
    elif kind == "ChebyshevFilter":
        # The matrix is L - I = -Â, whose spectrum is [-1, 1].
        before, now = start, -product(start)
        h = filter_.cheby[0] * before + filter_.cheby[1] * now
        for c in filter_.cheby[2:]:
            before, now = now, -2 * product(now) - before
            h = h + c * now
    elif kind == "PowerFilter":
        h = start
        for _ in range(filter_.degree):
            h = product(h)
    elif kind == "PageRankFilter":
        h = start
        for _ in range(filter_.degree):
            h = (1 - filter_.alpha) * product(h) + filter_.alpha * start
    else:
        h = _resolvent(filter_.alpha, product, start)
    return h if conv.bias is None else h + conv.bias


def _resolvent(alpha: float, product: Any, start: Tensor) -> Tensor:
    eye = torch.eye(len(start), dtype=start.dtype, device=start.device)
    return alpha * torch.linalg.solve(eye - (1 - alpha) * product(eye), start)


def random_edges(
    n: int = 40, m: int = 90, *, both_ways: bool = True, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Return edges with repeats, a self loop and, at the end, a vertex alone; and weights."""
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(0, n - 1, (2, m), generator=generator)
    edges = edges[:, edges[0] != edges[1]]
    weights = torch.rand(edges.shape[1], generator=generator) + 0.5
    if both_ways:
        edges, weights = torch.cat([edges, edges.flip(0)], 1), torch.cat([weights, weights])
    else:
        # Every vertex but the last is reached: those that are not are treated otherwise.
        ring = torch.stack([torch.arange(n - 1), (torch.arange(n - 1) + 1) % (n - 1)])
        edges, weights = torch.cat([edges, ring], 1), torch.cat([weights, torch.ones(n - 1)])
    return edges, weights
