"""GloGNN (Li et al. 2022): every vertex sees every other one, in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.models.base import ModelConfig
from graphfilter.models.layers import Draws, Generators, Input, Linear, linear_side_by_side
from graphfilter.operators import Operator
from graphfilter.util.errors import ConfigError
from graphfilter_research.peers.pieces import DegreeNetwork, dropped, stacked


@dataclass(frozen=True)
class GloGNNConfig(ModelConfig):
    r"""Of :class:`GloGNN`.

    Parameters
    ----------
    dropout : float
        On the input of the head.
    hidden_size, n_layers, n_hops : int
        Columns of the MLP, times that all vertices are seen, and powers of the adjacency.
    alpha, beta : float
        How much the coefficients shall be small, and near the powers of the adjacency.
    gamma : float
        How much of the MLP's answer each layer keeps, in [0, 1).
    delta : float
        How much of the first layer is of features, in [0, 1]; the rest is of links.
    """

    hidden_size: int = 64
    n_layers: int = 2
    n_hops: int = 2
    alpha: float = 0.0
    beta: float = 1.0
    gamma: float = 0.0
    delta: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0 <= self.gamma < 1 and 0 <= self.delta <= 1 and self.alpha + self.beta > 0):
            raise ConfigError(
                "gamma must be in [0, 1), delta in [0, 1] and alpha + beta positive; got "
                f"gamma={self.gamma}, delta={self.delta}, alpha={self.alpha}, beta={self.beta}."
            )


class GloGNN(DegreeNetwork[GloGNNConfig], config=GloGNNConfig):
    r"""*Finding Global Homophily in Graph Neural Networks When Meeting Heterophily* (ICML 2022).

    .. math:: H_{\ell+1} = (1 - \gamma) Z_\ell H_\ell + \gamma H_0, \qquad
              Z_\ell = \bigl((1-\gamma) H_\ell H_\ell^\top + \beta \sum_k \lambda_k M^k
              - \gamma (1-\gamma) H_0 H_\ell^\top\bigr) \bigl((1-\gamma)^2 H_\ell H_\ell^\top +
              (\alpha + \beta) I\bigr)^{-1}

    on the outputs :math:`H_0` of an MLP of features and links, with :math:`M = (D+I)^{-1}(A+I)`.
    Z has an entry for every pair of vertices and is never made: by Woodbury's identity the
    inverse is one of C × C. From the authors' code (RecklessRonan/GloGNN: small-scale/main.py,
    norm_func1 and order_func2). It drops the features to no effect, so that here only the head's
    input is dropped.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="glognn@n_hops=4", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, graph: Graph, generator: Draws) -> None:
        config = self.config
        self.encoder = Linear(graph.n_features, config.hidden_size, generator)
        if config.delta < 1:
            self.links = Linear(graph.n_vertices, config.hidden_size, generator)
        self.head = Linear(config.hidden_size, graph.n_classes, generator)
        self.hops = nn.Parameter(torch.full((config.n_hops,), 1 / config.n_hops))

    def can_be_replayed(self, n_runs: int, operator: Operator, x: Input) -> bool:
        """Return False: the inverse of a matrix may wait for the device."""
        return False

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[GloGNN], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        first, still = models[0], [None] * len(models)
        config = first.config
        hidden = linear_side_by_side([m.encoder for m in models], x, 0.0, still)
        if config.delta < 1:
            links = [m.links for m in models]
            weights = stacked(links, "weight").transpose(0, 1).contiguous()
            seen = first.mean(operator, weights) + stacked(links, "bias")
            hidden = config.delta * hidden + (1 - config.delta) * seen
        hidden = dropped(torch.relu(hidden), first.rate, generators)
        start = linear_side_by_side([m.head for m in models], hidden, 0.0, still)
        weights, hidden = stacked(models, "hops"), start
        for _ in range(config.n_layers):
            hidden = first.see_all(operator, hidden, start, weights)
        return hidden

    def see_all(self, operator: Operator, x: Tensor, start: Tensor, hops: Tensor) -> Tensor:
        """Return the next layer of columns (n, R, C); ``hops`` are the weights (R, K)."""
        config = self.config
        kept, small = 1 - config.gamma, 1 / (config.alpha + config.beta)
        columns = x.transpose(0, 1)
        gram = columns.transpose(1, 2) @ columns
        eye = torch.eye(gram.shape[1], dtype=torch.float64, device=gram.device)
        inverse = torch.linalg.inv(eye / kept**2 + small * gram.double()).to(gram.dtype)
        # The inverse above times H, by Woodbury: (n, R, C).
        solved = kept * small * (columns - small * columns @ (inverse @ gram))
        both = columns.transpose(1, 2) @ solved
        near, power = torch.zeros_like(x), solved.transpose(0, 1).contiguous()
        for k in range(config.n_hops):
            power = self.mean(operator, power)
            near = near + hops[:, k, None] * power
        far = (kept * (columns - config.gamma * start.transpose(0, 1)) @ both).transpose(0, 1)
        return far + config.beta * near + config.gamma * start
