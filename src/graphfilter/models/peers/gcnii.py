"""GCNII (Chen et al. 2020)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from graphfilter.graph import Graph
from graphfilter.models.base import ModelConfig, SideBySide
from graphfilter.models.layers import (
    Draws,
    Generators,
    Input,
    Linear,
    draw_kept,
    linear_side_by_side,
    matmul_side_by_side,
)
from graphfilter.operators import Operator


@dataclass(frozen=True)
class GCNIIConfig(ModelConfig):
    """Of :class:`GCNII`.

    Parameters
    ----------
    n_layers, hidden_size : int
    alpha, theta : float
        Weight of the initial residual and strength of the identity mapping.
    dropout : float
        On the input of every layer.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.models.GCNIIConfig(n_layers=8)
    GCNIIConfig(dropout=0.5, n_layers=8, hidden_size=64, alpha=0.5, theta=0.5)
    """

    kind: ClassVar[str] = "GCNII"
    n_layers: int = 64
    hidden_size: int = 64
    alpha: float = 0.5
    theta: float = 0.5

    def build(self, graph: Graph, generator: torch.Generator) -> GCNII:
        return GCNII(graph.n_features, graph.n_classes, self, generator=generator)


class GCNII(SideBySide[GCNIIConfig]):
    r"""*Simple and Deep Graph Convolutional Networks* (ICML 2020).

    .. math:: H_{\ell+1} = \mathrm{relu}\bigl(((1-\alpha) P H_\ell + \alpha H_0)
              ((1-\beta_\ell) I + \beta_\ell W_\ell)\bigr), \qquad
              \beta_\ell = \log(\theta / \ell + 1)

    Parameters
    ----------
    n_features, n_classes : int
    config : GCNIIConfig, optional
    generator : torch.Generator, optional
        For the initial weights.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> operator = gf.operators.augmented_adjacency(g)
    >>> x = gf.operators.to_tensor(g.features)
    >>> gf.models.GCNII(34, 2, gf.models.GCNIIConfig(n_layers=8))(operator, x).shape
    torch.Size([34, 2])
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        config: GCNIIConfig | None = None,
        *,
        generator: Draws = None,
    ) -> None:
        config = config or GCNIIConfig()
        super().__init__(config)
        width = config.hidden_size
        self.encoder = Linear(n_features, width, generator)
        bound = math.sqrt(3 / width)
        weights = torch.empty(config.n_layers, width, width, dtype=torch.float32)
        self.weights = nn.Parameter(weights.uniform_(-bound, bound, generator=generator))
        self.head = Linear(width, n_classes, generator)

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[GCNII], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        config, rate = models[0].config, models[0].rate
        encoders = [model.encoder for model in models]
        hidden = linear_side_by_side(encoders, x, rate, generators, relu=True)
        n, _, width = hidden.shape
        weights = torch.stack([model.weights for model in models], dim=1)
        kept, scale = draw_kept((len(weights), n, width), rate, generators, hidden.device)
        # Every factor is moved into the weights (relu lets positive ones pass): what is left of a
        # layer is a product with the graph, a sum and a product with a matrix.
        scale *= 1 - config.alpha
        start, hidden = config.alpha * hidden, scale * hidden
        eye = torch.eye(width, dtype=hidden.dtype, device=hidden.device)
        for layer, weight in enumerate(weights):
            last = layer == len(weights) - 1
            dropped = hidden if kept is None else hidden * kept[:, layer].transpose(0, 1)
            mapping = torch.lerp(eye, weight, math.log(config.theta / (layer + 1) + 1))
            mapping = mapping if last else scale * mapping
            hidden = torch.relu(matmul_side_by_side(operator @ dropped + start, mapping))
        return linear_side_by_side([model.head for model in models], hidden, rate, generators)
