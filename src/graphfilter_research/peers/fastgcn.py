"""FastGCN (Chen et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from graphfilter.models.base import ModelConfig, SizedNetwork
from graphfilter.models.layers import Draws, Input, Linear
from graphfilter.operators import Operator


@dataclass(frozen=True)
class FastGCNConfig(ModelConfig):
    """Of :class:`FastGCN`.

    Parameters
    ----------
    hidden_size : int
    n_sampled : int
        Draws of the vertices that the second layer sees in a training step.
    dropout : float
        On the input of both layers.
    """

    dropout: float = 0.0
    hidden_size: int = 16
    n_sampled: int = 400


class FastGCN(SizedNetwork[FastGCNConfig], config=FastGCNConfig):
    r"""*FastGCN: Fast Learning with GCNs via Importance Sampling* (ICLR 2018), around a GCN.

    .. math:: H = \mathrm{relu}(P X W_1 + b_1), \qquad
              \hat y_v = \sum_{u \in S} \frac{P_{vu}}{t\, q_u} H_u W_2 + b_2

    In training t vertices S are drawn with replacement by :math:`q_u \propto \lVert P_{\cdot u}
    \rVert^2`, so that :math:`\hat y` is right on average; prediction sees every vertex. The first
    layer is exact, as the authors precompute it.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="fastgcn@n_sampled=100", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        config = self.config
        self.first = Linear(n_features, config.hidden_size, generator)
        self.second = Linear(config.hidden_size, n_classes, generator)

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        rate = self.rate
        columns = self.first(x, dropout=rate, generator=generator) - self.first.bias
        hidden = torch.relu(operator @ columns + self.first.bias)
        columns = self.second(hidden, dropout=rate, generator=generator) - self.second.bias
        if self.training:
            columns = columns * self.sampled(operator, generator)[:, None]
        return operator @ columns + self.second.bias

    def sampled(self, operator: Operator, generator: Draws) -> Tensor:
        """Return how often each vertex was drawn over how often it is on average: (n,)."""
        csr = operator.csr()
        squares = csr.values() ** 2
        columns = csr.col_indices().long()
        importance = squares.new_zeros(operator.n).index_add(0, columns, squares)
        share = importance / importance.sum()
        drawn = share.multinomial(self.config.n_sampled, replacement=True, generator=generator)
        counts = torch.bincount(drawn, minlength=operator.n).to(share.dtype)
        return counts / (self.config.n_sampled * share)
