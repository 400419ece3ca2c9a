"""The operator of a graph as PyTorch Geometric writes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter.errors import check_name
from graphfilter.operators import (
    NORMALISED,
    DirectedOperator,
    FactoredMatrix,
    Operator,
    made_to_be_kept,
)
from graphfilter.pyg.edges import Edges, read_edges


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
    matrix, mirror = (
        replace(one, scale=scale, diagonal=diagonal, sign=sign) for one in _csr_both_ways(edges)
    )
    if _equal(matrix, mirror):
        return Operator(matrix, interval, operator, dtype=dtype)
    return DirectedOperator(matrix, mirror, interval, operator, dtype=dtype)


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


def _csr_both_ways(edges: Edges) -> tuple[FactoredMatrix, FactoredMatrix]:
    """Return the matrix whose row i holds the edges that come in to i, and its transpose."""
    if edges.sources.device.type != "cpu":
        return _csr(edges), _csr(Edges(edges.targets, edges.sources, edges.weights, edges.n))
    # Two to three times faster on a CPU than torch, which sorts; this counts.
    sources, targets = edges.sources.numpy(), edges.targets.numpy()
    weights = np.ones(len(sources)) if edges.weights is None else edges.weights.numpy()
    matrix = sp.coo_array((weights, (targets, sources)), shape=(edges.n, edges.n)).tocsr()
    weighted = bool((matrix.data != 1).any())
    made = [FactoredMatrix.from_scipy(m, values=weighted) for m in (matrix, matrix.T.tocsr())]
    return made[0], made[1]


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
