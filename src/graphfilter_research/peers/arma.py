"""ARMA (Bianchi et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.models.base import ModelConfig
from graphfilter.models.layers import Draws, Input, drop
from graphfilter.operators import Operator
from graphfilter_research.peers.pyg import EdgeNetwork, drawing_from, pyg_nn, to_dense


@dataclass(frozen=True)
class ARMAConfig(ModelConfig):
    """Of :class:`ARMA`.

    Parameters
    ----------
    hidden_size, n_stacks, n_steps : int
        Columns of the hidden layer; K and T.
    dropout : float
        On the input of both layers.
    skip_dropout : float
        On the X of the skip connections.
    """

    hidden_size: int = 16
    n_stacks: int = 2
    n_steps: int = 1
    skip_dropout: float = 0.75


class ARMA(EdgeNetwork[ARMAConfig], config=ARMAConfig):
    r"""*Graph Neural Networks with Convolutional ARMA Filters* (2019), of ``ARMAConv`` layers.

    Each of K stacks approximates one pole of a rational filter by T steps,

    .. math:: \bar X^{(t+1)}_k = \sigma(\hat A \bar X^{(t)}_k W_k + X V_k), \qquad
              H = \frac1K \sum_k \bar X^{(T)}_k ,

    with :math:`\hat A = D^{-1/2} A D^{-1/2}`. ``ARMAConv`` always normalises what it is given:
    it gets the plain graph. Its skip connection needs X itself, so sparse features are made
    dense.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="arma@n_stacks=3", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, graph: Graph, generator: Draws) -> None:
        config = self.config
        with drawing_from(generator):
            self.first, self.second = (
                pyg_nn().ARMAConv(
                    n_in,
                    n_out,
                    num_stacks=config.n_stacks,
                    num_layers=config.n_steps,
                    # With one step there is no recurrence whose weights could be shared.
                    shared_weights=config.n_steps > 1,
                    dropout=config.skip_dropout,
                    act=act,
                )
                for n_in, n_out, act in (
                    (graph.n_features, config.hidden_size, nn.ReLU()),
                    (config.hidden_size, graph.n_classes, None),
                )
            )
        if config.n_steps == 1:
            # PyTorch Geometric makes the recurrent weights all the same; they would not train.
            for conv in (self.first, self.second):
                del conv.weight

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        rate = self.rate
        hidden = drop(to_dense(x), rate, generator)
        with drawing_from(generator):
            hidden = self.first(hidden, self.edges, self.weights)
        hidden = drop(hidden, rate, generator)
        with drawing_from(generator):
            return self.second(hidden, self.edges, self.weights)
