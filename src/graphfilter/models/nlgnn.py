"""NLGNN (Liu, Wang & Ji 2021)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphfilter.errors import check_name
from graphfilter.models.layers import Linear
from graphfilter.models.pyg import lend
from graphfilter.operators import Operator
from graphfilter.operators.sparse import SparseFeatures


class NLGNN(nn.Module):
    r"""*Non-Local Graph Neural Networks* (TPAMI 2021), with a GCN as the local part (NLGCN).

    .. math:: Z = P (\mathrm{relu}(P (X W_1 + b_1)) W_2 + b_2), \qquad a_v = c^\top z_v + c_0

    The vertices are put in the order of their attention a, so that those alike come near each
    other however far apart in the graph, two convolutions run over the sequence
    :math:`a_{(i)} z_{(i)}`, and the result goes back to its vertex:

    .. math:: \hat y_v = [z_v, \hat z_v]\, W + b, \qquad
              \hat z = \mathrm{conv}(\mathrm{relu}(\mathrm{conv}(a \odot z)))

    Parameters
    ----------
    n_features, n_classes : int
    hidden_size : int
    kernel_size : int
        Of the convolutions; odd.
    dropout : float
        On the input of the linear layers.
    local : {'gcn', 'mlp'}
        'mlp' leaves P out of Z (NLMLP).
    generator : torch.Generator, optional
        For the initial weights.
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        hidden_size: int = 48,
        kernel_size: int = 5,
        dropout: float = 0.5,
        local: str = "gcn",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.local = check_name("local part", local, ("gcn", "mlp"))
        self.first = Linear(n_features, hidden_size, generator)
        self.second = Linear(hidden_size, hidden_size, generator)
        self.calibrate = Linear(hidden_size, 1, generator)
        with lend(generator):
            self.convs = nn.ModuleList(
                nn.Conv1d(hidden_size, hidden_size, kernel_size, padding="same") for _ in range(2)
            )
        self.head = Linear(2 * hidden_size, n_classes, generator)

    def forward(
        self,
        operator: Operator,
        x: Tensor | SparseFeatures,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return logits (n, n_classes); ``generator`` draws the dropout."""
        rate = self.dropout if self.training else 0.0
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
        return operator @ columns if self.local == "gcn" else columns
