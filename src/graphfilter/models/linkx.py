"""LINKX (Lim et al. 2021)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphfilter.graph import Graph
from graphfilter.models.pyg import edges_to_csr, graph_edges, lend, pyg_nn, to_dense
from graphfilter.operators import Operator
from graphfilter.operators.sparse import SparseFeatures


class LINKX(nn.Module):
    r"""*Large Scale Learning on Non-Homophilous Graphs* (NeurIPS 2021): ``nn.LINKX`` of PyG.

    .. math:: \hat y = \mathrm{MLP}_f\bigl(\mathrm{relu}(W [h_A, h_X] + h_A + h_X)\bigr), \quad
              h_A = \mathrm{MLP}_A(A), \quad h_X = \mathrm{MLP}_X(X)

    The adjacency is a table of features, one column a vertex: the weights belong to the graph
    they were learned on. Sparse features are made dense for its MLP.

    Parameters
    ----------
    graph : Graph
    hidden_size, n_layers : int
        Of the final MLP; the other two have one layer.
    dropout : float
        Inside the final MLP.
    generator : torch.Generator, optional
        For the initial weights.
    """

    edges: Tensor
    weights: Tensor

    def __init__(
        self,
        graph: Graph,
        *,
        hidden_size: int = 64,
        n_layers: int = 2,
        dropout: float = 0.5,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        edges, weights = graph_edges(graph)
        self.register_buffer("edges", edges, persistent=False)
        self.register_buffer("weights", weights, persistent=False)
        with lend(generator):
            self.network = pyg_nn().LINKX(
                graph.n_vertices,
                graph.n_features,
                hidden_size,
                graph.n_classes,
                num_layers=n_layers,
                dropout=dropout,
            )

    def forward(
        self,
        operator: Operator,
        x: Tensor | SparseFeatures,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return logits (n, n_classes); ``generator`` draws the dropout."""
        adjacency = edges_to_csr(self.edges, self.weights, operator.n)
        with lend(generator):
            return self.network(to_dense(x), adjacency)
