r"""Hidden columns in parts: over processes, and one block after another in one of them.

A filter acts on each hidden column by itself. A part of the columns needs the same part of W_in's
columns and of W_out's rows, and logits are the sum over the parts:

.. math:: \hat y = \sum_p f(P)\, \mathrm{relu}(X W_\mathrm{in}^{(p)} + b^{(p)})\,
          W_\mathrm{out}^{(p)} + b'

So processes exchange the n × C logits, and in the backward the K + 1 moments of the filter. Dropout
is drawn as for all columns at once, of which a part keeps its own: it does not depend on the parts.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from graphfilter.filters.base import polynomials_of
from graphfilter.models.layers import (
    Draws,
    Generators,
    Input,
    Weights,
    apply_heads,
    drop,
    linear_side_by_side,
)
from graphfilter.operators import Operator
from graphfilter.operators.dropout import Drawn, draw
from graphfilter.operators.polynomial import Basis, apply_polynomial
from graphfilter.runtime import processes

if TYPE_CHECKING:
    from graphfilter.models.network import FilterNetwork, FilterNetworkConfig

# Numbers that are dropped at a time on a CPU, where a row has so many or fewer.
DROPPED_AT_A_TIME = 2**20
# Along which dimension a network's weights are divided; the others are the same in every part.
DIVIDED = {"encoder.weight": 1, "encoder.bias": 0, "head.weight": 0}


class Columns(NamedTuple):
    """Hidden columns from ``first`` to before ``last``, of ``total``."""

    first: int
    last: int
    total: int

    @property
    def width(self) -> int:
        return self.last - self.first


def can_be_divided(config: FilterNetworkConfig) -> bool:
    """Return whether the logits of a network are a sum over its hidden columns.

    Further layers of the encoder mix the columns, and so does a filter on the logits; dropout in
    every layer of the filter is drawn for all columns in turn.
    """
    one_layer = config.hidden_size is not None and config.encoder_layers == 1
    plain = config.dropout_on == "linear" or config.dropout == 0
    return one_layer and config.filter_on == "hidden" and plain


def column_part(network: FilterNetwork, columns: Columns) -> FilterNetwork:
    """Return a copy of a network that has these of its hidden columns only."""
    part = copy.deepcopy(network)
    assert part.encoder is not None
    layers = {"encoder": part.encoder, "head": part.head}
    for name, dim in DIVIDED.items():
        layer, _, which = name.partition(".")
        whole: Tensor = getattr(layers[layer], which).detach()
        own = whole.narrow(dim, columns.first, columns.width).clone()
        setattr(layers[layer], which, nn.Parameter(own))
    part.columns = columns
    return part


def forward_in_parts(
    models: Sequence[FilterNetwork],
    operator: Operator,
    x: Input,
    generators: Generators,
) -> Tensor:
    """Return the logits (n, R, C) of networks of which this process has a part of the columns."""
    first = models[0]
    columns = first.columns
    assert columns is not None
    basis, weights, biases = _polynomials(models, operator)
    filter_last = first.filters_logits()
    inner = None if filter_last else _Filter(operator, basis, weights)
    logits = _Sum.apply(_part(models, x, generators, columns, inner))
    if filter_last:
        logits = _Filter(operator, basis, weights)(logits)
    return logits + biases


def _part(
    models: Sequence[FilterNetwork],
    x: Input,
    generators: Generators,
    columns: Columns,
    filter_columns: Callable[[Tensor], Tensor] | None,
) -> Tensor:
    """Return what some of the columns add to the logits: (n, R, C)."""
    first = models[0]
    own = first.columns or Columns(0, columns.total, columns.total)
    start, stop = columns.first - own.first, columns.last - own.first
    encoders = [
        Weights(m.encoder.weight[:, start:stop], m.encoder.bias[start:stop])
        for m in models
        if m.encoder is not None
    ]
    hidden = _encode(encoders, x, first.rate, generators, relu=first.config.activation == "relu")
    if first.config.activation != "relu":
        hidden = first.activate(hidden)
    if filter_columns is not None:
        hidden = filter_columns(hidden)
    drawn = _draw_columns(len(hidden), columns, first.rate, generators, hidden.device)
    no_bias = hidden.new_zeros(first.head.bias.shape)
    heads = [Weights(m.head.weight[start:stop], no_bias) for m in models]
    return apply_heads(heads, hidden, drawn)


class _Filter(NamedTuple):
    """Applies the polynomial of each network to its own columns (n, R, c)."""

    operator: Operator
    basis: Basis
    weights: Tensor

    def __call__(self, columns: Tensor) -> Tensor:
        flat = apply_polynomial(self.operator, self.basis, self.weights, columns.flatten(1))
        return flat.view(columns.shape)


def _polynomials(
    models: Sequence[FilterNetwork], operator: Operator
) -> tuple[Basis, Tensor, Tensor]:
    """Return basis and weights (K + 1, R) of the filters, and biases (R, C) of the heads.

    Every process has the same, and their gradients are summed in one message.
    """
    basis, weights = polynomials_of([model.filter for model in models], operator)
    biases = torch.stack([model.head.bias for model in models])
    # The gradient of the biases is that of the logits, which every process has whole.
    together = _SumOfGradients.apply(
        torch.cat([weights.to(biases.dtype).flatten(), biases.flatten()]), weights.numel()
    )
    flat_weights, flat_biases = together.split([weights.numel(), biases.numel()])
    return basis, flat_weights.view(weights.shape), flat_biases.view(biases.shape)


def _encode(
    layers: Sequence[Weights], x: Input, rate: float, generators: Generators, *, relu: bool
) -> Tensor:
    """Return X W + b of every layer, (n, R, c), with dropout on X, and relu of it."""
    if not isinstance(x, Tensor) or rate == 0:
        return linear_side_by_side(layers, x, rate, generators, relu=relu)
    pairs = zip(layers, generators, strict=True)
    columns = [_DroppedProduct.apply(layer.weight, x, rate, draws) for layer, draws in pairs]
    made = torch.stack(columns, dim=1) + torch.stack([layer.bias for layer in layers])
    return torch.relu(made) if relu else made


def _draw_columns(
    n: int, columns: Columns, rate: float, generators: Generators, device: torch.device
) -> Drawn | None:
    """Draw the dropout of all columns, as for a whole layer, and keep that of some: (n, c)."""
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
    return [slice(start, min(start + step, n)) for start in range(0, n, max(step, 1))]


class _DroppedProduct(torch.autograd.Function):
    """drop(x) W, where what is dropped is drawn again for the gradient: no copy of x is kept."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, x: Tensor, rate: float, generator: Draws) -> Tensor:
        ctx.save_for_backward(x)
        ctx.rate = rate
        ctx.generator = copy_of(generator, x.device)
        out = x.new_empty(len(x), weight.shape[1])
        for rows in _blocks_of_rows(len(x), x.shape[1], x.device):
            torch.mm(drop(x[rows], rate, generator), weight, out=out[rows])
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (x,) = ctx.saved_tensors
        generator = copy_of(ctx.generator, x.device)
        total = x.new_zeros(x.shape[1], grad.shape[1])
        for rows in _blocks_of_rows(len(x), x.shape[1], x.device):
            total.addmm_(drop(x[rows], ctx.rate, generator).T, grad[rows])
        return total, None, None, None


