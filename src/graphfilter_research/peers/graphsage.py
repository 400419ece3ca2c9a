"""GraphSAGE (Hamilton et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.models.base import ModelConfig
from graphfilter.models.layers import Draws, Input, Linear
from graphfilter.operators import Operator
from graphfilter_research.peers.pyg import EdgeNetwork, edges_to_csr


@dataclass(frozen=True)
class GraphSAGEConfig(ModelConfig):
    """Of :class:`GraphSAGE`.

    Parameters
    ----------
    hidden_size : int
        Columns of a vertex's own and of its neighbours' part, each.
    dropout : float
        On the input of every layer.
    """

    hidden_size: int = 64


class GraphSAGE(EdgeNetwork[GraphSAGEConfig], config=GraphSAGEConfig):
    r"""*Inductive Representation Learning on Large Graphs* (NeurIPS 2017), the mean aggregator.

    .. math:: H_{\ell+1} = \mathrm{unit}\bigl(\mathrm{relu}([H_\ell W_\ell,\; M H_\ell V_\ell])
              \bigr), \qquad \hat y = H_2 W + b

    :math:`M = D^{-1} A` takes the mean over all neighbours (the authors sample 25 and 10 of
    them), and every row is scaled to unit length after a layer. Without neighbours the mean is 0.

    The neighbours are those of the graph it is made for.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="graphsage@hidden_size=32", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, graph: Graph, generator: Draws) -> None:
        config = self.config
        sums = torch.zeros(graph.n_vertices).index_add_(0, self.edges[1], self.weights)
        self.weights = self.weights / sums[self.edges[1]]
        width = config.hidden_size
        self.first = Linear(graph.n_features, 2 * width, generator)
        self.second = Linear(2 * width, 2 * width, generator)
        self.head = Linear(2 * width, graph.n_classes, generator)

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        mean = edges_to_csr(self.edges, self.weights, operator.n)
        hidden = x
        for layer in (self.first, self.second):
            own, others = layer(hidden, dropout=self.rate, generator=generator).chunk(2, dim=1)
            hidden = torch.relu(torch.cat([own, mean @ others], dim=1))
            hidden = nn.functional.normalize(hidden, dim=1)
        return self.head(hidden, dropout=self.rate, generator=generator)
