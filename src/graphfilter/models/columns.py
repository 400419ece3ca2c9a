r"""Hidden columns one block after another, where memory is short for all at once.

A filter acts on each hidden column by itself. A block of the columns needs the same block of W_in's
columns and of W_out's rows, and logits are the sum over the blocks:

.. math:: \hat y = \sum_p f(P)\, \mathrm{relu}(X W_\mathrm{in}^{(p)} + b^{(p)})\,
          W_\mathrm{out}^{(p)} + b'

Dropout is drawn as for all columns at once, of which a block keeps its own: it does not depend on
the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from graphfilter.filters import Filter
from graphfilter.filters.base import polynomials_of
from graphfilter.models.layers import (
    Columns,
    DroppedProduct,
    Generators,
    Input,
    Linear,
    Weights,
    apply_heads,
    copies_of,
    draw_columns,
    linear_side_by_side,
)
from graphfilter.operators import Operator
from graphfilter.operators.polynomial import Basis, apply_polynomial
from graphfilter.util.machine import memory_of_process

# Peak memory of a hidden column in a training step, per vertex, in float32: benchmarks/blocks.py.
BYTES_PER_ENTRY = 32
# Blocks are multiples of so many columns: the compiled kernel pads them, so fewer cost the same.
LANES = 16
# Memory of the graph and its operator, of features and their copies, of Python and torch.
BYTES_PER_EDGE_ENTRY, BYTES_PER_VERTEX = 20, 200
BYTES_PER_FEATURE, BYTES_PER_SPARSE_FEATURE = 8, 32
BYTES_OF_PROCESS = 500 * 2**20
# Along which dimension a network's weights are divided; the others are the same for every block.
DIVIDED = {"encoder.weight": 1, "encoder.bias": 0, "head.weight": 0}


class Divisible(Protocol):
    """A network whose logits are a sum over its hidden columns."""

    encoder: Linear | None
    filter: Filter
    head: Linear

    @property
    def config(self) -> Any: ...

    @property
    def rate(self) -> float: ...

    def activate(self, x: Tensor) -> Tensor: ...

    def filters_logits(self) -> bool: ...


def column_blocks(network: Divisible, n_runs: int, operator: Operator, x: Input) -> list[Columns]:
    """Divide the columns of a network into as few blocks as the memory there is takes.

    By sizes alone, so that the same run has the same blocks, and bits, on a busy machine.
    """
    width = network.config.hidden_size
    assert width is not None
    of_column = BYTES_PER_ENTRY * operator.dtype.itemsize // 4 * max(operator.n, 1) * n_runs
    cuda = operator.device.type == "cuda"
    step = columns_at_once(
        torch.cuda.get_device_properties(operator.device).total_memory
        if cuda
        else memory_of_process(),
        of_column,
        operator.n,
        operator.kernel.matrix.n_entries,
        x.numel() if isinstance(x, Tensor) else 0,
        0 if isinstance(x, Tensor) else x.values.shape[0],
    )
    return [Columns(first, min(first + step, width), width) for first in range(0, width, step)]


def columns_at_once(
    memory: int, of_column: int, n: int, n_entries: int, n_cells: int, n_values: int
) -> int:
    """Return how many columns of so many bytes fit beside the graph, the features and the process.

    Features have ``n_cells`` dense cells, or ``n_values`` sparse ones.
    """
    features = BYTES_PER_FEATURE * n_cells + BYTES_PER_SPARSE_FEATURE * n_values
    structure = BYTES_PER_EDGE_ENTRY * n_entries + BYTES_PER_VERTEX * n
    free = max(memory - BYTES_OF_PROCESS - structure - features, 0)
    return max(free // of_column // LANES, 1) * LANES


def forward_in_parts(
    models: Sequence[Divisible],
    operator: Operator,
    x: Input,
    generators: Generators,
    blocks: Sequence[Columns],
) -> Tensor:
    """Return the logits (n, R, C) of networks from blocks of the columns.

    One block after another, which is made again in the backward: memory is that of one block.
    """
    first = models[0]
    basis, weights, biases = _polynomials(models, operator)
    last = first.filters_logits()
    part = _Part(first, operator, None if last else basis, x)
    widths = [block.width for block in blocks]
    divided = zip(*(_divided(model, widths) for model in models), strict=True)
    logits = None
    for block, layers in zip(blocks, divided, strict=True):
        # All draw the same; the last of them moves the generators on.
        draws = generators if block is blocks[-1] else part.copies(generators)
        tensors = [weights, *(tensor for layer in layers for tensor in layer)]
        if len(blocks) == 1 or not torch.is_grad_enabled():
            made = part(block, draws, *tensors)
        else:
            made = _MadeAgain.apply(part, block, draws, *tensors)
        logits = made if logits is None else logits + made
    assert logits is not None
    if last:
        logits = _apply_filter(operator, basis, weights, logits)
    return logits + biases


def _divided(model: Divisible, widths: list[int]) -> list[tuple[Tensor, ...]]:
    """Return what each block has of a network's layers: W_in, b and W_out."""
    assert model.encoder is not None
    layers = (model.encoder.weight, model.encoder.bias, model.head.weight)
    parts = (t.split(widths, dim) for t, dim in zip(layers, DIVIDED.values(), strict=True))
    return list(zip(*parts, strict=True))


