"""WeightedHops: hops of features, each with its own layer, joined by learned weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from graphfilter.graph import Graph
from graphfilter.models.base import ModelConfig, SideBySide, SizedNetwork
from graphfilter.models.layers import (
    Draws,
    Generators,
    Input,
    Linear,
    Weights,
    linear_side_by_side,
)
from graphfilter.operators import Operator

# Above so many vertices it takes time and adds next to nothing (Cora, squirrel_filtered).
MOST_VERTICES = 1000


@dataclass(frozen=True)
class WeightedHopsConfig(ModelConfig):
    """Of :class:`WeightedHops`.

    Parameters
    ----------
    dropout : float
        On the input of the head.
    n_hops, hidden_size : int
    """

    n_hops: int = 3
    hidden_size: int = 64

    def skip_reason(self, graph: Graph, n_train: int) -> str | None:
        if graph.n_vertices > MOST_VERTICES:
            return f"it helps on small graphs, of up to {MOST_VERTICES:,} vertices"
        return None


class WeightedHops(
    SizedNetwork[WeightedHopsConfig], SideBySide[WeightedHopsConfig], config=WeightedHopsConfig
):
    r"""A layer for every hop, scaled to unit length, so that no hop drowns another.

    .. math:: \hat y = \mathrm{relu}\bigl([s_0 U_0, \dots, s_K U_K]\bigr) W + b, \qquad
              U_k = \mathrm{unit}(P^k X W_k + b_k), \quad s = \mathrm{softmax}(a)

    The form of FSGNN (Maurya et al. 2021), with the hops of one operator instead of two.
    Projections are multiplied, not features, which is the same: :math:`(P^k X) W = P^k (X W)`.

    Shapes
    ------
    x : (n, d);  output : (n, n_classes)

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> x = gf.operators.to_tensor(g.features)
    >>> gf.models.WeightedHops(34, 2)(gf.operators.adjacency(g), x).shape
    torch.Size([34, 2])
    """

    encoders: nn.ModuleList
    scores: nn.Parameter
    head: Linear

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        make_hops(self, n_features, n_classes, self.config.n_hops + 1, generator)

    def filter_parameters(self) -> list[nn.Parameter]:
        return [self.scores]

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[Any], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        width = models[0].config.hidden_size
        own, others = encode_hops(models, x).tensor_split((width,), dim=2)
        spread = [own, *multiplied_hops(others, width, operator.__matmul__)]
        return weigh_hops(models, spread, generators)


def make_hops(
    network: Any, n_features: int, n_classes: int, n_parts: int, generator: Draws
) -> None:
    """Make the layers of a network of so many hops: encoders, scores and head."""
    width = network.config.hidden_size
    network.encoders = nn.ModuleList(Linear(n_features, width, generator) for _ in range(n_parts))
    network.scores = nn.Parameter(torch.ones(n_parts))
    network.head = Linear(width * n_parts, n_classes, generator)


def encode_hops(models: Sequence[Any], x: Input) -> Tensor:
    """Return the projections X W_k of all hops, side by side: (n, R, n_parts · width)."""
    joined = [_without_bias(model.encoders) for model in models]
    return linear_side_by_side(joined, x, 0.0, [None] * len(models))


def multiplied_hops(x: Tensor, width: int, multiply: Callable[[Tensor], Tensor]) -> list[Tensor]:
    """Multiply the k-th block of columns k times."""
    hops: list[Tensor] = []
    while x.shape[2]:
        x = multiply(x.contiguous())
        hops.append(x[:, :, :width])
        x = x[:, :, width:]
    return hops


def weigh_hops(
    models: Sequence[Any], spread: Sequence[Tensor], generators: Generators, *, unit: bool = True
) -> Tensor:
    """Return the logits (n, R, n_classes) of hops, (n, R, width) each."""
    hidden = torch.cat(list(spread), dim=2) + torch.stack([_biases(m.encoders) for m in models])
    hidden = hidden.view(len(hidden), len(models), len(spread), -1)
    if unit:
        hidden = nn.functional.normalize(hidden, dim=3)
    scores = torch.stack([model.scores for model in models]).softmax(1)
    hidden = torch.relu(hidden * scores[..., None]).flatten(2)
    return linear_side_by_side([m.head for m in models], hidden, models[0].rate, generators)


def _without_bias(encoders: Iterable[Any]) -> Weights:
    weight = torch.cat([encoder.weight for encoder in encoders], dim=1)
    return Weights(weight, torch.zeros_like(weight[0]))


def _biases(encoders: Iterable[Any]) -> Tensor:
    return torch.cat([encoder.bias for encoder in encoders])
