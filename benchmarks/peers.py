"""What the library is measured beside: the same model and the same product, written the usual way.

The model is the one a user of PyTorch Geometric writes: an edge index, message passing that
gathers and scatters, dense features, autograd through the layers, Adam. The products are torch's
own CSR product (cuSPARSE on a GPU) and PyTorch Geometric's gather and scatter.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from graphfilter.splits import Split
from graphfilter.training import TrainConfig
from graphfilter_research.peers.pyg import pyg_nn
from graphs import RandomGraph, row_of_entries


def propagation() -> nn.Module:
    """Make the layer that sends every vertex's columns along the edges and adds them up."""
    from torch_geometric.utils import spmm

    base: Any = pyg_nn().MessagePassing

    class Propagation(base):
        def forward(self, x: Tensor, edge_index: Tensor, weight: Tensor | None) -> Tensor:
            return self.propagate(edge_index, x=x, weight=weight)

        def message(self, x_j: Tensor, weight: Tensor) -> Tensor:
            return weight.view(-1, 1) * x_j

        def message_and_aggregate(self, adjacency: Tensor, x: Tensor) -> Tensor:
            return spmm(adjacency, x)

    return Propagation(aggr="add")


class PygNetwork(nn.Module):
    """The paper's model on PyTorch Geometric: the same function as FilterNetwork's.

    Shapes
    ------
    x : (n, n_features), dense or as torch's CSR tensor;  output : (n, n_classes)
    edges : (2, M) with M weights, which are gathered and scattered; or a CSR adjacency (n, n)
    without weights, which ``plain`` torch multiplies with, or the layer of PyTorch Geometric
    """

    def __init__(
        self, n_features: int, n_classes: int, *, n_layers: int, hidden_size: int, dropout: float,
        plain: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.plain = plain
        self.encoder = nn.Linear(n_features, hidden_size)
        self.head = nn.Linear(hidden_size, n_classes)
        self.alpha = nn.Parameter(torch.full((n_layers,), 0.5))
        self.beta = nn.Parameter(torch.full((n_layers,), 0.5))
        self.propagate = propagation()
        self.dropout = dropout

    def forward(self, x: Tensor, edges: Tensor, weight: Tensor | None = None) -> Tensor:
        start = h = self.encode(x).relu()
        for alpha, beta in zip(self.alpha, self.beta, strict=True):
            through = weight is not None or not self.plain
            spread = self.propagate(h, edges, weight) if through else edges @ h
            h = alpha * spread + beta * start
        return self.head(functional.dropout(h, self.dropout, self.training))

    def encode(self, x: Tensor) -> Tensor:
        """Return X W + b with dropout on X: on its stored entries where it is sparse."""
        if x.layout != torch.sparse_csr:
            return self.encoder(functional.dropout(x, self.dropout, self.training))
        dropped = drop_entries(x, self.dropout, self.training)
        return dropped @ self.encoder.weight.T + self.encoder.bias


def drop_entries(x: Tensor, rate: float, training: bool) -> Tensor:
    """Return a CSR tensor with dropout on its stored entries."""
    values = functional.dropout(x.values(), rate, training)
    parts = x.crow_indices(), x.col_indices(), values
    return torch.sparse_csr_tensor(*parts, x.shape, check_invariants=False)


def normalise(edge_index: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Return the edges with self loops and their weights, as PyTorch Geometric makes them."""
    return pyg_nn().conv.gcn_conv.gcn_norm(edge_index, num_nodes=n)


def pyg_epoch(
    network: PygNetwork,
    inputs: tuple[Tensor, ...],
    labels: Tensor,
    split: Split,
    config: TrainConfig,
    *,
    compiled: bool = False,
) -> Callable[[], None]:
    """Return a call that trains one step and evaluates once, as its examples do."""
    filter_scalars = [network.alpha, network.beta]
    linear = [*network.encoder.parameters(), *network.head.parameters()]
    optimizer = torch.optim.Adam(
        [
            {"params": filter_scalars, "lr": config.filter_learning_rate},
            {"params": linear, "lr": config.learning_rate},
        ],
        weight_decay=config.weight_decay,
    )
    train, val = (torch.tensor(part, device=labels.device) for part in (split.train, split.val))
    call: Callable[..., Tensor] = torch.compile(network) if compiled else network

    def epoch() -> None:
        network.train()
        optimizer.zero_grad()
        loss = functional.cross_entropy(call(*inputs)[train], labels[train])
        loss.backward()
        optimizer.step()
        loss.item()
        network.eval()
        with torch.no_grad():
            logits = call(*inputs)
        for part in (train, val):
            functional.cross_entropy(logits[part], labels[part]).item()
            (logits[part].argmax(1) == labels[part]).float().mean().item()

    return epoch


class PlainProduct:
    r"""The augmented normalised adjacency of a graph, multiplied the usual ways.

    Every entry is stored with its value, self loops among them.
    """

    def __init__(self, graph: RandomGraph, dtype: torch.dtype) -> None:
        degrees = graph.offsets.diff()
        rows = row_of_entries(graph.offsets, degrees)
        loops = torch.arange(graph.n, dtype=torch.int32, device=rows.device)
        scale = (degrees + 1).double().rsqrt()
        self.offsets = graph.offsets + torch.arange(graph.n + 1, device=rows.device)
        self.columns = torch.empty(len(rows) + graph.n, dtype=torch.int32, device=rows.device)
        # Row v's loop comes after its other entries, so those of row v move on by v.
        self.columns[torch.arange(len(rows), device=rows.device).add_(rows)] = graph.columns
        self.columns[self.offsets[1:] - 1] = loops
        self.rows = row_of_entries(self.offsets, degrees + 1).long()
        self.values = (scale[self.rows] * scale[self.columns]).to(dtype)
        self.n = graph.n

    def csr(self) -> Tensor:
        """Return it as torch's CSR tensor, with int32 indices."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse (CSR tensor|invariant)")
            return torch.sparse_csr_tensor(
                self.offsets.int(),
                self.columns,
                self.values,
                size=(self.n, self.n),
                check_invariants=False,
            )

    def csr_then_sum(
        self, x: Tensor, out: Tensor, scale: float, keep: float
    ) -> Callable[[], Tensor]:
        """Return a call of torch's product, then the sum with ``out``."""
        csr = self.csr()
        return lambda: out.mul_(keep).add_(torch.mm(csr, x), alpha=scale)

    def csr_in_place(
        self, x: Tensor, out: Tensor, scale: float, keep: float
    ) -> Callable[[], Tensor]:
        """Return a call of torch's product that adds to ``out`` itself."""
        csr = self.csr()
        return lambda: torch.addmm(out, csr, x, beta=keep, alpha=scale, out=out)

    def gather_scatter(
        self, x: Tensor, out: Tensor, scale: float, keep: float
    ) -> Callable[[], Tensor]:
        """Return a call that gathers a row an entry, scales it, and adds all to their vertices."""
        columns, weights = self.columns.long(), self.values.view(-1, 1)

        def call() -> Tensor:
            messages = x.index_select(0, columns) * weights
            gathered = torch.zeros_like(out).index_add_(0, self.rows, messages)
            return out.mul_(keep).add_(gathered, alpha=scale)

        return call
