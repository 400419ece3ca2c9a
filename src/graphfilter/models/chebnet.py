"""ChebNet (Defferrard et al. 2016)."""

from __future__ import annotations

import torch
from torch import Tensor

from graphfilter.graph import Graph
from graphfilter.models.layers import drop
from graphfilter.models.pyg import graph_edges, lend, pyg_nn, to_dense
from graphfilter.operators import Operator
from graphfilter.operators.sparse import SparseFeatures


class ChebNet(torch.nn.Module):
    r"""*Convolutional Neural Networks on Graphs with Fast Localized Spectral Filtering* (2016).

    .. math:: H_{\ell+1} = \mathrm{relu}\Bigl(\sum_{k<K} T_k(L - I)\, H_\ell W_{\ell k}
              + b_\ell\Bigr)

    two layers of PyTorch Geometric's ``ChebConv``, with :math:`\lambda_{\max} = 2`. The layer
    makes its own Laplacian on every call, so it is handed the plain graph, and it propagates
    before it projects, so sparse features are made dense.

    Parameters
    ----------
    graph : Graph
    hidden_size : int
    n_terms : int
        K, the number of Chebyshev polynomials: K - 1 is the degree.
    dropout : float
        On the input of both layers.
    generator : torch.Generator, optional
        For the initial weights.
    """

    edges: Tensor
    weights: Tensor

    def __init__(
        self,
        graph: Graph,
        *,
        hidden_size: int = 16,
        n_terms: int = 3,
        dropout: float = 0.5,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        edges, weights = graph_edges(graph)
        self.register_buffer("edges", edges, persistent=False)
        self.register_buffer("weights", weights, persistent=False)
        with lend(generator):
            self.first = pyg_nn().ChebConv(graph.n_features, hidden_size, n_terms)
            self.second = pyg_nn().ChebConv(hidden_size, graph.n_classes, n_terms)

    def forward(
        self,
        operator: Operator,
        x: Tensor | SparseFeatures,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return logits (n, n_classes); ``generator`` draws the dropout."""
        rate = self.dropout if self.training else 0.0
        hidden = drop(to_dense(x), rate, generator)
        hidden = torch.relu(self.first(hidden, self.edges, self.weights, lambda_max=2.0))
        hidden = drop(hidden, rate, generator)
        return self.second(hidden, self.edges, self.weights, lambda_max=2.0)
