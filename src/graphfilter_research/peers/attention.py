"""Attention over the neighbours of a vertex, as many heads and runs at once as there are."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from graphfilter.operators import Operator
from graphfilter.util.machine import blocks

SLOPE = 0.2
# The most entries of messages in memory: further columns are computed in turn.
MOST_MESSAGES = 2**29


def attend(operator: Operator, to: Tensor, of: Tensor, values: Tensor) -> Tensor:
    r"""Return the averages of the neighbours' values, weighed by how they score.

    .. math:: h_v' = \sum_{u : P_{vu} \ne 0} \alpha_{vu} h_u, \qquad
              \alpha_{v\cdot} = \mathrm{softmax}_u\, \mathrm{leakyrelu}(\mathrm{to}_v +
              \mathrm{of}_u)

    Of the operator only its pattern counts. Sums are made row by row, never by atomic additions:
    the same input gives the same bits on a GPU too, and nothing waits for the device.

    Shapes
    ------
    to, of : (n, K) for K heads;  values, output : (n, K, d)

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([[0, 1], [1, 2]])
    >>> operator = gf.operators.augmented_adjacency(path)
    >>> score = torch.zeros(3, 1)
    >>> attend(operator, score, score, torch.tensor([[[0.0]], [[3.0]], [[6.0]]])).flatten().tolist()
    [1.5, 3.0, 4.5]
    """
    csr = operator.csr()
    offsets, columns = csr.crow_indices(), csr.col_indices()
    n_heads, width = values.shape[1:]
    parts = [
        _Attention.apply(offsets, columns, to[:, k], of[:, k], values[:, k])
        for k in blocks(n_heads, MOST_MESSAGES // max(len(columns) * width, 1))
    ]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, offsets: Tensor, columns: Tensor, to: Tensor, of: Tensor, values: Tensor
    ) -> Tensor:
        rows = _rows(offsets, columns)
        score = to[rows] + of[columns]
        rising = score > 0
        score = torch.where(rising, score, SLOPE * score)
        places = rows[:, None].expand_as(score)
        most = torch.full_like(to, -torch.inf).scatter_reduce_(0, places, score, "amax")
        weight = (score - most[rows]).exp_()
        weight /= _sums(offsets, weight)[rows]
        ctx.save_for_backward(offsets, columns, weight, rising, values)
        return _sums(offsets, weight[..., None] * values[columns])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        offsets, columns, weight, rising, values = ctx.saved_tensors
        rows = _rows(offsets, columns)
        # The pattern is symmetric: in this order its entries are those of the transpose.
        turned = columns.argsort(stable=True)
        of_weight = (grad[rows] * values[columns]).sum(2)
        of_score = weight * (of_weight - _sums(offsets, weight * of_weight)[rows])
        of_score = torch.where(rising, of_score, SLOPE * of_score)
        of_values = _sums(offsets, weight[turned][..., None] * grad[columns])
        return None, None, _sums(offsets, of_score), _sums(offsets, of_score[turned]), of_values


def _rows(offsets: Tensor, columns: Tensor) -> Tensor:
    """Return the row of every entry."""
    vertices = torch.arange(len(offsets) - 1, device=offsets.device)
    return vertices.repeat_interleave(offsets.diff(), output_size=len(columns))


def _sums(offsets: Tensor, entries: Tensor) -> Tensor:
    """Add the entries (m, ...) of each row: (n, ...)."""
    n, m = len(offsets) - 1, len(entries)
    places = torch.arange(m, dtype=offsets.dtype, device=offsets.device)
    ones = torch.ones(m, dtype=entries.dtype, device=entries.device)
    add = torch.sparse_csr_tensor(offsets, places, ones, (n, m), check_invariants=False)
    return (add @ entries.reshape(m, -1)).view(n, *entries.shape[1:])
