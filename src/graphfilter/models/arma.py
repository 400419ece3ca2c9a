"""ARMA (Bianchi et al. 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphfilter.graph import Graph
from graphfilter.models.layers import drop
from graphfilter.models.pyg import graph_edges, lend, pyg_nn, to_dense
from graphfilter.operators import Operator
from graphfilter.operators.sparse import SparseFeatures


class ARMA(nn.Module):
    r"""*Graph Neural Networks with Convolutional ARMA Filters* (2019), of ``ARMAConv`` layers.

    Each of K stacks approximates one pole of a rational filter by T steps,

    .. math:: \bar X^{(t+1)}_k = \sigma(\hat A \bar X^{(t)}_k W_k + X V_k), \qquad
              H = \frac1K \sum_k \bar X^{(T)}_k ,

    with :math:`\hat A = D^{-1/2} A D^{-1/2}`. ``ARMAConv`` always normalises what it is given:
    it is handed the plain graph. Its skip connection needs X itself, so sparse features are made
    dense.

    Parameters
    ----------
    graph : Graph
    hidden_size, n_stacks, n_steps : int
        Columns of the hidden layer; K and T.
    dropout : float
        On the input of both layers.
    skip_dropout : float
        On the X of the skip connections.
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
        n_stacks: int = 2,
        n_steps: int = 1,
        dropout: float = 0.5,
        skip_dropout: float = 0.75,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        edges, weights = graph_edges(graph)
        self.register_buffer("edges", edges, persistent=False)
        self.register_buffer("weights", weights, persistent=False)
        with lend(generator):
            self.first, self.second = (
                pyg_nn().ARMAConv(
                    n_in,
                    n_out,
                    num_stacks=n_stacks,
                    num_layers=n_steps,
                    # With one step there is no recurrence whose weights could be shared.
                    shared_weights=n_steps > 1,
                    dropout=skip_dropout,
                    act=act,
                )
                for n_in, n_out, act in (
                    (graph.n_features, hidden_size, nn.ReLU()),
                    (hidden_size, graph.n_classes, None),
                )
            )
        if n_steps == 1:
            # PyTorch Geometric makes the recurrent weights all the same; they would not train.
            for conv in (self.first, self.second):
                del conv.weight

    def forward(
        self,
        operator: Operator,
        x: Tensor | SparseFeatures,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return logits (n, n_classes); ``generator`` draws the dropout."""
        rate = self.dropout if self.training else 0.0
        hidden = drop(to_dense(x), rate, generator)
        with lend(generator):
            hidden = self.first(hidden, self.edges, self.weights)
        hidden = drop(hidden, rate, generator)
        with lend(generator):
            return self.second(hidden, self.edges, self.weights)
