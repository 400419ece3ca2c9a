"""JKNet (Xu et al. 2018) with DropEdge (Rong et al. 2020)."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.models.base import GraphNetwork, ModelConfig
from graphfilter.models.layers import Draws, Input, Linear, drop
from graphfilter.operators import Operator
from graphfilter_research.peers.pyg import (
    Projection,
    drawing_from,
    edges_to_csr,
    graph_edges,
    operator_csr,
    pyg_nn,
)


@dataclass(frozen=True)
class JKNetConfig(ModelConfig):
    """Of :class:`JKNet`.

    Parameters
    ----------
    n_layers, hidden_size : int
    dropout : float
        On the input of every layer.
    drop_edge : float
        Share of the edges left out in training.
    """

    n_layers: int = 6
    hidden_size: int = 32
    drop_edge: float = 0.5


class JKNet(GraphNetwork[JKNetConfig], config=JKNetConfig):
    r"""*Representation Learning on Graphs with Jumping Knowledge Networks* (ICML 2018).

    .. math:: H_{\ell+1} = \mathrm{relu}(P H_\ell W_\ell + b_\ell), \qquad
              \hat y = [H_1, \dots, H_K]\, W + b

    In training, DropEdge leaves out a share of the edges, drawn again every epoch, and normalises
    what is left: :math:`P = (D'+I)^{-1/2}(A'+I)(D'+I)^{-1/2}`. Prediction runs on the operator.

    The edges to drop are those of the graph it is made for.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="jknet-dropedge@n_layers=4", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    edges: Tensor
    weights: Tensor

    def make_layers(self, graph: Graph, generator: Draws) -> None:
        config = self.config
        edges, weights = graph_edges(graph)
        once = edges[0] < edges[1]
        self.register_buffer("edges", edges[:, once], persistent=False)
        self.register_buffer("weights", weights[once], persistent=False)
        self.project = Projection(graph.n_features, config.hidden_size, generator)
        with drawing_from(generator):
            self.convs = nn.ModuleList(
                pyg_nn().GCNConv(config.hidden_size, config.hidden_size, normalize=False)
                for _ in range(config.n_layers)
            )
        # Its weights are those of `project`, which takes sparse features too.
        self.convs[0].lin = nn.Identity()
        self.jump = pyg_nn().JumpingKnowledge("cat")
        self.head = Linear(config.n_layers * config.hidden_size, graph.n_classes, generator)

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        """Return logits (n, n_classes); ``generator`` draws the dropout and the edges."""
        rate = self.rate
        if self.training:
            adjacency = self.sample_adjacency(operator.n, generator)
        else:
            adjacency = operator_csr(operator)
        hidden = self.project(x, dropout=rate, generator=generator)
        layers = [torch.relu(self.convs[0](hidden, adjacency))]
        for conv in self.convs[1:]:
            layers.append(torch.relu(conv(drop(layers[-1], rate, generator), adjacency)))
        return self.head(self.jump(layers), dropout=rate, generator=generator)

    def sample_adjacency(self, n: int, generator: torch.Generator | None) -> Tensor:
        """Return the normalised adjacency of the graph less the edges dropped now."""
        gcn_norm = importlib.import_module("torch_geometric.nn.conv.gcn_conv").gcn_norm
        n_edges = self.edges.shape[1]
        draws = torch.rand(n_edges, generator=generator, device=self.edges.device)
        kept = draws >= self.config.drop_edge
        edges, weights = self.edges[:, kept], self.weights[kept]
        both = torch.cat([edges, edges.flip(0)], dim=1)
        both, weights = gcn_norm(both, weights.repeat(2), num_nodes=n)
        return edges_to_csr(both, weights, n)
