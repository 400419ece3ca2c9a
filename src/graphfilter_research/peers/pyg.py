"""What the peers built on PyTorch Geometric's layers share: the import, edges, randomness."""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.models.base import ConfigT, GraphNetwork
from graphfilter.models.layers import drop
from graphfilter.operators import Operator, SparseFeatures
from graphfilter.operators.operator import loop_weight
from graphfilter.operators.sparse import draw
from graphfilter.util.errors import ConfigError


def pyg_nn() -> Any:
    """Return ``torch_geometric.nn``, imported when it is first needed."""
    try:
        with warnings.catch_warnings():
            # It compiles some of itself on import, which torch announces as deprecated.
            warnings.filterwarnings("ignore", message=".torch.jit.")
            return importlib.import_module("torch_geometric.nn")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "torch_geometric":
            raise
        raise ConfigError(
            "this system needs PyTorch Geometric, which is not installed. Install it with: pip "
            "install 'graphfilter[peers]'"
        ) from None


@contextmanager
def drawing_from(generator: torch.Generator | None) -> Generator[None]:
    """Make code that only knows torch's global generator draw from ``generator``.

    PyTorch Geometric's layers take no generator, neither for their initial weights nor for the
    dropout inside them. The global one is given our state for as long as the block runs and gets
    its own back afterwards, so that nothing outside notices. None leaves everything as it is.
    """
    if generator is None:
        yield
        return
    common = torch.default_generator
    if generator.device.type == "cuda":
        common = torch.cuda.default_generators[generator.device.index or 0]
    own = common.get_state()
    common.set_state(generator.get_state())
    try:
        yield
    finally:
        generator.set_state(common.get_state())
        common.set_state(own)


class EdgeNetwork(GraphNetwork[ConfigT]):
    """A network whose layers get the plain edges of the graph it is built on.

    For layers of PyTorch Geometric that always normalise what they are given.
    """

    edges: Tensor
    weights: Tensor

    def take_graph(self, graph: Graph) -> None:
        edges, weights = graph_edges(graph)
        self.register_buffer("edges", edges, persistent=False)
        self.register_buffer("weights", weights, persistent=False)


def operator_csr(operator: Operator) -> Tensor:
    """Return the operator as the sparse adjacency PyTorch Geometric's layers take.

    They want its transpose, which it is, being symmetric. A product with it is twenty times
    faster on a CPU than their gather and scatter over an edge list.
    """
    return operator.csr()


def operator_edges(operator: Operator) -> Tensor:
    """Return where the operator is not zero, as (source, target) rows: (2, nnz)."""
    csr = operator_csr(operator)
    target = torch.repeat_interleave(
        torch.arange(operator.n, device=csr.device), csr.crow_indices().diff().long()
    )
    return torch.stack([csr.col_indices().long(), target])


def graph_edges(graph: Graph) -> tuple[Tensor, Tensor]:
    """Return every edge in both directions, (2, 2 m), and its weight beside a self loop of 1.

    For layers that normalise: the loops that they add weigh 1, those of our operators what
    :func:`~graphfilter.operators.operator.loop_weight` says.
    """
    rows = np.repeat(np.arange(graph.n_vertices), np.diff(graph.indptr))
    pairs = np.stack([graph.indices.astype(np.int64), rows])
    weights = np.ones(len(rows)) if graph.weights is None else graph.weights
    return torch.from_numpy(pairs), torch.tensor(weights / loop_weight(graph), dtype=torch.float32)


def edges_to_csr(edges: Tensor, weights: Tensor, n: int) -> Tensor:
    """Return (source, target) rows with their weights as a sparse matrix of targets × sources."""
    return torch.sparse_coo_tensor(
        edges.flip(0), weights, (n, n), check_invariants=False
    ).to_sparse_csr()


def to_dense(x: Tensor | SparseFeatures) -> Tensor:
    """Return dense columns, for a layer that takes nothing else."""
    return x if isinstance(x, Tensor) else x.to_dense()


class Projection(nn.Module):
    """X W for a dense or sparse X, with dropout on X: the weights of a graph layer.

    Takes the place of the dense linear map inside a first layer, whose bias comes after the
    product with the graph. Weights start uniform in ±√(6 / (n_in + n_out)) (Glorot), as there.
    """

    def __init__(self, n_in: int, n_out: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        bound = math.sqrt(6 / max(n_in + n_out, 1))
        weight = torch.empty(n_in, n_out).uniform_(-bound, bound, generator=generator)
        self.weight = nn.Parameter(weight)

    def forward(
        self,
        x: Tensor | SparseFeatures,
        *,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        if isinstance(x, SparseFeatures):
            drawn = draw(x.values.shape, dropout, [generator], x.device)
            kept = None if drawn is None else x.values * drawn.masks(x.values.dtype)
            return x.project(self.weight, kept)
        return drop(x, dropout, generator) @ self.weight

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}"
