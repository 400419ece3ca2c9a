"""FSGNN (Maurya et al. 2021): hops of features, each with its own weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.models.base import ModelConfig
from graphfilter.models.hops import encode_hops, make_hops, multiplied_hops, weigh_hops
from graphfilter.models.layers import Draws, Generators, Input, Linear
from graphfilter.operators import Operator
from graphfilter.util.errors import check_name
from graphfilter_research.peers.pieces import DegreeNetwork

DECAYED = ("both", "encoder", "head")


@dataclass(frozen=True)
class FSGNNConfig(ModelConfig):
    """Of :class:`FSGNN`.

    Parameters
    ----------
    dropout : float
        On the input of the head.
    n_hops, hidden_size : int
    unit_hops : bool
        Whether each row of a hop's hidden columns is scaled to unit length.
    decayed : {'both', 'encoder', 'head'}
        Which linear layers weight decay is on: its authors have a rate for each.
    """

    n_hops: int = 3
    hidden_size: int = 64
    unit_hops: bool = True
    decayed: str = "both"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("decayed layers", self.decayed, DECAYED)


class FSGNN(DegreeNetwork[FSGNNConfig], config=FSGNNConfig):
    r"""*Simplifying approach to Node Classification in Graph Neural Networks* (2021).

    .. math:: \hat y = \mathrm{relu}\bigl([s_0 U_0, s_1 U_1, \dots]\bigr) W + b, \qquad
              U_i = \mathrm{unit}(X_i W_i + b_i), \quad s = \mathrm{softmax}(a)

    over :math:`X_i \in \{X, \hat A X, \tilde A X, \dots, \hat A^K X, \tilde A^K X\}`, hops without
    and with self loops. From the authors' code (sunilkmaurya/FSGNN: model.py, node_class.py); they
    multiply features beforehand, here their projections are multiplied, which is the same:
    :math:`(P^k X) W = P^k (X W)`. They keep the directions of links, which this does not.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="fsgnn@n_hops=2", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    encoders: nn.ModuleList
    scores: nn.Parameter
    head: Linear

    def make_layers(self, graph: Graph, generator: Draws) -> None:
        # X, then the hops without self loops, then those with.
        n_parts = 2 * self.config.n_hops + 1
        make_hops(self, graph.n_features, graph.n_classes, n_parts, generator)

    def filter_parameters(self) -> list[nn.Parameter]:
        return [self.scores]

    def undecayed_parameters(self) -> list[nn.Parameter]:
        apart = {"both": [], "encoder": [self.head], "head": [self.encoders]}
        return [p for module in apart[self.config.decayed] for p in module.parameters()]

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[FSGNN], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        first = models[0]
        width, n_hops = first.config.hidden_size, first.config.n_hops
        parts = [width, n_hops * width, n_hops * width]
        own, plain, looped = encode_hops(models, x).split(parts, dim=2)
        root = first.inverse_degrees().sqrt()

        def without_loops(y: Tensor) -> Tensor:
            return root * first.sum(operator, root * y)

        spread = [
            own,
            *multiplied_hops(plain, width, without_loops),
            *multiplied_hops(looped, width, operator.__matmul__),
        ]
        return weigh_hops(models, spread, generators, unit=first.config.unit_hops)
