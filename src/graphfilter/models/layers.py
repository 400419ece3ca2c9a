"""Which of the hidden columns a part has.

The pieces of a network: linear layers on dense or sparse columns, and dropout.

Dropout of some hidden columns: what is drawn for all of them, in blocks of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from graphfilter.operators import SparseFeatures
from graphfilter.operators.sparse import Drawn, draw
from graphfilter.util.machine import blocks

__all__ = ["Linear", "drop"]


class Columns(NamedTuple):
    """Hidden columns from ``first`` to before ``last``, of ``total``."""

    first: int
    last: int
    total: int

    @property
    def width(self) -> int:
        return self.last - self.first


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
        made = apply_heads(layers, x, draw(x.shape[::2], dropout, generators, x.device))
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


def apply_heads(layers: Sequence[Linear | Weights], x: Tensor, drawn: Drawn | None) -> Tensor:
    """Apply R layers, each to columns of its own (n, R, n_in), with the dropout drawn for them."""
    weights = torch.stack([layer.weight for layer in layers])
    if drawn is not None:  # What is kept is scaled up with the weights, which are fewer.
        x, weights = x * drawn.kept().transpose(0, 1), weights * drawn.scale
    return matmul_side_by_side(x, weights) + torch.stack([layer.bias for layer in layers])


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


# Numbers that are dropped at a time on a CPU, where a row has so many or fewer.
DROPPED_AT_A_TIME = 2**20


def draw_columns(
    n: int, columns: Columns, rate: float, generators: Generators, device: torch.device
) -> Drawn | None:
    """Draw the dropout of all columns, as for a whole layer, and keep that of some: (n, c)."""
    if rate == 0:
        return None
    size = n * columns.width
    words = torch.empty(len(generators), (size + 3) // 4, dtype=torch.int64, device=device)
    own = words.view(torch.int16)[:, :size].view(len(generators), n, columns.width)
    drawn = None
    for rows in _blocks_of_rows(n, columns.total, device):
        shape = (rows.stop - rows.start, columns.total)
        drawn = draw(shape, rate, generators, device)
        if drawn is None:
            return None
        own[:, rows] = drawn.numbers()[:, :, columns.first : columns.last]
    return None if drawn is None else replace(drawn, words=words, shape=(n, columns.width))


def _blocks_of_rows(n: int, width: int, device: torch.device) -> list[slice]:
    """Divide rows into blocks whose draws, one after another, are the bits of a single draw.

    On a CPU, where four entries are drawn at a time; a GPU draws in an order of its own.
    """
    step = max(DROPPED_AT_A_TIME // max(width, 1) // 4, 1) * 4 if device.type == "cpu" else n
    return blocks(n, step)


class DroppedProduct(torch.autograd.Function):
    """drop(x) W, where what is dropped is drawn again for the gradient: no copy of x is kept."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, x: Tensor, rate: float, generator: Draws) -> Tensor:
        ctx.save_for_backward(x)
        ctx.rate = rate
        (ctx.generator,) = copies_of([generator], x.device)
        out = x.new_empty(len(x), weight.shape[1])
        for rows in _blocks_of_rows(len(x), x.shape[1], x.device):
            torch.mm(drop(x[rows], rate, generator), weight, out=out[rows])
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (x,) = ctx.saved_tensors
        (generator,) = copies_of([ctx.generator], x.device)
        total = x.new_zeros(x.shape[1], grad.shape[1])
        for rows in _blocks_of_rows(len(x), x.shape[1], x.device):
            total.addmm_(drop(x[rows], ctx.rate, generator).T, grad[rows])
        return total, None, None, None


def copies_of(generators: Generators, device: torch.device) -> list[torch.Generator]:
    """Return generators that draw what these will draw; of None, what torch's own will."""
    of_torch = torch.get_rng_state if device.type == "cpu" else torch.cuda.get_rng_state
    made = [torch.Generator(device) for _ in generators]
    for copied, generator in zip(made, generators, strict=True):
        copied.set_state(of_torch() if generator is None else generator.get_state())
    return made