class _Part:
    """What a block of the columns adds to the logits of networks side by side."""

    def __init__(
        self, network: Divisible, operator: Operator, basis: Basis | None, x: Input
    ) -> None:
        self._network = network
        self._operator = operator
        self._basis = basis
        self._x = x

    def copies(self, generators: Generators) -> Generators:
        """Return generators that draw what these will draw, where something is drawn."""
        return copies_of(generators, self._operator.device) if self._network.rate else generators

    def __call__(self, block: Columns, generators: Generators, *tensors: Tensor) -> Tensor:
        """Return (n, R, C), from the filters' weights (K + 1, R) and W_in, b and W_out of each."""
        network, (weights, *layers) = self._network, tensors
        encoders = [Weights(*layers[i : i + 2]) for i in range(0, len(layers), 3)]
        relu = network.config.activation == "relu"
        hidden = _encode(encoders, self._x, network.rate, generators, relu=relu)
        hidden = hidden if relu else network.activate(hidden)
        if self._basis is not None:
            hidden = _apply_filter(self._operator, self._basis, weights, hidden)
        drawn = draw_columns(len(hidden), block, network.rate, generators, hidden.device)
        no_bias = hidden.new_zeros(layers[2].shape[1])
        return apply_heads([Weights(w, no_bias) for w in layers[2::3]], hidden, drawn)


class _MadeAgain(torch.autograd.Function):
    """A part of the logits whose inner values are not kept but made again for the gradient."""

    @staticmethod
    def forward(
        ctx: Any, part: _Part, block: Columns, generators: Generators, *tensors: Tensor
    ) -> Tensor:
        ctx.part, ctx.block = part, block
        ctx.generators = part.copies(generators)
        ctx.save_for_backward(*tensors)
        return part(block, generators, *tensors)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        tensors = [tensor.detach() for tensor in ctx.saved_tensors]
        needed = [t for t, need in zip(tensors, ctx.needs_input_grad[3:], strict=True) if need]
        for tensor in needed:
            tensor.requires_grad_()
        with torch.enable_grad():
            made = ctx.part(ctx.block, ctx.part.copies(ctx.generators), *tensors)
        found = iter(torch.autograd.grad(made, needed, grad))
        return None, None, None, *(next(found) if t.requires_grad else None for t in tensors)


def _apply_filter(operator: Operator, basis: Basis, weights: Tensor, columns: Tensor) -> Tensor:
    """Apply the polynomial of each network to its own columns (n, R, c)."""
    return apply_polynomial(operator, basis, weights, columns.flatten(1)).view(columns.shape)


def _polynomials(models: Sequence[Divisible], operator: Operator) -> tuple[Basis, Tensor, Tensor]:
    """Return basis and weights (K + 1, R) of the filters, and biases (R, C) of the heads."""
    basis, weights = polynomials_of([model.filter for model in models], operator)
    biases = torch.stack([model.head.bias for model in models])
    return basis, weights.to(biases.dtype), biases


def _encode(
    layers: Sequence[Weights], x: Input, rate: float, generators: Generators, *, relu: bool
) -> Tensor:
    """Return X W + b of every layer, (n, R, c), with dropout on X, and relu of it."""
    if not isinstance(x, Tensor) or rate == 0:
        return linear_side_by_side(layers, x, rate, generators, relu=relu)
    pairs = zip(layers, generators, strict=True)
    columns = [DroppedProduct.apply(layer.weight, x, rate, draws) for layer, draws in pairs]
    made = torch.stack(columns, dim=1) + torch.stack([layer.bias for layer in layers])
    return torch.relu(made) if relu else made
