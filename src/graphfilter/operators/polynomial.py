r"""Applying a polynomial of a graph operator to columns, in memory that does not grow with it.

A filter is :math:`f(P) = \sum_k w_k B_k(P)` in a basis with a three-term recurrence. With
:math:`G = \partial\ell/\partial y` of :math:`y = f(P) x`

.. math:: \partial\ell/\partial x = f(P^\top) G, \qquad
          \partial\ell/\partial w_k = \langle B_k(P^\top) G,\; x \rangle .

Both come from one pass over :math:`B_0 G, B_1 G, \dots`, the same pass as the forward's, with P
itself where it is symmetric. Nothing
but x is stored and three buffers of its size are live, where autograd through the loop keeps at
least one per product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphfilter.operators.kernels.product_kernel import Step
from graphfilter.operators.operator import Operator
from graphfilter.util.errors import GraphError
from graphfilter.util.machine import blocks

Dropout = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Basis:
    r"""Polynomials with a three-term recurrence, in :math:`t = \mathrm{scale}\,\lambda +
    \mathrm{shift}`.

    .. math:: B_0 = 1, \quad B_1 = t, \quad
              B_{k+1} = \mathrm{step}\; t\, B_k - \mathrm{back}\; B_{k-1}
    """

    scale: float = 1.0
    shift: float = 0.0
    step: float = 1.0
    back: float = 0.0

    @classmethod
    def powers(cls, radius: float = 1.0) -> Basis:
        r"""Powers of :math:`\lambda / \mathrm{radius}`."""
        return cls(scale=1 / radius)

    @classmethod
    def chebyshev(cls, low: float, high: float) -> Basis:
        """Chebyshev polynomials of the interval [low, high]."""
        return cls(2 / (high - low), -(high + low) / (high - low), step=2.0, back=1.0)

    @property
    def interval(self) -> tuple[float, float]:
        r"""The eigenvalues :math:`\lambda` at which :math:`-1 \le t \le 1`.

        >>> Basis.chebyshev(0.0, 2.0).interval, Basis.powers().interval
        ((0.0, 2.0), (-1.0, 1.0))
        """
        return (-1 - self.shift) / self.scale, (1 - self.shift) / self.scale

    def evaluate(self, weights: Tensor, lam: Tensor) -> Tensor:
        r"""Return :math:`\sum_k w_k B_k(\lambda)` at every :math:`\lambda`."""
        previous, current = torch.zeros_like(lam), torch.ones_like(lam)
        total = weights[0] * current
        for weight, (scale, skip, keep) in zip(
            weights[1:], self.steps(len(weights) - 1), strict=True
        ):
            previous, current = current, (scale * lam + skip) * current + keep * previous
            total = total + weight * current
        return total

    def to_powers(self, weights: Tensor) -> Tensor:
        r"""Return the coefficients of the same polynomial in powers of :math:`\lambda`."""
        degree = len(weights) - 1
        rows = np.zeros((degree + 1, degree + 1))
        rows[0, 0] = 1.0
        for k, (scale, skip, keep) in enumerate(self.steps(degree)):
            rows[k + 1] = skip * rows[k]
            rows[k + 1, 1:] += scale * rows[k, :-1]
            if k > 0:
                rows[k + 1] += keep * rows[k - 1]
        return weights.double() @ torch.from_numpy(rows).to(weights.device)

    @cache  # noqa: B019 - bases are few and small
    def steps(self, degree: int) -> tuple[Step, ...]:
        r"""Return how each :math:`B_{k+1}(P)` is made of those before it, to a degree."""
        first = Step(self.scale, self.shift, 0.0)
        later = Step(self.step * self.scale, self.step * self.shift, -self.back)
        return (first, *(later,) * (degree - 1))[:degree]


def apply_polynomial(operator: Operator, basis: Basis, weights: Tensor, x: Tensor) -> Tensor:
    r"""Return :math:`\sum_k w_k B_k(P)\, x` with the exact constant-memory gradient.

    Parameters
    ----------
    operator : Operator
    basis : Basis
    weights : Tensor (K + 1,) or (K + 1, g)
        One polynomial for all columns, or one for each of g equal groups of neighbouring ones.
    x : Tensor (n, c)
    """
    operator.check_columns(x)
    grouped = weights if weights.ndim == 2 else weights[:, None]
    if x.ndim != 2 or grouped.numel() == 0 or x.shape[1] % grouped.shape[1]:
        raise GraphError(
            "columns (n, c) must divide into one equal group per polynomial, each with at least "
            f"one weight; got shapes {tuple(x.shape)} and {tuple(weights.shape)}."
        )
    exact = torch.promote_types(x.dtype, torch.float32)
    return _Polynomial.apply(x, grouped.to(exact), operator, basis)


def apply_with_dropout(
    operator: Operator, basis: Basis, weights: Tensor, x: Tensor, dropout: Dropout
) -> Tensor:
    """Return the same sum with ``dropout`` on the input of every product, through autograd.

    What is random between the products must be stored for the gradient, so memory grows with K.
    """
    weights = weights.to(x.dtype)
    previous, current = torch.zeros_like(x), x
    total = weights[0] * x
    for weight, (scale, skip, keep) in zip(weights[1:], basis.steps(len(weights) - 1), strict=True):
        dropped = dropout(current)
        t = scale * (operator @ dropped) + skip * dropped
        previous, current = current, t + keep * previous
        total = total + weight * current
    return total


class _Polynomial(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weights: Tensor, operator: Operator, basis: Basis) -> Tensor:
        ctx.save_for_backward(x, weights)
        ctx.operator, ctx.basis = operator, basis
        return _accumulate(operator, basis, weights, x, None)[0]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None, None, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        x, weights = ctx.saved_tensors
        against = x if ctx.needs_input_grad[1] else None
        mirror = ctx.operator.transposed
        grad_x, products = _accumulate(mirror, ctx.basis, weights, grad, against)
        return grad_x, products, None, None


def _accumulate(
    operator: Operator, basis: Basis, weights: Tensor, x: Tensor, against: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    r"""Make :math:`B_0x, B_1x, \dots`, once.

    Returns their sum with ``weights`` and, where ``against`` is given, the inner product of each
    with it.

    Shapes
    ------
    weights, inner products : (K + 1, g);  x, against, sum : (n, g * c)
    """
    shape = (x.shape[0], weights.shape[1], x.shape[1] // weights.shape[1])
    if against is not None:
        against = against.reshape(shape).contiguous()
    steps = basis.steps(weights.shape[0] - 1)
    columns = x.reshape(shape).contiguous()
    return operator.kernel.apply_recurrence(columns, weights.contiguous(), steps, against)


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
