"""ChebNet (Defferrard et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.models.base import ModelConfig
from graphfilter.models.layers import Draws, Input, drop
from graphfilter.operators import Operator
from graphfilter_research.peers.pyg import EdgeNetwork, drawing_from, pyg_nn, to_dense


@dataclass(frozen=True)
class ChebNetConfig(ModelConfig):
    """Of :class:`ChebNet`.

    Parameters
    ----------
    hidden_size : int
    n_terms : int
        K, the number of Chebyshev polynomials: K - 1 is the degree.
    dropout : float
        On the input of both layers.
    """

    hidden_size: int = 16
    n_terms: int = 3


class ChebNet(EdgeNetwork[ChebNetConfig], config=ChebNetConfig):
    r"""*Convolutional Neural Networks on Graphs with Fast Localized Spectral Filtering* (2016).

    .. math:: H_{\ell+1} = \mathrm{relu}\Bigl(\sum_{k<K} T_k(L - I)\, H_\ell W_{\ell k}
              + b_\ell\Bigr)

    two layers of PyTorch Geometric's ``ChebConv``, with :math:`\lambda_{\max} = 2`. The layer
    makes its own Laplacian on every call, so it gets the plain graph, and it propagates
    before it projects, so sparse features are made dense.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="chebnet@n_terms=2", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, graph: Graph, generator: Draws) -> None:
        config = self.config
        with drawing_from(generator):
            self.first = pyg_nn().ChebConv(graph.n_features, config.hidden_size, config.n_terms)
            self.second = pyg_nn().ChebConv(config.hidden_size, graph.n_classes, config.n_terms)

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        rate = self.rate
        hidden = drop(to_dense(x), rate, generator)
        hidden = torch.relu(self.first(hidden, self.edges, self.weights, lambda_max=2.0))
        hidden = drop(hidden, rate, generator)
        return self.second(hidden, self.edges, self.weights, lambda_max=2.0)
