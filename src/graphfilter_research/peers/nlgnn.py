"""NLGNN (Liu, Wang & Ji 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfilter.models.base import ModelConfig, SizedNetwork
from graphfilter.models.layers import Draws, Input, Linear
from graphfilter.operators import Operator
from graphfilter.util.errors import check_name
from graphfilter_research.peers.pyg import drawing_from


@dataclass(frozen=True)
class NLGNNConfig(ModelConfig):
    """Of :class:`NLGNN`.

    Parameters
    ----------
    hidden_size : int
    kernel_size : int
        Of the convolutions; odd.
    dropout : float
        On the input of the linear layers.
    local : {'gcn', 'mlp'}
        'mlp' leaves P out of Z (NLMLP).
    """

    hidden_size: int = 48
    kernel_size: int = 5
    local: str = "gcn"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("local part", self.local, ("gcn", "mlp"))


class NLGNN(SizedNetwork[NLGNNConfig], config=NLGNNConfig):
    r"""*Non-Local Graph Neural Networks* (TPAMI 2021), with a GCN as the local part (NLGCN).

    .. math:: Z = P (\mathrm{relu}(P (X W_1 + b_1)) W_2 + b_2), \qquad a_v = c^\top z_v + c_0

    The vertices are put in the order of their attention a, so that similar ones are close to
    each other however far apart in the graph, two convolutions run over the sequence
    :math:`a_{(i)} z_{(i)}`, and the result goes back to its vertex:

    .. math:: \hat y_v = [z_v, \hat z_v]\, W + b, \qquad
              \hat z = \mathrm{conv}(\mathrm{relu}(\mathrm{conv}(a \odot z)))

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="nlgnn@kernel_size=3", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        config = self.config
        self.first = Linear(n_features, config.hidden_size, generator)
        self.second = Linear(config.hidden_size, config.hidden_size, generator)
        self.calibrate = Linear(config.hidden_size, 1, generator)
        with drawing_from(generator):
            self.convs = nn.ModuleList(
                nn.Conv1d(
                    config.hidden_size, config.hidden_size, config.kernel_size, padding="same"
                )
                for _ in range(2)
            )
        self.head = Linear(2 * config.hidden_size, n_classes, generator)

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        rate = self.rate
        hidden = self.first(x, dropout=rate, generator=generator)
        hidden = torch.relu(self._spread(operator, hidden))
        local = self._spread(operator, self.second(hidden, dropout=rate, generator=generator))
        columns = torch.cat([local, self.aggregate(local)], dim=1)
        return self.head(columns, dropout=rate, generator=generator)

    def aggregate(self, local: Tensor) -> Tensor:
        r"""Return :math:`\hat z`, the non-local part of every vertex."""
        attention = self.calibrate(local)
        order = attention.squeeze(1).argsort()
        sequence = (attention * local)[order].T[None]
        first, second = self.convs
        sorted_out = second(torch.relu(first(sequence)))[0].T
        return torch.empty_like(sorted_out).index_copy(0, order, sorted_out)

    def _spread(self, operator: Operator, columns: Tensor) -> Tensor:
        return operator @ columns if self.config.local == "gcn" else columns
