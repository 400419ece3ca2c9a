"""GCNII (Chen et al. 2020)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from graphfilter.models.layers import (
    Generators,
    Linear,
    draw_kept,
    linear_side_by_side,
    matmul_side_by_side,
)
from graphfilter.models.network import SideBySide
from graphfilter.operators import Operator
from graphfilter.operators.sparse import SparseFeatures


class GCNII(SideBySide):
    r"""*Simple and Deep Graph Convolutional Networks* (ICML 2020).

    .. math:: H_{\ell+1} = \mathrm{relu}\bigl(((1-\alpha) P H_\ell + \alpha H_0)
              ((1-\beta_\ell) I + \beta_\ell W_\ell)\bigr), \qquad
              \beta_\ell = \log(\theta / \ell + 1)

    Parameters
    ----------
    n_features, n_classes : int
    n_layers, hidden_size : int
    alpha, theta : float
        Weight of the initial residual and strength of the identity mapping.
    dropout : float
        On the input of every layer.
    generator : torch.Generator, optional
        For the initial weights.
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        n_layers: int = 64,
        hidden_size: int = 64,
        alpha: float = 0.5,
        theta: float = 0.5,
        dropout: float = 0.5,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.alpha = alpha
        self.theta = theta
        self.dropout = dropout
        self.encoder = Linear(n_features, hidden_size, generator)
        bound = math.sqrt(3 / hidden_size)
        weights = torch.empty(n_layers, hidden_size, hidden_size)
        self.weights = nn.Parameter(weights.uniform_(-bound, bound, generator=generator))
        self.head = Linear(hidden_size, n_classes, generator)

    def extra_repr(self) -> str:
        layers = f"n_layers={len(self.weights)}, alpha={self.alpha:g}, theta={self.theta:g}"
        return f"{layers}, dropout={self.dropout:g}"

    @classmethod
    def together(
        cls,
        models: Sequence[GCNII],
        operator: Operator,
        x: Tensor | SparseFeatures,
        generators: Generators,
    ) -> Tensor:
        first = models[0]
        rate = first.dropout if first.training else 0.0
        encoders = [model.encoder for model in models]
        hidden = torch.relu(linear_side_by_side(encoders, x, rate, generators))
        n, _, width = hidden.shape
        weights = torch.stack([model.weights for model in models], dim=1)
        kept, scale = draw_kept((len(weights), n, width), rate, generators, hidden.device)
        # Every factor is moved into the weights (relu lets positive ones pass): what is left of a
        # layer is a product with the graph, a sum and a product with a matrix.
        scale *= 1 - first.alpha
        start, hidden = first.alpha * hidden, scale * hidden
        eye = torch.eye(width, dtype=hidden.dtype, device=hidden.device)
        for layer, weight in enumerate(weights):
            last = layer == len(weights) - 1
            dropped = hidden if kept is None else hidden * kept[:, layer].transpose(0, 1)
            mapping = torch.lerp(eye, weight, math.log(first.theta / (layer + 1) + 1))
            mapping = mapping if last else scale * mapping
            hidden = torch.relu(matmul_side_by_side(operator @ dropped + start, mapping))
        return linear_side_by_side([model.head for model in models], hidden, rate, generators)
