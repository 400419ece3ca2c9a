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

from graphfilter import filters as filtering
from graphfilter.data.graph import Graph
from graphfilter.filters.base import ADDED
from graphfilter.models.base import ModelConfig, SideBySide, Sizes, Working, layered
from graphfilter.models.layers import Generators, Input, Linear, drop, linear_side_by_side
from graphfilter.operators import Operator
from graphfilter.util.errors import ConfigError

__all__ = ["FilterNetwork", "FilterNetworkConfig"]

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
    filter: filtering.FilterConfig = field(default_factory=filtering.StackedFilterConfig)
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
    def needs_edges(self) -> bool:
        return not isinstance(self.filter, filtering.IdentityFilterConfig)

    @property
    def learns_filter(self) -> bool:
        return isinstance(self.filter, filtering.StackedFilterConfig)

    def memory(self, sizes: Sizes) -> Working:
        width, on_hidden = self.hidden_size or 1, self.filter_on == "hidden"
        return layered(sizes, width, self.encoder_layers, filtered=on_hidden)

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
        filter: filtering.Filter,
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
        logits = self.head(self.encoded(x))
        return logits if self.filters_bias else logits - self.head.bias

    def embed(self, operator: Operator, x: Input) -> Tensor:
        """Return the filtered hidden layer f(P) H_0; without an encoder, the filtered features.

        Without dropout the head's logits are linear in it, wherever training puts the filter.
        """
        hidden = self.encoded(x)
        return self.filter(operator, hidden if isinstance(hidden, Tensor) else hidden.to_dense())

    def encoded(self, x: Input) -> Input:
        """Return the hidden layer before the filter; features where there is no encoder."""
        for layer in self.encoders():
            x = self.activate(layer(x))
        return x

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

    def filters_logits(self) -> bool:
        """Return whether the filter now runs after the head."""
        narrower = self.head.weight.shape[1] < self.head.weight.shape[0]
        return self.config.filter_on == "logits" or (not self.training and narrower)

    def main_filter(self) -> filtering.Filter:
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
    return filtering.apply_filters(filters, operator, stored).view(columns.shape).to(columns.dtype)
