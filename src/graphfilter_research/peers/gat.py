"""GAT (Veličković et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from graphfilter.models.base import ModelConfig, SizedNetwork
from graphfilter.models.layers import Draws, Input, drop
from graphfilter.operators import Operator
from graphfilter_research.peers.pyg import Projection, drawing_from, operator_edges, pyg_nn


@dataclass(frozen=True)
class GATConfig(ModelConfig):
    """Of :class:`GAT`.

    Parameters
    ----------
    hidden_size, n_heads : int
        Columns per head, and heads, of the first layer; the second has one head.
    dropout : float
        On the input of both layers and on the attention.
    """

    dropout: float = 0.6
    hidden_size: int = 8
    n_heads: int = 8

    @property
    def out_heads(self) -> int:
        """Heads of the second layer, whose mean is the answer."""
        return 1


@dataclass(frozen=True)
class VelickovicGATConfig(GATConfig):
    """Of :class:`VelickovicGAT`; ``n_out_heads`` heads in the second layer."""

    n_out_heads: int = 1

    @property
    def out_heads(self) -> int:
        return self.n_out_heads


class GAT(SizedNetwork[GATConfig], config=GATConfig):
    r"""*Graph Attention Networks* (ICLR 2018), two layers of PyTorch Geometric's ``GATConv``.

    .. math:: h_v' = \sum_{u : P_{vu} \ne 0} \alpha_{vu} W h_u, \qquad
              \alpha_{v\cdot} = \mathrm{softmax}_u\,
              \mathrm{leakyrelu}(a^\top W h_v + b^\top W h_u)

    Of the operator only its pattern counts; the weights are learned.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="gat@n_heads=4", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        config = self.config
        width = config.hidden_size * config.n_heads
        options = {"dropout": config.dropout, "add_self_loops": False}
        self.project = Projection(n_features, width, generator)
        with drawing_from(generator):
            self.first = pyg_nn().GATConv(
                width, config.hidden_size, heads=config.n_heads, **options
            )
            self.second = pyg_nn().GATConv(
                width, n_classes, heads=config.out_heads, concat=False, **options
            )
        # Its weights are those of `project`, which takes sparse features too.
        self.first.lin = nn.Identity()

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        rate = self.rate
        edges = operator_edges(operator)
        hidden = self.project(x, dropout=rate, generator=generator)
        with drawing_from(generator):
            hidden = nn.functional.elu(self.first(hidden, edges))
        hidden = drop(hidden, rate, generator)
        with drawing_from(generator):
            return self.second(hidden, edges)


class VelickovicGAT(GAT, config=VelickovicGATConfig):
    """GAT trained as its authors do: several heads may answer, and biases are not decayed.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="gat-authors@n_out_heads=8", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def undecayed_parameters(self) -> list[nn.Parameter]:
        return [p for name, p in self.named_parameters() if name.endswith("bias")]
