"""The pieces of a network: a linear layer on dense or sparse columns, and dropout."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from graphfilter.sparse import SparseFeatures


class Linear(nn.Module):
    """X W + b for a dense or sparse X, with dropout on X.

    Weights start as in :class:`torch.nn.Linear`, uniform in ±1/√n_in, from ``generator``.

    Shapes
    ------
    weight : (n_in, n_out);  x : (n, n_in);  output : (n, n_out)
    """

    def __init__(self, n_in: int, n_out: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_in, n_out))
        self.bias = nn.Parameter(torch.empty(n_out))
        bound = 1 / math.sqrt(max(n_in, 1))
        with torch.no_grad():
            self.weight.uniform_(-bound, bound, generator=generator)
            self.bias.uniform_(-bound, bound, generator=generator)

    def forward(
        self,
        x: Tensor | SparseFeatures,
        *,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        if isinstance(x, SparseFeatures):
            values = drop(x.values, dropout, generator) if dropout else None
            return x.project(self.weight, values) + self.bias
        return torch.addmm(self.bias, drop(x, dropout, generator), self.weight)

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}"


def drop(x: Tensor, rate: float, generator: torch.Generator | None = None) -> Tensor:
    """Set each entry to zero with probability ``rate`` and scale the rest up to keep the mean.

    The mask is cut from 64-bit random numbers, 16 bits an entry: ten times faster on a CPU than
    one Bernoulli draw each, and the probability is right to 2^-16.
    """
    if rate <= 0:
        return x
    words = torch.empty((x.numel() + 3) // 4, dtype=torch.int64, device=x.device)
    words.random_(-(2**63), None, generator=generator)
    kept = round((1 - rate) * 2**16)
    mask = words.view(torch.int16)[: x.numel()].view(x.shape) < kept - 2**15
    return x * mask.to(x.dtype).mul_(2**16 / kept if kept else 0.0)
