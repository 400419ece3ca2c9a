"""Dropout of some hidden columns: what is drawn for all of them, in blocks of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from graphfilter.models.column_range import Columns
from graphfilter.models.layers import Draws, Generators, drop
from graphfilter.operators import Drawn, draw
from graphfilter.runtime import blocks

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
    made = [torch.Generator(device) for _ in generators]
    for copied, generator in zip(made, generators, strict=True):
        copied.set_state(_state_of_torch(device) if generator is None else generator.get_state())
    return made


def _state_of_torch(device: torch.device) -> Tensor:
    return torch.get_rng_state() if device.type == "cpu" else torch.cuda.get_rng_state(device)
