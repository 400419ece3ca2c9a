r"""FilterNetwork: one encoder, any filter, one head; in blocks of columns where memory is short.

A filter acts on each hidden column by itself. A block of the columns needs the same block of W_in's
columns and of W_out's rows, and logits are the sum over the blocks:

.. math:: \hat y = \sum_p f(P)\, \mathrm{relu}(X W_\mathrm{in}^{(p)} + b^{(p)})\,
          W_\mathrm{out}^{(p)} + b'

Dropout is drawn as for all columns at once, of which a block keeps its own: it does not depend on
the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, cast, get_args

import torch
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.filters import (
    Filter,
    FilterConfig,
    IdentityFilterConfig,
    StackedFilterConfig,
    apply_filters,
)
from graphfilter.filters.base import ADDED, polynomials_of
from graphfilter.models.base import ModelConfig, SideBySide, Sizes, Working, layered
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
    drop,
    linear_side_by_side,
)
from graphfilter.operators import Operator
from graphfilter.operators.polynomial import apply_polynomial
from graphfilter.util.errors import ConfigError
from graphfilter.util.machine import memory_of_process

__all__ = ["FilterNetwork", "FilterNetworkConfig"]

# Peak memory of a hidden column in a training step, per vertex, in float32: benchmarks/blocks.py.
BYTES_PER_ENTRY = 32
# Blocks are multiples of so many columns: the compiled kernel pads them, so fewer cost the same.
LANES = 16
# Memory of the graph and its operator, of features and their copies, of Python and torch.
BYTES_PER_EDGE_ENTRY, BYTES_PER_VERTEX = 20, 200
BYTES_PER_FEATURE, BYTES_PER_SPARSE_FEATURE = 8, 32
BYTES_OF_PROCESS = 500 * 2**20


DropoutOn = Literal["linear", "every_layer"]
FilterOn = Literal["hidden", "logits"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "elu": nn.functional.elu,
    "tanh": torch.tanh,
    "none": lambda x: x,
}


@dataclass(frozen=True)
class FilterNetworkConfig(ModelConfig):
    """See :class:`FilterNetwork`.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.models.FilterNetworkConfig(dropout=0.5)
    FilterNetworkConfig(dropout=0.5, filter=StackedFilterConfig(n_layers=16, init=0.5),
    hidden_size=64, activation='relu', dropout_on='linear', filter_on='hidden', encoder_layers=1)
    """

    dropout: float = 0.7
    filter: FilterConfig = field(default_factory=StackedFilterConfig)
    hidden_size: int | None = 64
    activation: str = "relu"
    dropout_on: DropoutOn = "linear"
    filter_on: FilterOn = "hidden"
    encoder_layers: int = field(default=1, metadata=ADDED)
    names: ClassVar[Mapping[str, Collection[str]]] = {
        "dropout_on": get_args(DropoutOn),
        "filter_on": get_args(FilterOn),
        "activation": ACTIVATIONS,
    }

    @property
    def can_be_divided(self) -> bool:
        """Whether the logits of the network are a sum over its hidden columns.

        Further layers of the encoder mix the columns, and so does a filter on the logits; dropout
        in every layer of the filter is drawn for all columns in turn.
        """
        one_layer = self.hidden_size is not None and self.encoder_layers == 1
        plain = self.dropout_on == "linear" or self.dropout == 0
        return one_layer and self.filter_on == "hidden" and plain

    @property
    def needs_edges(self) -> bool:
        return not isinstance(self.filter, IdentityFilterConfig)

    @property
    def learns_filter(self) -> bool:
        return isinstance(self.filter, StackedFilterConfig)

    def memory(self, sizes: Sizes, available: int) -> Working:
        width = at_once = self.hidden_size or 1
        if self.can_be_divided:
            n = sizes.n_vertices
            cells = 0 if sizes.n_values else n * sizes.n_features
            of_column = BYTES_PER_ENTRY * max(n, 1)
            fit = columns_at_once(available, of_column, n, sizes.n_entries, cells, sizes.n_values)
            at_once = min(width, fit)
        on_hidden = self.filter_on == "hidden"
        layers = self.encoder_layers
        return layered(sizes, width, layers, at_once=at_once, filtered=on_hidden)

    def build(self, graph: Graph, generator: torch.Generator) -> FilterNetwork:
        """Make the network; the generator's seed draws what is random at the filter's start."""
        sizes, filter = (graph.n_features, graph.n_classes), self.filter
        options: dict[str, Any] = vars(self) | {"generator": generator}
        del options["filter"]
        return FilterNetwork(*sizes, filter.build(generator.initial_seed()), **options)


class FilterNetwork(SideBySide[FilterNetworkConfig], config=FilterNetworkConfig):
    r"""Encoder, graph filter and head (section 4).

    .. math:: H_0 = \mathrm{relu}(X W_\mathrm{in} + b), \qquad
              \hat y = f(P)\, H_0\, W_\mathrm{out} + b'

    With a :class:`~graphfilter.filters.StackedFilter` this is SGF, with the other filters MLP,
    SGC, APPNP, PPNP, GPR-GNN and the paper's variants.

    Parameters
    ----------
    n_features, n_classes : int
    filter : Filter
    generator : torch.Generator, optional
        For the initial weights.
    hidden_size : int or None
        Width of the encoder, 64 unless given; None leaves the encoder out, so that the network is
        linear (SGC).
    activation : {'relu', 'elu', 'tanh', 'none'}
        After the encoder.
    dropout : float
        Rate in [0, 1); 0.7 unless given.
    dropout_on : {'linear', 'every_layer'}
        On the input of the linear layers (the paper's text), or also on the input of every filter
        layer (the authors' code): two different models.
    filter_on : {'hidden', 'logits'}
        Whether training filters the hidden layer (SGF) or the logits (APPNP, SGC). Prediction
        filters whichever is narrower: without dropout both are the same function.
    encoder_layers : int
        Layers of the encoder, all of the same width, each with dropout and activation.

    Examples
    --------
    >>> from graphfilter import Graph, operators
    >>> from graphfilter.filters import StackedFilter
    >>> operator = operators.augmented_adjacency(Graph.from_edges([[0, 1], [1, 2]]))
    >>> network = FilterNetwork(4, 2, StackedFilter())
    >>> network(operator, torch.ones(3, 4)).shape
    torch.Size([3, 2])
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        filter: Filter,
        *,
        generator: torch.Generator | None = None,
        **options: Any,
    ) -> None:
        super().__init__(config := FilterNetworkConfig(filter=filter.config, **options))
        hidden_size = config.hidden_size
        if hidden_size is None and config.filter_on == "hidden":
            raise ConfigError("without a hidden layer the filter must be on the logits.")
        width = n_features if hidden_size is None else hidden_size
        self.encoder = None if hidden_size is None else Linear(n_features, width, generator)
        deeper = 0 if hidden_size is None else config.encoder_layers - 1
        self.deeper = nn.ModuleList(Linear(width, width, generator) for _ in range(deeper))
        self.filter = filter
        self.head = Linear(width, n_classes, generator)

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[FilterNetwork], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        first = models[0]
        if blocks := first.blocks(len(models), operator, x):
            return forward_in_parts(models, operator, x, generators, blocks)
        hidden = x
        relu, activate = first.config.activation == "relu", first.activate
        for layers in zip(*(model.encoders() for model in models), strict=True):
            hidden = linear_side_by_side(layers, hidden, first.rate, generators, relu=relu)
            hidden = hidden if relu else activate(hidden)
        heads = [model.head for model in models]
        if not first.filters_logits():
            assert isinstance(hidden, Tensor)  # the config allows no filter on bare features
            filtered = _filter(models, operator, hidden, generators)
            return linear_side_by_side(heads, filtered, first.rate, generators)
        logits = linear_side_by_side(heads, hidden, first.rate, generators)
        if first.config.filter_on == "logits":
            return _filter(models, operator, logits, generators)
        # Trained with the bias added after the filter: keep it there.
        biases = torch.stack([head.bias for head in heads])
        return _filter(models, operator, logits - biases, generators) + biases

    def unfiltered_logits(self, x: Input) -> Tensor:
        """Return what the filter is applied to where it runs after the head, of some vertices.

        A bias that is to be added after the filter is left out.
        """
        hidden = x
        for layer in self.encoders():
            hidden = self.activate(layer(hidden))
        logits = self.head(hidden)
        return logits if self.filters_bias else logits - self.head.bias

    def embed(self, operator: Operator, x: Input) -> Tensor:
        """Return the filtered hidden layer f(P) H_0; without an encoder, the filtered features.

        Without dropout the head's logits are linear in it, wherever training puts the filter.
        """
        hidden = x
        for layer in self.encoders():
            hidden = self.activate(layer(hidden))
        return self.filter(operator, hidden if isinstance(hidden, Tensor) else hidden.to_dense())

    def encoders(self) -> list[Linear]:
        """Return the layers before the filter, each followed by the activation."""
        deeper = cast("Iterable[Linear]", self.deeper)
        return [] if self.encoder is None else [self.encoder, *deeper]

    def activate(self, x: Tensor) -> Tensor:
        """Apply the activation."""
        return ACTIVATIONS[self.config.activation](x)

    @property
    def filters_bias(self) -> bool:
        """Whether the head's bias goes through the filter."""
        return self.config.filter_on == "logits"

    def blocks(self, n_runs: int, operator: Operator, x: Input) -> list[Columns]:
        """Return the blocks that the hidden columns are computed in; none where it is at once.

        By sizes alone, so that the same run has the same blocks, and bits, on a busy machine.
        """
        width = self.config.hidden_size
        if type(self) is not FilterNetwork or not self.config.can_be_divided or width is None:
            return []
        if operator.device.type == "cuda":
            memory = torch.cuda.get_device_properties(operator.device).total_memory
        else:
            memory = memory_of_process()
        of_column = BYTES_PER_ENTRY * operator.dtype.itemsize // 4 * max(operator.n, 1) * n_runs
        dense = isinstance(x, Tensor)
        n_cells, n_values = (x.numel(), 0) if dense else (0, len(x.values))
        n_entries = operator.kernel.matrix.n_entries
        step = columns_at_once(memory, of_column, operator.n, n_entries, n_cells, n_values)
        if step >= width:
            return []
        return [Columns(first, min(first + step, width), width) for first in range(0, width, step)]

    def can_be_replayed(self, n_runs: int, operator: Operator, x: Input) -> bool:
        """Not in blocks: their generators are copied."""
        return not self.blocks(n_runs, operator, x)

    def filters_logits(self) -> bool:
        """Return whether the filter now runs after the head."""
        narrower = self.head.weight.shape[1] < self.head.weight.shape[0]
        return self.config.filter_on == "logits" or (not self.training and narrower)

    def main_filter(self) -> Filter:
        return self.filter


def _filter(
    models: Sequence[FilterNetwork], operator: Operator, columns: Tensor, generators: Generators
) -> Tensor:
    """Apply the filter of each network to its own columns (n, R, c)."""
    first = models[0]
    if first.config.dropout_on == "every_layer" and first.rate > 0:
        parts = zip(models, columns.unbind(1), generators, strict=True)
        return torch.stack(
            [
                model.filter(operator, h, lambda z, g=generator: drop(z, first.rate, g))
                for model, h, generator in parts
            ],
            dim=1,
        )
    filters = [model.filter for model in models]
    # An operator may store columns in less precision than the network has.
    stored = columns.flatten(1).to(operator.dtype)
    return apply_filters(filters, operator, stored).view(columns.shape).to(columns.dtype)


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
    models: Sequence[FilterNetwork],
    operator: Operator,
    x: Input,
    generators: Generators,
    blocks: Sequence[Columns],
) -> Tensor:
    """Return the logits (n, R, C) of networks from blocks of the columns.

    One block after another, which is made again in the backward: memory is that of one block.
    """
    first = models[0]
    rate, relu = first.rate, first.config.activation == "relu"
    basis, weights = polynomials_of([model.filter for model in models], operator)
    biases = torch.stack([model.head.bias for model in models])
    last = first.filters_logits()

    def apply_filter(weights: Tensor, columns: Tensor) -> Tensor:
        """Apply the polynomial of each network to its own columns (n, R, c)."""
        return apply_polynomial(operator, basis, weights, columns.flatten(1)).view(columns.shape)

    def part(block: Columns, draws: Generators, weights: Tensor, *layers: Tensor) -> Tensor:
        """Return what a block adds to the logits: W_in, b and W_out of each network are given."""
        encoders = [Weights(*layers[i : i + 2]) for i in range(0, len(layers), 3)]
        hidden = _encode(encoders, x, rate, draws, relu=relu)
        hidden = hidden if relu else first.activate(hidden)
        if not last:
            hidden = apply_filter(weights, hidden)
        drawn = draw_columns(len(hidden), block, rate, draws, hidden.device)
        no_bias = torch.zeros_like(biases[0])
        return apply_heads([Weights(w, no_bias) for w in layers[2::3]], hidden, drawn)

    widths = [block.width for block in blocks]
    divided = []
    for model in models:
        assert model.encoder is not None
        w_in, bias = model.encoder.weight.split(widths, 1), model.encoder.bias.split(widths)
        divided.append(zip(w_in, bias, model.head.weight.split(widths), strict=True))
    weights = weights.to(biases.dtype)
    logits = torch.zeros((), dtype=biases.dtype, device=biases.device)
    for block, *layers in zip(blocks, *divided, strict=True):
        # All draw the same; the last of them moves the generators on.
        draws = generators if block is blocks[-1] else copies_of(generators, operator.device)
        tensors = [weights, *(tensor for layer in layers for tensor in layer)]
        again = torch.is_grad_enabled()
        made = (
            _MadeAgain.apply(part, block, draws, *tensors)
            if again
            else part(block, draws, *tensors)
        )
        logits = logits + made
    return (apply_filter(weights, logits) if last else logits) + biases


class _MadeAgain(torch.autograd.Function):
    """A part of the logits whose inner values are not kept but made again for the gradient."""

    @staticmethod
    def forward(
        ctx: Any,
        part: Callable[..., Tensor],
        block: Columns,
        generators: Generators,
        *tensors: Tensor,
    ) -> Tensor:
        ctx.part, ctx.block = part, block
        ctx.generators = copies_of(generators, tensors[0].device)
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
            draws = copies_of(ctx.generators, grad.device)
            made = ctx.part(ctx.block, draws, *tensors)
        found = iter(torch.autograd.grad(made, needed, grad))
        return None, None, None, *(next(found) if t.requires_grad else None for t in tensors)


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
