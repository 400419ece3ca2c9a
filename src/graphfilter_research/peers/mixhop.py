"""MixHop (Abu-El-Haija et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.models.base import ModelConfig
from graphfilter.models.layers import Draws, Input, Linear, drop
from graphfilter.operators import Operator
from graphfilter_research.peers.pyg import EdgeNetwork, drawing_from, edges_to_csr, pyg_nn, to_dense


@dataclass(frozen=True)
class MixHopConfig(ModelConfig):
    """Of :class:`MixHop`.

    Parameters
    ----------
    hidden_size : int
        Columns per power.
    n_layers : int
    dropout : float
        On the input of every layer.
    """

    hidden_size: int = 20
    n_layers: int = 2


class MixHop(EdgeNetwork[MixHopConfig], config=MixHopConfig):
    r"""*MixHop: Higher-Order Graph Convolutional Architectures* (ICML 2019).

    .. math:: H_{\ell+1} = \mathrm{relu}\bigl([H_\ell W_{\ell 0},\; P H_\ell W_{\ell 1},\;
              P^2 H_\ell W_{\ell 2}] + b_\ell\bigr)

    and a linear head. PyTorch Geometric's ``MixHopConv`` always normalises what it is given, to
    :math:`P = \tilde A`: it gets the plain graph, and propagates before it projects, so
    sparse features are made dense.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="mixhop@hidden_size=10", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, graph: Graph, generator: Draws) -> None:
        config = self.config
        width = 3 * config.hidden_size
        with drawing_from(generator):
            self.convs = nn.ModuleList(
                pyg_nn().MixHopConv(n_in, config.hidden_size, powers=[0, 1, 2])
                for n_in in [graph.n_features] + [width] * (config.n_layers - 1)
            )
        self.head = Linear(width, graph.n_classes, generator)

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        rate = self.rate
        adjacency = edges_to_csr(self.edges, self.weights, operator.n)
        hidden = to_dense(x)
        # Its normalisation makes sparse tensors and does not set whether to check them: we do.
        with torch.sparse.check_sparse_tensor_invariants(False):
            for conv in self.convs:
                hidden = torch.relu(conv(drop(hidden, rate, generator), adjacency))
        return self.head(hidden, dropout=rate, generator=generator)
