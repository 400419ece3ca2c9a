"""Hops: features averaged over neighbours again and again, X, P X, …, P^K X."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from graphfilter.operators.operator import Operator

# Columns that are multiplied at a time where all of them would take more memory than the result.
COLUMNS_AT_ONCE = 64


def walk_powers(operator: Operator, columns: Tensor, n_hops: int) -> Iterator[Tensor]:
    """Yield X, P X, …, P^K X of columns (n, c), which are written over.

    What is yielded holds until the next but one is asked for.

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> operator = gf.operators.adjacency(gf.Graph.from_edges([[0, 1]]))
    >>> [x.flatten().tolist() for x in walk_powers(operator, torch.tensor([[1.0], [0.0]]), 2)]
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    """
    now, other = columns, torch.empty_like(columns)
    yield now
    for _ in range(n_hops):
        now, other = operator.multiply(now, out=other), now
        yield now


def stack_powers(operator: Operator, x: Tensor, n_hops: int) -> Tensor:
    """Return the hops of every vertex side by side: x (n, d) gives (n, K + 1, d)."""
    n, d = x.shape
    hops = x.new_empty(n, n_hops + 1, d)
    for start in range(0, d, COLUMNS_AT_ONCE):
        end = min(start + COLUMNS_AT_ONCE, d)
        columns = x[:, start:end].clone(memory_format=torch.contiguous_format)
        for k, hop in enumerate(walk_powers(operator, columns, n_hops)):
            hops[:, k, start:end] = hop
    return hops
