"""GCNII* (Chen et al. 2020)."""

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
class GCNIIStarConfig(ModelConfig):
    """Of :class:`GCNIIStar`; the fields are those of GCNII.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.models.GCNIIStarConfig(n_layers=8)
    GCNIIStarConfig(dropout=0.5, n_layers=8, hidden_size=64, alpha=0.5, theta=0.5)
    """

    kind: ClassVar[str] = "GCNIIStar"
    n_layers: int = 64
    hidden_size: int = 64
    alpha: float = 0.5
    theta: float = 0.5

    def build(self, graph: Graph, generator: torch.Generator) -> GCNIIStar:
        return GCNIIStar(graph.n_features, graph.n_classes, self, generator=generator)


class GCNIIStar(SideBySide[GCNIIStarConfig]):
    r"""GCNII\* of *Simple and Deep Graph Convolutional Networks* (ICML 2020).

    .. math:: H_{\ell+1} = \mathrm{relu}\bigl((1-\beta_\ell)((1-\alpha) P H_\ell + \alpha H_0) +
              \beta_\ell (P H_\ell W_\ell + H_0 V_\ell)\bigr), \qquad
              \beta_\ell = \log(\theta / \ell + 1)

    with matrices of their own for the propagated and the initial columns: as the authors' code has
    it, which made their numbers. (Their equation 6 has α before W and V as well.)

    Parameters
    ----------
    n_features, n_classes : int
    config : GCNIIStarConfig, optional
    generator : torch.Generator, optional
        For the initial weights.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> operator = gf.operators.augmented_adjacency(g)
    >>> x = gf.operators.to_tensor(g.features)
    >>> gf.models.GCNIIStar(34, 2, gf.models.GCNIIStarConfig(n_layers=8))(operator, x).shape
    torch.Size([34, 2])
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        config: GCNIIStarConfig | None = None,
        *,
        generator: Draws = None,
    ) -> None:
        config = config or GCNIIStarConfig()
        super().__init__(config)
        width = config.hidden_size
        self.encoder = Linear(n_features, width, generator)
        bound = 1 / math.sqrt(width)
        # [W, V] of every layer, one above the other.
        weights = torch.empty(config.n_layers, 2 * width, width, dtype=torch.float32)
        self.weights = nn.Parameter(weights.uniform_(-bound, bound, generator=generator))
        self.head = Linear(width, n_classes, generator)

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[GCNIIStar], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        config, rate = models[0].config, models[0].rate
        encoders = [model.encoder for model in models]
        start = hidden = linear_side_by_side(encoders, x, rate, generators, relu=True)
        n, _, width = hidden.shape
        weights = torch.stack([model.weights for model in models], dim=1)
        kept, scale = draw_kept((len(weights), n, width), rate, generators, hidden.device)
        eye = torch.eye(width, dtype=hidden.dtype, device=hidden.device)
        shares = torch.cat([(1 - config.alpha) * eye, config.alpha * eye])
        for layer, weight in enumerate(weights):
            if kept is not None:
                hidden = hidden * kept[:, layer].transpose(0, 1) * scale
            beta = math.log(config.theta / (layer + 1) + 1)
            both = torch.cat([operator @ hidden, start], dim=2)
            mapping = (1 - beta) * shares + beta * weight
            hidden = torch.relu(matmul_side_by_side(both, mapping))
        return linear_side_by_side([model.head for model in models], hidden, rate, generators)
