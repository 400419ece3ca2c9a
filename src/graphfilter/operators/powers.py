"""Hops: features averaged over neighbours again and again, X, P X, …, P^K X."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from graphfilter.operators.operator import Operator
from graphfilter.util.machine import blocks

# Columns that are multiplied at a time, always: kernels round differently for other widths, and
# hops must have the same bits however they are made. A row of so many is one line of a cache.
COLUMNS = 16


def walk_powers(
    operator: Operator, columns: Tensor, n_hops: int, buffers: Tensor | None = None
) -> Iterator[Tensor]:
    """Yield P X, …, P^K X of at most 16 columns (n, c); each holds until the next is asked for.

    They are made in ``buffers`` (2, n, 16), where some are given.

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> operator = gf.operators.adjacency(gf.Graph.from_edges([[0, 1]]))
    >>> [x.flatten().tolist() for x in walk_powers(operator, torch.tensor([[1.0], [0.0]]), 2)]
    [[0.0, 1.0], [1.0, 0.0]]
    """
    n, width = columns.shape
    now, other = columns.new_empty(2, n, COLUMNS) if buffers is None else buffers
    now[:, :width], now[:, width:] = columns, 0
    for _ in range(n_hops):
        now, other = operator.multiply(now, out=other), now
        yield now[:, :width]


def stack_powers(operator: Operator, x: Tensor, n_hops: int) -> Tensor:
    """Return the hops of every vertex side by side: x (n, d) gives (n, K + 1, d)."""
    hops = x.new_empty(x.shape[0], n_hops + 1, x.shape[1])
    hops[:, 0] = x
    buffers = x.new_empty(2, x.shape[0], COLUMNS)
    for here in blocks(x.shape[1], COLUMNS):
        for k, hop in enumerate(walk_powers(operator, x[:, here], n_hops, buffers), 1):
            hops[:, k, here] = hop
    return hops