def copy_of(generator: Draws, device: torch.device) -> torch.Generator:
    """Return a generator that draws what this one will draw; of None, what torch's own draws."""
    state = torch.get_rng_state() if generator is None else generator.get_state()
    made = torch.Generator(device)
    made.set_state(state)
    return made


class _Sum(torch.autograd.Function):
    """The sum over the processes; each part's gradient is that of the sum."""

    @staticmethod
    def forward(ctx: Any, part: Tensor) -> Tensor:
        group = processes.current()
        if group is None:
            return part
        purpose = "step" if ctx.needs_input_grad[0] else "scoring"
        return group.sum_(part.clone(memory_format=torch.contiguous_format), purpose)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return grad


class _SumOfGradients(torch.autograd.Function):
    """Numbers that every process has; the gradients of the first ``n_summed`` are summed.

    The others have the same gradient in every process: it is the first one's, to the bit.
    """

    @staticmethod
    def forward(ctx: Any, numbers: Tensor, n_summed: int) -> Tensor:
        ctx.n_summed = n_summed
        return numbers.view_as(numbers)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        group = processes.current()
        if group is None:
            return grad, None
        grad = grad.clone()
        if not group.is_first:
            grad[ctx.n_summed :] = 0
        return group.sum_(grad, "step"), None
