"""GCNII (Chen et al. 2020)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphfilter.models.layers import Linear, drop
from graphfilter.models.pyg import lend, operator_csr, pyg_nn
from graphfilter.operators import Operator
from graphfilter.sparse import SparseFeatures


class GCNII(nn.Module):
    r"""*Simple and Deep Graph Convolutional Networks* (ICML 2020), of ``GCN2Conv`` layers.

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
        self.dropout = dropout
        self.encoder = Linear(n_features, hidden_size, generator)
        with lend(generator):
            self.convs = nn.ModuleList(
                pyg_nn().GCN2Conv(hidden_size, alpha, theta, layer, normalize=False)
                for layer in range(1, n_layers + 1)
            )
        self.head = Linear(hidden_size, n_classes, generator)

    def forward(
        self,
        operator: Operator,
        x: Tensor | SparseFeatures,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return logits (n, n_classes); ``generator`` draws the dropout."""
        rate = self.dropout if self.training else 0.0
        adjacency = operator_csr(operator)
        start = hidden = torch.relu(self.encoder(x, dropout=rate, generator=generator))
        for conv in self.convs:
            hidden = torch.relu(conv(drop(hidden, rate, generator), start, adjacency))
        return self.head(hidden, dropout=rate, generator=generator)
