"""The ways PyTorch Geometric writes a graph, turned into an operator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from graphfilter.errors import GraphError, check_count, check_name
from graphfilter.operators import Operator
from graphfilter.operators.directed import DirectedOperator
from graphfilter.operators.kernels import FactoredMatrix
from graphfilter.operators.kernels.factored_matrix import made_to_be_kept
from graphfilter.operators.operator import NORMALISED

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


@made_to_be_kept
def prepare_operator(
    edge_index: Any,
    edge_weight: Tensor | None = None,
    num_nodes: int | None = None,
    *,
    operator: str = "augmented_adjacency",
    dtype: torch.dtype = torch.float32,
) -> Operator:
    r"""Make the operator of a graph as PyTorch Geometric writes it, once for all layers.

    The numbers are those of its ``gcn_norm``: with weights :math:`w` of the edges that come in,

    .. math:: P_{ij} = \frac{w_{j \to i}}{\sqrt{d_i d_j}}, \qquad d_i = \sum_j w_{j \to i} .

    ``augmented_adjacency`` gives every vertex without a self loop one of weight 1, as
    ``add_self_loops=True`` does there. ``adjacency`` and ``laplacian`` leave out self loops; a
    vertex that no edge comes in to is its own only neighbour. Repeated edges add up. Edges may be
    directed; gradients are then exact too.

    Parameters
    ----------
    edge_index : Tensor (2, m), sparse Tensor (n, n) or SparseTensor (n, n)
        Edges from the first row to the second; or the transposed adjacency ``adj_t``, whose row i
        holds the edges that come in to i. A sparse tensor may be COO, CSR or CSC.
    edge_weight : Tensor (m,), optional
        Not negative. Operators are constants: it must not require a gradient.
    num_nodes : int, optional
        Otherwise the largest number in ``edge_index`` plus one.
    operator : {'augmented_adjacency', 'adjacency', 'laplacian'}
    dtype : torch.dtype
        Of the columns that are multiplied.

    Returns
    -------
    Operator
        On the device of the edges; a ``DirectedOperator`` where they are not symmetric.

    Examples
    --------
    >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> prepare_operator(path, operator="adjacency")
    Operator(adjacency, 3 vertices, spectrum in [-1, 1])
    """
    check_name("operator", operator, NORMALISED)
    edges = read_edges(edge_index, edge_weight, num_nodes)
    loops = edges.sources == edges.targets
    own = _loop_weights(edges, loops) if operator == "augmented_adjacency" else None
    edges = _keep(edges, ~loops)
    degrees = _degrees(edges) if own is None else _degrees(edges) + own
    alone = degrees == 0
    if bool(alone.any()):
        # As in gcn_norm, no edge goes out of a vertex that none comes in to.
        edges = _keep(edges, ~alone[edges.sources])
    scale = (degrees + alone).rsqrt()
    sign, interval = 1.0, (-1.0, 1.0)
    if own is not None:
        diagonal = torch.where(alone, 1.0, own * scale.square())
    elif operator == "adjacency":
        diagonal = alone.double()
    else:
        diagonal, sign, interval = 1 - alone.double(), -1.0, (0.0, 2.0)
    mirrored = Edges(edges.targets, edges.sources, edges.weights, edges.n)
    matrix, mirror = (
        replace(_csr(one), scale=scale, diagonal=diagonal, sign=sign) for one in (edges, mirrored)
    )
    if _equal(matrix, mirror):
        return Operator(matrix, interval, operator, dtype=dtype)
    return DirectedOperator(matrix, mirror, interval, operator, dtype=dtype)


def read_edges(
    edge_index: Any, edge_weight: Tensor | None = None, num_nodes: int | None = None
) -> Edges:
    """Return the edges of an edge index or an adjacency; raise where they are not a graph."""
    if num_nodes is not None:
        check_count("num_nodes", num_nodes, least=0)
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


def _loop_weights(edges: Edges, loops: Tensor) -> Tensor:
    """Return the weight of each vertex's self loop, 1 where it has none: (n,)."""
    own = torch.ones(edges.n, dtype=torch.float64, device=edges.sources.device)
    if edges.weights is not None:
        own[edges.sources[loops]] = edges.weights[loops]
    return own


def _keep(edges: Edges, kept: Tensor) -> Edges:
    if bool(kept.all()):
        return edges
    weights = None if edges.weights is None else edges.weights[kept]
    return Edges(edges.sources[kept], edges.targets[kept], weights, edges.n)


def _degrees(edges: Edges) -> Tensor:
    """Return the sum of the weights that come in to each vertex, in float64."""
    if edges.weights is None:
        return torch.bincount(edges.targets, minlength=edges.n).double()
    return torch.bincount(edges.targets, edges.weights, minlength=edges.n)


def _merged(edges: Edges) -> Edges:
    """Return the edges in order of targets and sources, repeated ones added up."""
    order = torch.argsort(edges.targets * edges.n + edges.sources, stable=True)
    sources, targets = edges.sources[order], edges.targets[order]
    weights = None if edges.weights is None else edges.weights[order]
    first = torch.ones_like(sources, dtype=torch.bool)
    first[1:] = (sources[1:] != sources[:-1]) | (targets[1:] != targets[:-1])
    if bool(first.all()):
        return Edges(sources, targets, weights, edges.n)
    if weights is None:
        weights = torch.ones(len(order), dtype=torch.float64, device=order.device)
    number = first.cumsum(0) - 1
    sums = weights.new_zeros(int(number[-1]) + 1).index_add_(0, number, weights)
    return Edges(sources[first], targets[first], sums, edges.n)


def _csr(edges: Edges) -> FactoredMatrix:
    """Return the matrix whose row i holds the edges that come in to i."""
    edges = _merged(edges)
    index = torch.int32 if max(len(edges.sources), edges.n) < 2**31 else torch.int64
    offsets = torch.zeros(edges.n + 1, dtype=index, device=edges.sources.device)
    offsets[1:] = torch.bincount(edges.targets, minlength=edges.n).cumsum(0)
    columns = edges.sources.to(index)
    return FactoredMatrix(offsets, columns, edges.n, edges.weights, checked=True)


def _equal(a: FactoredMatrix, b: FactoredMatrix) -> bool:
    """Return whether two matrices of one scale and diagonal are the same, to rounding of sums."""
    same = torch.equal(a.offsets, b.offsets) and torch.equal(a.columns, b.columns)
    if not same or a.values is None or b.values is None:
        return same
    return torch.allclose(a.values, b.values, rtol=1e-12, atol=0.0)
