"""LINKX (Lim et al. 2021)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.models.base import ModelConfig
from graphfilter.models.layers import Draws, Input
from graphfilter.operators import Operator
from graphfilter_research.peers.pyg import EdgeNetwork, drawing_from, edges_to_csr, pyg_nn, to_dense


@dataclass(frozen=True)
class LINKXConfig(ModelConfig):
    """Of :class:`LINKX`.

    Parameters
    ----------
    hidden_size, n_layers : int
        Of the final MLP; the other two have one layer.
    dropout : float
        Inside the final MLP.
    """

    hidden_size: int = 64
    n_layers: int = 2


class LINKX(EdgeNetwork[LINKXConfig], config=LINKXConfig):
    r"""*Large Scale Learning on Non-Homophilous Graphs* (NeurIPS 2021): ``nn.LINKX`` of PyG.

    .. math:: \hat y = \mathrm{MLP}_f\bigl(\mathrm{relu}(W [h_A, h_X] + h_A + h_X)\bigr), \quad
              h_A = \mathrm{MLP}_A(A), \quad h_X = \mathrm{MLP}_X(X)

    The adjacency is a table of features, one column per vertex: the weights belong to the graph
    they were learned on. Sparse features are made dense for its MLP.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="linkx@hidden_size=32", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, graph: Graph, generator: Draws) -> None:
        config = self.config
        with drawing_from(generator):
            self.network = pyg_nn().LINKX(
                graph.n_vertices,
                graph.n_features,
                config.hidden_size,
                graph.n_classes,
                num_layers=config.n_layers,
                dropout=config.dropout,
            )

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        adjacency = edges_to_csr(self.edges, self.weights, operator.n)
        with drawing_from(generator):
            return self.network(to_dense(x), adjacency)
