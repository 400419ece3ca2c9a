"""gfNN (NT & Maehara 2019) and GLP (Li et al. 2019): a fixed filter, then an MLP.

FilterNetwork: one encoder, any filter, one head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

import torch
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.filters import (
    Filter,
    FilterConfig,
    IdentityFilterConfig,
    PowerFilterConfig,
    StackedFilterConfig,
    apply_filters,
)
from graphfilter.filters.base import added
from graphfilter.models.base import ModelConfig, SideBySide, SizedNetwork, Sizes, Working, layered
from graphfilter.models.columns import (
    BYTES_PER_ENTRY,
    column_blocks,
    columns_at_once,
    forward_in_parts,
)
from graphfilter.models.layers import (
    Columns,
    Draws,
    Generators,
    Input,
    Linear,
    drop,
    linear_side_by_side,
)
from graphfilter.operators import Operator
from graphfilter.util.errors import ConfigError, check_name


@dataclass(frozen=True)
class FilteredFeaturesConfig(ModelConfig):
    """Of :class:`FilteredFeatures`.

    Parameters
    ----------
    dropout : float
        On the input of both linear layers.
    filter : FilterConfig
        Without learnable scalars.
    hidden_size : int
    """

    filter: FilterConfig = field(default_factory=PowerFilterConfig)
    hidden_size: int = 32


class FilteredFeatures(
    SizedNetwork[FilteredFeaturesConfig],
    SideBySide[FilteredFeaturesConfig],
    config=FilteredFeaturesConfig,
):
    r"""A multilayer perceptron on filtered features.

    .. math:: \hat y = \mathrm{relu}(f(P) X W_1 + b_1) W_2 + b_2

    With :math:`f(\lambda) = \lambda^2` this is gfNN (*Revisiting Graph Neural Networks: All We Have
    is Low-Pass Filters*), with :math:`1 / (1 + \alpha (1 - \lambda))` GLP (*Label Efficient
    Semi-Supervised Learning via Graph Filtering*, the AR filter). The filter runs on X W, which is
    narrower than X, so that dropout is on X before the filter.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> config = gf.models.FilteredFeaturesConfig(filter=gf.filters.PowerFilterConfig(k=2))
    >>> system = gf.systems.System("averaged", "averaged", config, setting="own")
    >>> clf = gf.SystemClassifier(model=system, max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        config = self.config
        self.encoder = Linear(n_features, config.hidden_size, generator)
        self.filter = config.filter.build()
        self.head = Linear(config.hidden_size, n_classes, generator)

    @classmethod
    def forward_side_by_side(
        cls,
        models: Sequence[FilteredFeatures],
        operator: Operator,
        x: Input,
        generators: Generators,
    ) -> Tensor:
        rate = models[0].rate
        encoders = [model.encoder for model in models]
        biases = torch.stack([encoder.bias for encoder in encoders])
        columns = linear_side_by_side(encoders, x, rate, generators) - biases
        filters = [model.filter for model in models]
        filtered = apply_filters(filters, operator, columns.flatten(1)).view(columns.shape)
        hidden = torch.relu(filtered + biases)
        return linear_side_by_side([model.head for model in models], hidden, rate, generators)


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
    encoder_layers: int = added(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("dropout placement", self.dropout_on, ("linear", "every_layer"))
        check_name("filter placement", self.filter_on, ("hidden", "logits"))
        check_name("activation", self.activation, ACTIVATIONS)
        if self.hidden_size is None and self.filter_on == "hidden":
            raise ConfigError("without a hidden layer the filter must be on the logits.")

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
        return FilterNetwork(
            graph.n_features,
            graph.n_classes,
            self.filter.build(generator.initial_seed()),
            hidden_size=self.hidden_size,
            activation=self.activation,
            dropout=self.dropout,
            dropout_on=self.dropout_on,
            filter_on=self.filter_on,
            encoder_layers=self.encoder_layers,
            generator=generator,
        )


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
    hidden_size : int or None
        Width of the encoder; None leaves the encoder out, so that the network is linear (SGC).
    activation : {'relu', 'elu', 'tanh', 'none'}
        After the encoder.
    dropout : float
        Rate in [0, 1).
    dropout_on : {'linear', 'every_layer'}
        On the input of the linear layers (the paper's text), or also on the input of every filter
        layer (the authors' code): two different models.
    filter_on : {'hidden', 'logits'}
        Whether training filters the hidden layer (SGF) or the logits (APPNP, SGC). Prediction
        filters whichever is narrower: without dropout both are the same function.
    encoder_layers : int
        Layers of the encoder, all of the same width, each with dropout and activation.
    generator : torch.Generator, optional
        For the initial weights.

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
        hidden_size: int | None = 64,
        activation: str = "relu",
        dropout: float = 0.7,
        dropout_on: DropoutOn = "linear",
        filter_on: FilterOn = "hidden",
        encoder_layers: int = 1,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(
            FilterNetworkConfig(
                dropout=dropout,
                filter=filter.config,
                hidden_size=hidden_size,
                activation=activation,
                dropout_on=dropout_on,
                filter_on=filter_on,
                encoder_layers=encoder_layers,
            )
        )
        width = n_features if hidden_size is None else hidden_size
        self.encoder = None if hidden_size is None else Linear(n_features, width, generator)
        deeper = 0 if hidden_size is None else encoder_layers - 1
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

    def terms(self, operator: Operator) -> list[tuple[FilterNetwork, Operator]]:
        """Return networks and their operators whose logits add up to this one's: itself alone."""
        return [(self, operator)]

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
        """Return the blocks that the hidden columns are computed in; none where it is at once."""
        if type(self) is not FilterNetwork or not self.config.can_be_divided:
            return []
        found = column_blocks(self, n_runs, operator, x)
        return found if len(found) > 1 else []

    def can_be_replayed(self, n_runs: int, operator: Operator, x: Input) -> bool:
        """Not in blocks: their generators are copied."""
        return not self.blocks(n_runs, operator, x)

    def filters_logits(self) -> bool:
        """Return whether the filter now runs after the head."""
        narrower = self.head.weight.shape[1] < self.head.weight.shape[0]
        return self.config.filter_on == "logits" or (not self.training and narrower)

    def main_filter(self) -> Filter:
        return self.filter

    def filter_parameters(self) -> list[nn.Parameter]:
        return list(self.filter.parameters())

    def linear_parameters(self) -> list[nn.Parameter]:
        inside = set(self.filter.parameters())
        return [p for p in self.parameters() if p not in inside]


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
