"""DeepNetwork: what networks of many layers of one width share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn

from graphfilter.models.base import ModelConfig, SideBySide, SizedNetwork
from graphfilter.models.layers import Draws, Generators, Input, Linear, linear_side_by_side
from graphfilter.operators import Operator


@dataclass(frozen=True)
class DeepConfig(ModelConfig):
    """Of a :class:`DeepNetwork`."""

    n_layers: int = 6
    hidden_size: int = 64


DeepT = TypeVar("DeepT", bound=DeepConfig, covariant=True)


class DeepNetwork(SizedNetwork[DeepT], SideBySide[DeepT]):
    """Encoder, layers of one width, head; the weights of all layers are one tensor.

    Attributes
    ----------
    n_parts : int
        How many times its width a layer reads: (n_layers, n_parts · width, width) are the weights.
    spread : float
        Weights start uniform in ±√(spread / width).
    """

    n_parts: ClassVar[int]
    spread: ClassVar[float]

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        width = self.config.hidden_size
        self.encoder = Linear(n_features, width, generator)
        bound = math.sqrt(self.spread / width)
        weights = torch.empty(self.config.n_layers, self.n_parts * width, width)
        self.weights = nn.Parameter(weights.uniform_(-bound, bound, generator=generator))
        self.head = Linear(width, n_classes, generator)

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[Any], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        return cls.logits(models, operator, x, generators)

    @classmethod
    def logits(
        cls,
        models: Sequence[Any],
        operator: Operator,
        x: Input,
        generators: Generators,
        added: Tensor | None = None,
    ) -> Tensor:
        """Return the logits (n, R, n_classes); ``added`` (n, R, width) joins encoded columns."""
        rate = models[0].rate
        hidden = linear_side_by_side([m.encoder for m in models], x, rate, generators, relu=True)
        hidden = hidden if added is None else hidden + added
        weights = torch.stack([model.weights for model in models], dim=1)
        hidden = cls.apply_layers(models, operator, hidden, weights, generators)
        return linear_side_by_side([m.head for m in models], hidden, rate, generators)

    @classmethod
    @abstractmethod
    def apply_layers(
        cls,
        models: Sequence[Any],
        operator: Operator,
        hidden: Tensor,
        weights: Tensor,
        generators: Generators,
    ) -> Tensor:
        """Return what the layers make of encoded columns.

        Shapes
        ------
        hidden, output : (n, R, width);  weights : (n_layers, R, n_parts · width, width)
        """
