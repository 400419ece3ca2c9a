"""MixedNetwork: low and high frequencies, own features and links, mixed by each vertex."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from graphfilter.errors import ConfigError
from graphfilter.graph import Graph
from graphfilter.models.base import ModelConfig, SideBySide, SizedNetwork
from graphfilter.models.layers import Draws, Generators, Input, Weights, linear_side_by_side
from graphfilter.operators import Operator

# Above so many vertices it takes time and adds little (Chameleon, Squirrel).
MOST_VERTICES = 1000


@dataclass(frozen=True)
class MixedConfig(ModelConfig):
    """Of :class:`MixedNetwork`.

    Parameters
    ----------
    dropout : float
        On the features and the hidden columns; not on links.
    hidden_size : int
    n_links : int
        How many of the columns, the last ones, say whom a vertex is connected to.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("n_links",)

    dropout: float = 0.2
    hidden_size: int = 64
    n_links: int = 0

    def skip_reason(self, graph: Graph, n_train: int) -> str | None:
        if graph.n_vertices > MOST_VERTICES:
            return f"it helps on small graphs, of up to {MOST_VERTICES:,} vertices"
        return None


class _Layer(nn.Module):
    """The weights of one layer."""

    def __init__(self, n_in: int, n_out: int, n_links: int, generator: Draws) -> None:
        super().__init__()

        def drawn(*shape: int, fan: int) -> nn.Parameter:
            bound = 1 / math.sqrt(fan)
            return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))

        n_channels = 3 + bool(n_links)
        self.weight = drawn(n_in, 3 * n_out, fan=n_out)
        if n_links:
            self.links = drawn(n_links, n_out, fan=n_out)
        self.scores = drawn(n_channels, n_out, fan=1)
        self.mix = drawn(n_channels, n_channels, fan=n_channels)


class MixedNetwork(SizedNetwork[MixedConfig], SideBySide[MixedConfig], config=MixedConfig):
    r"""Two layers, in each of which every vertex weighs four channels for itself.

    .. math:: H' = \sum_c \mathrm{diag}(\alpha_c) H_c, \qquad
              H_L = \mathrm{relu}(M H W_L), \; H_H = \mathrm{relu}((I - M) H W_H), \;
              H_I = \mathrm{relu}(H W_I), \; H_S = \mathrm{relu}(A W_S)

    with :math:`\alpha = \mathrm{softmax}(\sigma([H_c w_c]_c) V / C)` for each vertex over its C
    channels; M takes averages (:meth:`~graphfilter.operators.Operator.average`). The form of
    ACM-GCN+ (Luan et al. 2022); the links A are columns beside the features, so that the network
    serves a graph that has grown. Without them there are three channels, and the sum is multiplied
    by 3.

    Shapes
    ------
    x : (n, d), the last ``n_links`` columns of which are links;  output : (n, n_classes)

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> operator = gf.operators.augmented_adjacency(g)
    >>> x = gf.operators.to_tensor(g.features)
    >>> gf.models.MixedNetwork(34, 2)(operator, x).shape
    torch.Size([34, 2])
    """

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        width, n_links = self.config.hidden_size, self.config.n_links
        if n_links > n_features:
            raise ConfigError(
                f"n_links must be at most the number of columns, {n_features}; got {n_links}."
            )
        self.first = _Layer(n_features - n_links, width, n_links, generator)
        self.second = _Layer(width, n_classes, n_links, generator)

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[MixedNetwork], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        first, links = models[0], None
        if n_links := first.config.n_links:
            x, links = _parted(x, n_links)
        hidden = first.layer(operator, x, links, [m.first for m in models], generators)
        return first.layer(operator, hidden, links, [m.second for m in models], generators)

    def layer(
        self,
        operator: Operator,
        x: Input,
        links: Input | None,
        layers: Sequence[_Layer],
        generators: Generators,
    ) -> Tensor:
        """Apply R layers to the columns of each, or to features that all share."""
        made = linear_side_by_side(_weights(layers, "weight"), x, self.rate, generators)
        width = made.shape[2] // 3
        spread = operator.average(made[:, :, : 2 * width])
        low, high, own = (
            spread[:, :, :width],
            made[:, :, width : 2 * width],
            made[:, :, 2 * width :],
        )
        channels = [low, high - spread[:, :, width:], own]
        if links is not None:
            still = [None] * len(layers)
            channels.append(linear_side_by_side(_weights(layers, "links"), links, 0.0, still))
        columns = torch.relu(torch.stack(channels, dim=2))
        scores, mix = (
            torch.stack([getattr(y, name) for y in layers]) for name in ("scores", "mix")
        )
        seen = torch.sigmoid((columns * scores).sum(3))
        mixed = torch.einsum("nrc,rcd->nrd", seen, mix) / len(channels)
        factor = 3.0 if links is None else 1.0
        return factor * (mixed.softmax(2)[..., None] * columns).sum(2)


def _weights(layers: Sequence[Any], name: str) -> list[Weights]:
    weights = [getattr(layer, name) for layer in layers]
    return [Weights(weight, torch.zeros_like(weight[0])) for weight in weights]


def _parted(x: Input, n_last: int) -> tuple[Input, Input]:
    """Return all but the last columns, and those."""
    if isinstance(x, Tensor):
        return x[:, :-n_last].contiguous(), x[:, -n_last:].contiguous()
    return x.parted(n_last)
