"""Sums over processes that each have a part of the hidden columns, and their gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from graphfilter.runtime import current


class Sum(torch.autograd.Function):
    """The sum over the processes; each part's gradient is that of the sum."""

    @staticmethod
    def forward(ctx: Any, part: Tensor) -> Tensor:
        group = current()
        if group is None:
            return part
        purpose = "step" if ctx.needs_input_grad[0] else "scoring"
        return group.sum_(part.clone(memory_format=torch.contiguous_format), purpose)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return grad


class SumOfGradients(torch.autograd.Function):
    """Numbers that every process has; the gradients of the first ``n_summed`` are summed.

    The others have the same gradient in every process: it is the first one's, to the bit.
    """

    @staticmethod
    def forward(ctx: Any, numbers: Tensor, n_summed: int) -> Tensor:
        ctx.n_summed = n_summed
        return numbers.view_as(numbers)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        group = current()
        if group is None:
            return grad, None
        grad = grad.clone()
        if not group.is_first:
            grad[ctx.n_summed :] = 0
        return group.sum_(grad, "step"), None
