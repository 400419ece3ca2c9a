"""GCN (Kipf & Welling 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphfilter.models.layers import drop
from graphfilter.models.pyg import Projection, lend, operator_csr, pyg_nn
from graphfilter.operators import Operator
from graphfilter.operators.sparse import SparseFeatures


class GCN(nn.Module):
    r"""Graph convolutional network, *Semi-Supervised Classification with GCNs* (ICLR 2017).

    .. math:: H_{\ell+1} = \mathrm{relu}(P H_\ell W_\ell + b_\ell)

    without the relu in the last layer. The layers are PyTorch Geometric's ``GCNConv``, handed the
    operator as it is.

    Parameters
    ----------
    n_features, n_classes : int
    hidden_size, n_layers : int
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
        hidden_size: int = 16,
        n_layers: int = 2,
        dropout: float = 0.5,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        sizes = [hidden_size] * (n_layers - 1) + [n_classes]
        self.project = Projection(n_features, sizes[0], generator)
        with lend(generator):
            self.convs = nn.ModuleList(
                pyg_nn().GCNConv(n_in, n_out, normalize=False)
                for n_in, n_out in zip([sizes[0], *sizes], sizes, strict=False)
            )
        # Its weights are those of `project`, which takes sparse features too.
        self.convs[0].lin = nn.Identity()

    def forward(
        self,
        operator: Operator,
        x: Tensor | SparseFeatures,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return logits (n, n_classes); ``generator`` draws the dropout."""
        return self.convolve(operator_csr(operator), self.encode(x, generator), generator)

    @property
    def rate(self) -> float:
        """The dropout rate now in force."""
        return self.dropout if self.training else 0.0

    def encode(self, x: Tensor | SparseFeatures, generator: torch.Generator | None) -> Tensor:
        """Return X W of the first layer, before the graph is seen."""
        return self.project(x, dropout=self.rate, generator=generator)

    def convolve(
        self, adjacency: Tensor, hidden: Tensor, generator: torch.Generator | None
    ) -> Tensor:
        """Run every layer on this sparse adjacency, from what :meth:`encode` gave."""
        hidden = self.convs[0](hidden, adjacency)
        for conv in self.convs[1:]:
            hidden = conv(drop(torch.relu(hidden), self.rate, generator), adjacency)
        return hidden
