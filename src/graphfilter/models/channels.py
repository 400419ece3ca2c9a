"""ChannelNetwork: one encoder, a filter for each edge type and each direction, one head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

import torch
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.filters import Filter, FilterConfig, StackedFilterConfig, apply_filters
from graphfilter.models.base import ModelConfig, SideBySide, Sizes, Working, layered
from graphfilter.models.layers import Generators, Input, Linear, linear_side_by_side
from graphfilter.operators import Operator
from graphfilter.operators.operator import Channels, channel_names
from graphfilter.util.errors import ConfigError

__all__ = ["ChannelNetwork", "ChannelNetworkConfig"]


@dataclass(frozen=True)
class ChannelNetworkConfig(ModelConfig):
    """See :class:`ChannelNetwork`; how many channels there are, the graph says."""

    dropout: float = 0.7
    filter: FilterConfig = field(default_factory=StackedFilterConfig)
    hidden_size: int = 64

    def skip_reason(self, graph: Graph, n_train: int) -> str | None:
        if graph.directed or graph.kinds is not None:
            return None
        return "edges have neither directions nor types"

    def memory(self, sizes: Sizes) -> Working:
        width, layers = self.hidden_size, self.filter.build().degree
        return layered(sizes, width, layers, filtered=False)

    def build(self, graph: Graph, generator: torch.Generator) -> ChannelNetwork:
        return ChannelNetwork(
            self, graph.n_features, graph.n_classes, channel_names(graph), generator
        )


class ChannelNetwork(SideBySide[ChannelNetworkConfig], config=ChannelNetworkConfig):
    r"""A filter network with an operator, a filter and a head for each channel k.

    .. math:: H_0 = \mathrm{relu}(X W_\mathrm{in} + b), \qquad
              \hat y = \sum_k f_k(P_k)\, H_0\, W_k + b'

    The channels are the edge types (or all edges, where there are no types) and, in a directed
    graph, coupling and co-citation. With one channel this is
    :class:`~graphfilter.models.FilterNetwork`.

    Parameters
    ----------
    config : ChannelNetworkConfig
    n_features, n_classes : int
    channels : tuple of str
        The names of the channels, by which :class:`~graphfilter.operators.operator.Channels` has
        their operators.
    generator : torch.Generator, optional
        For the initial weights.

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> links = gf.Graph.from_edges(
    ...     [[0, 1], [1, 2]], features=[[1], [0], [1]], labels=["a", "b", "a"], directed=True
    ... )
    >>> operator = gf.operators.make_operator("channels", links)
    >>> config = gf.models.ChannelNetworkConfig()
    >>> network = config.build(links, torch.Generator().manual_seed(0))
    >>> network.channels
    ('edges', 'links to the same', 'linked by the same')
    >>> network(operator, gf.operators.to_tensor(links.features)).shape
    torch.Size([3, 2])
    """

    def __init__(
        self,
        config: ChannelNetworkConfig,
        n_features: int,
        n_classes: int,
        channels: tuple[str, ...],
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(config)
        self.channels = channels
        seed = 0 if generator is None else generator.initial_seed()
        self.filters = nn.ModuleList(config.filter.build(seed + k) for k in range(len(channels)))
        self.encoder = Linear(n_features, config.hidden_size, generator)
        self.head = Linear(len(channels) * config.hidden_size, n_classes, generator)

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[ChannelNetwork], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        heads = [model.head for model in models]
        filtered = torch.cat(_filtered(models, operator, x, generators), dim=2)
        return linear_side_by_side(heads, filtered, models[0].rate, generators)

    def embed(self, operator: Operator, x: Input) -> Tensor:
        """Return the filtered hidden layer of every channel, side by side (n, n_channels * h)."""
        return torch.cat(_filtered([self], operator, x, [None]), dim=2)[:, 0]

    def learned_filters(self) -> dict[str, Filter]:
        """Return the filter of each channel by its name."""
        return dict(zip(self.channels, cast("Iterable[Filter]", self.filters), strict=True))

    @torch.no_grad()
    def contributions(self, operator: Operator, x: Input) -> dict[str, float]:
        """Return the share of each channel in the squared logits that the channels add up to."""
        heads = self.head.weight.chunk(len(self.channels))
        parts = zip(_filtered([self], operator, x, [None]), heads, strict=True)
        energies = [float((p[:, 0] @ weight).double().square().sum()) for p, weight in parts]
        whole = sum(energies) or 1.0
        return {name: e / whole for name, e in zip(self.channels, energies, strict=True)}

    def main_filter(self) -> Filter:
        """Return the filter of the first channel."""
        return self.learned_filters()[self.channels[0]]

    def filter_parameters(self) -> list[nn.Parameter]:
        return list(self.filters.parameters())


def _channels(operator: Operator) -> Channels:
    if not isinstance(operator, Channels):
        raise ConfigError(
            f"a network of channels must run on the operator 'channels'; got {operator.kind!r}."
        )
    return operator


def _filtered(
    models: Sequence[ChannelNetwork], operator: Operator, x: Input, generators: Generators
) -> list[Tensor]:
    """Return the filtered hidden layers (n, R, c) of each channel, each network's beside it."""
    first, parts_of = models[0], _channels(operator)
    parts_of.check_channels(first.channels)
    encoders = [model.encoder for model in models]
    hidden = linear_side_by_side(encoders, x, first.rate, generators, relu=True)
    parts = []
    for name in first.channels:
        filters = [model.learned_filters()[name] for model in models]
        filtered = apply_filters(filters, parts_of.part(name), hidden.flatten(1))
        parts.append(filtered.view(hidden.shape))
    return parts
