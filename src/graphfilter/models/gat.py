"""GAT (Veličković et al. 2018)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphfilter.models.layers import drop
from graphfilter.models.pyg import Projection, lend, operator_edges, pyg_nn
from graphfilter.operators import Operator
from graphfilter.operators.sparse import SparseFeatures


class GAT(nn.Module):
    r"""*Graph Attention Networks* (ICLR 2018), two layers of PyTorch Geometric's ``GATConv``.

    .. math:: h_v' = \sum_{u : P_{vu} \ne 0} \alpha_{vu} W h_u, \qquad
              \alpha_{v\cdot} = \mathrm{softmax}_u\,
              \mathrm{leakyrelu}(a^\top W h_v + b^\top W h_u)

    Of the operator only its pattern counts; the weights are learned.

    Parameters
    ----------
    n_features, n_classes : int
    hidden_size, n_heads : int
        Columns a head, and heads, of the first layer; the second has one head.
    dropout : float
        On the input of both layers and on the attention.
    generator : torch.Generator, optional
        For the initial weights.
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        hidden_size: int = 8,
        n_heads: int = 8,
        dropout: float = 0.6,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        width = hidden_size * n_heads
        options = {"dropout": dropout, "add_self_loops": False}
        self.project = Projection(n_features, width, generator)
        with lend(generator):
            self.first = pyg_nn().GATConv(width, hidden_size, heads=n_heads, **options)
            self.second = pyg_nn().GATConv(width, n_classes, heads=1, **options)
        # Its weights are those of `project`, which takes sparse features too.
        self.first.lin = nn.Identity()

    def forward(
        self,
        operator: Operator,
        x: Tensor | SparseFeatures,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return logits (n, n_classes); ``generator`` draws the dropout."""
        rate = self.dropout if self.training else 0.0
        edges = operator_edges(operator)
        hidden = self.project(x, dropout=rate, generator=generator)
        with lend(generator):
            hidden = nn.functional.elu(self.first(hidden, edges))
        hidden = drop(hidden, rate, generator)
        with lend(generator):
            return self.second(hidden, edges)
