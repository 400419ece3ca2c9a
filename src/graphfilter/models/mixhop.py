"""MixHop (Abu-El-Haija et al. 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphfilter.graph import Graph
from graphfilter.models.layers import Linear, drop
from graphfilter.models.pyg import edges_to_csr, graph_edges, lend, pyg_nn, to_dense
from graphfilter.operators import Operator
from graphfilter.operators.sparse import SparseFeatures


class MixHop(nn.Module):
    r"""*MixHop: Higher-Order Graph Convolutional Architectures* (ICML 2019).

    .. math:: H_{\ell+1} = \mathrm{relu}\bigl([H_\ell W_{\ell 0},\; P H_\ell W_{\ell 1},\;
              P^2 H_\ell W_{\ell 2}] + b_\ell\bigr)

    and a linear head. PyTorch Geometric's ``MixHopConv`` always normalises what it is given, to
    :math:`P = \tilde A`: it is handed the plain graph, and propagates before it projects, so
    sparse features are made dense.

    Parameters
    ----------
    graph : Graph
    hidden_size : int
        Columns a power.
    n_layers : int
    dropout : float
        On the input of every layer.
    generator : torch.Generator, optional
        For the initial weights.
    """

    edges: Tensor
    weights: Tensor

    def __init__(
        self,
        graph: Graph,
        *,
        hidden_size: int = 20,
        n_layers: int = 2,
        dropout: float = 0.5,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        edges, weights = graph_edges(graph)
        self.register_buffer("edges", edges, persistent=False)
        self.register_buffer("weights", weights, persistent=False)
        width = 3 * hidden_size
        with lend(generator):
            self.convs = nn.ModuleList(
                pyg_nn().MixHopConv(n_in, hidden_size, powers=[0, 1, 2])
                for n_in in [graph.n_features] + [width] * (n_layers - 1)
            )
        self.head = Linear(width, graph.n_classes, generator)

    def forward(
        self,
        operator: Operator,
        x: Tensor | SparseFeatures,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return logits (n, n_classes); ``generator`` draws the dropout."""
        rate = self.dropout if self.training else 0.0
        adjacency = edges_to_csr(self.edges, self.weights, operator.n)
        hidden = to_dense(x)
        # Its normalisation makes sparse tensors and does not say whether to check them: we do.
        with torch.sparse.check_sparse_tensor_invariants(False):
            for conv in self.convs:
                hidden = torch.relu(conv(drop(hidden, rate, generator), adjacency))
        return self.head(hidden, dropout=rate, generator=generator)
