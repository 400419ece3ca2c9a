"""The mean loss of a classification, and its scores, in one pass over the vertices on a CPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from graphfilter.operators import CompiledLoss


def mean_cross_entropy(logits: Tensor, loss: CompiledLoss, factors: Tensor) -> Tensor:
    """Return each run's weighted mean over the first set of vertices: (n, R, C) give (R,).

    ``factors`` (R,) are one over the sums of its weights.
    """
    return _MeanLoss.apply(logits.contiguous(), loss, factors)


def accuracies(logits: Tensor, loss: CompiledLoss, sums: Tensor) -> Tensor:
    """Return accuracy on the first set, loss and accuracy on the second: float64 (3, R).

    ``sums`` (3, R) are the sums of their weights.
    """
    added, _ = loss.sums(logits.contiguous())
    return added.flatten(0, 1)[1:] / sums


class _MeanLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, loss: CompiledLoss, factors: Tensor) -> Tensor:
        sums, grad = loss.sums(logits, factors if ctx.needs_input_grad[0] else None)
        ctx.save_for_backward(grad)
        return (sums[0, 0] * factors).to(logits.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (own,) = ctx.saved_tensors
        return own * grad[:, None], None, None
