"""The ways PyTorch Geometric writes a graph, read and checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from graphfilter.errors import GraphError, check_count

_SPARSE = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges from sources to targets, with their weights; None where all are 1.

    Shapes
    ------
    sources, targets, weights : (m,)
    """

    sources: Tensor
    targets: Tensor
    weights: Tensor | None
    n: int


def read_edges(
    edge_index: Any, edge_weight: Tensor | None = None, num_nodes: int | None = None
) -> Edges:
    """Return the edges of an edge index or an adjacency; raise where they are not a graph."""
    if num_nodes is not None:
        check_count("num_nodes", num_nodes, least=0, most=2**63)
    if hasattr(edge_index, "sparse_sizes") and not isinstance(edge_index, Tensor):
        edges = _of_sparse_tensor(edge_index)
    elif isinstance(edge_index, Tensor) and edge_index.layout in _SPARSE:
        edges = _of_torch_sparse(edge_index)
    else:
        return _of_pairs(edge_index, edge_weight, num_nodes)
    if edge_weight is not None:
        raise GraphError(
            "the weights of a sparse adjacency are its values; got an edge_weight too. Leave one "
            "of them out."
        )
    if num_nodes is not None and num_nodes != edges.n:
        raise GraphError(
            f"the adjacency must be ({num_nodes}, {num_nodes}), one row per row of x; got "
            f"({edges.n}, {edges.n})."
        )
    return replace(edges, weights=_checked_weights(edges.weights, len(edges.sources)))


def tensors_of(edge_index: Any, edge_weight: Tensor | None) -> tuple[Tensor, ...]:
    """Return the tensors that a graph is made of; raise where it is none."""
    if hasattr(edge_index, "sparse_sizes") and not isinstance(edge_index, Tensor):
        parts = edge_index.coo()
    else:
        parts = (edge_index,)
    found = tuple(part for part in (*parts, edge_weight) if part is not None)
    if not all(isinstance(part, Tensor) for part in found):
        read_edges(edge_index, edge_weight)
    return found


def check_constant(*tensors: Tensor) -> None:
    """Raise where a gradient is asked of what an operator is made from."""
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        raise GraphError(
            "edge_weight must not require a gradient: an operator is a constant, and its weights "
            "would silently not be learned. Pass edge_weight.detach(), or learn them in a layer "
            "of PyTorch Geometric."
        )


def _of_pairs(edge_index: Any, edge_weight: Tensor | None, num_nodes: int | None) -> Edges:
    if not isinstance(edge_index, Tensor):
        raise GraphError(
            "edge_index must be a Tensor (2, m), a sparse adjacency or an Operator; got "
            f"{type(edge_index).__name__}."
        )
    whole = not (edge_index.is_floating_point() or edge_index.is_complex())
    if edge_index.ndim != 2 or edge_index.shape[0] != 2 or not whole:
        raise GraphError(
            "edge_index must be whole numbers of shape (2, m); got "
            f"{edge_index.dtype} of shape {tuple(edge_index.shape)}."
        )
    # Not a subclass, such as PyTorch Geometric's EdgeIndex, whose operations do more.
    pairs = edge_index.detach().as_subclass(Tensor).long()
    least, most = (int(pairs.min()), int(pairs.max())) if pairs.numel() else (0, -1)
    n = most + 1 if num_nodes is None else num_nodes
    if least < 0 or most >= n:
        raise GraphError(
            f"edge_index must number vertices 0..{n - 1}, one per row of x; got {least}..{most}."
        )
    return Edges(pairs[0], pairs[1], _checked_weights(edge_weight, pairs.shape[1]), n)


def _of_torch_sparse(adjacency: Tensor) -> Edges:
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise GraphError(f"an adjacency must be square; got shape {tuple(adjacency.shape)}.")
    entries = adjacency.to_sparse_coo().coalesce()
    targets, sources = entries.indices().unbind()
    return Edges(sources, targets, entries.values(), adjacency.shape[0])


def _of_sparse_tensor(adjacency: Any) -> Edges:
    rows, columns = adjacency.sparse_sizes()
    if rows != columns:
        raise GraphError(f"an adjacency must be square; got shape {(rows, columns)}.")
    targets, sources, values = adjacency.coo()
    return Edges(sources, targets, values, rows)


def _checked_weights(weights: Tensor | None, n_edges: int) -> Tensor | None:
    """Return the weights in float64; None where all are 1. Raise where they are impossible."""
    if weights is None:
        return None
    check_constant(weights)
    if weights.shape != (n_edges,):
        raise GraphError(
            f"edge_weight must be one number per edge ({n_edges},); got shape "
            f"{tuple(weights.shape)}."
        )
    values = weights.detach().double()
    if not bool((values.isfinite() & (values >= 0)).all()):
        raise GraphError("edge_weight must be finite and not negative; got other numbers.")
    return None if bool((values == 1).all()) else values
