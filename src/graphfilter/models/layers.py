"""The pieces of a network: linear layers on dense or sparse columns, and dropout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from graphfilter.operators import SparseFeatures
from graphfilter.operators.sparse import draw

__all__ = ["Linear", "drop"]


# What draws at random, and what a network reads; None where nothing is drawn.
Draws = torch.Generator | None
Generators = Sequence[Draws]
Input = Tensor | SparseFeatures

# Fewer columns than this are multiplied transposed.
FEW_COLUMNS = 16
# Pieces of long sums, enough to keep a GPU busy.
PIECES_ON_A_GPU = 256


class Linear(nn.Module):
    """X W + b for a dense or sparse X, with dropout on X.

    Weights start as in :class:`torch.nn.Linear`, uniform in ±1/√n_in, from ``generator``.

    Shapes
    ------
    weight : (n_in, n_out);  x : (n, n_in);  output : (n, n_out)

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> layer = gf.models.Linear(3, 2, torch.Generator().manual_seed(0))
    >>> layer(torch.ones(5, 3)).shape
    torch.Size([5, 2])
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
        if isinstance(x, Tensor):
            return torch.addmm(self.bias, drop(x, dropout, generator), self.weight)
        return linear_side_by_side([self], x, dropout, [generator])[:, 0]

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}"


class Weights(NamedTuple):
    """What a :class:`Linear` multiplies with and adds, or a part of it."""

    weight: Tensor
    bias: Tensor


def linear_side_by_side(
    layers: Sequence[Linear | Weights],
    x: Tensor | SparseFeatures,
    dropout: float,
    generators: Generators,
    *,
    relu: bool = False,
) -> Tensor:
    """Apply R layers of one shape at once, each with its own dropout on its input, then relu.

    Parameters
    ----------
    x : Tensor (n, R, n_in), or Tensor or SparseFeatures (n, n_in) shared by all

    Returns
    -------
    Tensor (n, R, n_out)
    """
    weights: list[Tensor] = [layer.weight for layer in layers]
    if isinstance(x, Tensor) and x.ndim == 3:
        drawn, stacked = draw(x.shape[::2], dropout, generators, x.device), torch.stack(weights)
        if drawn is not None:  # What is kept is scaled up with the weights, which are fewer.
            x, stacked = x * drawn.kept().transpose(0, 1), stacked * drawn.scale
        made = matmul_side_by_side(x, stacked) + torch.stack([layer.bias for layer in layers])
        return made.relu_() if relu else made
    if not isinstance(x, Tensor):
        # One number per stored entry, and its own entries for each layer.
        drawn = draw(x.values.shape, dropout, generators, x.device)
        values = None if drawn is None else x.values * drawn.masks(x.values.dtype)
        columns = x.project(weights[0] if len(weights) == 1 else torch.cat(weights, 1), values)
    elif dropout > 0:
        pairs = zip(weights, generators, strict=True)
        columns = torch.stack([drop(x, dropout, draws) @ weight for weight, draws in pairs], 1)
    else:
        columns = x @ torch.cat(weights, dim=1)
    made = columns.view(x.shape[0], len(layers), -1) + torch.stack([y.bias for y in layers])
    return made.relu_() if relu else made


def matmul_side_by_side(x: Tensor, weights: Tensor) -> Tensor:
    """Multiply the columns of each run by its own matrix: (n, R, c), (R, c, d) give (n, R, d)."""
    return _Matmul.apply(x, weights)


class _Matmul(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weights: Tensor) -> Tensor:
        ctx.save_for_backward(x, weights)
        return _batched(x, weights)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        x, weights = ctx.saved_tensors
        return _batched(grad, weights.transpose(1, 2)), long_sums(x, grad)


def _batched(x: Tensor, weights: Tensor) -> Tensor:
    n, n_runs, width = len(x), len(weights), weights.shape[2]
    if width < FEW_COLUMNS:
        # Transposed, the few columns of a head make long rows: four times faster on a CPU.
        return torch.bmm(weights.transpose(1, 2), x.permute(1, 2, 0)).permute(2, 0, 1)
    # In the layout a sparse product reads next, where bmm would put the runs first.
    out = torch.empty(n, n_runs, width, dtype=x.dtype, device=x.device)
    torch.bmm(x.transpose(0, 1), weights, out=out.transpose(0, 1))
    return out


def long_sums(x: Tensor, y: Tensor, n_pieces: int | None = None) -> Tensor:
    """Return the products xᵀ y of each run: (n, R, c), (n, R, d) give (R, c, d).

    A GPU gives each result to one of its many cores, so there the sums are cut in pieces.
    """
    n, n_runs, _ = x.shape
    if n_pieces is None:
        n_pieces = min(PIECES_ON_A_GPU // n_runs, n // 64) if x.is_cuda else 1
    if n_pieces <= 1:
        return torch.bmm(y.permute(1, 2, 0), x.transpose(0, 1)).transpose(1, 2)
    length = -(-n // n_pieces)

    def cut(z: Tensor) -> Tensor:
        pieces = z.new_empty(n_runs, n_pieces * length, z.shape[2])
        pieces[:, :n] = z.transpose(0, 1)
        pieces[:, n:] = 0
        return pieces.view(n_runs * n_pieces, length, -1)

    sums = torch.bmm(cut(x).transpose(1, 2), cut(y))
    return sums.view(n_runs, n_pieces, *sums.shape[1:]).sum(1)


def drop(x: Tensor, rate: float, generator: torch.Generator | None = None) -> Tensor:
    """Set each entry to zero with probability ``rate`` and scale the rest up to keep the mean.

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> gf.models.drop(torch.ones(2, 2), rate=0.0).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    drawn = draw(x.shape, rate, [generator], x.device)
    return x if drawn is None else x * drawn.masks(x.dtype)[0]
