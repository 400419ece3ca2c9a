"""FSGNN (Maurya et al. 2021): hops of features, each with its own weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from graphfilter.errors import check_name
from graphfilter.graph import Graph
from graphfilter.models.base import ModelConfig
from graphfilter.models.layers import (
    Draws,
    Generators,
    Input,
    Linear,
    Weights,
    linear_side_by_side,
)
from graphfilter.models.peers.neighbours import DegreeNetwork
from graphfilter.models.peers.pieces import dropped, stacked
from graphfilter.operators import Operator

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

    def make_layers(self, graph: Graph, generator: Draws) -> None:
        config = self.config
        width, n_parts = config.hidden_size, 2 * config.n_hops + 1
        # X, then the hops without self loops, then those with.
        self.encoders = nn.ModuleList(
            Linear(graph.n_features, width, generator) for _ in range(n_parts)
        )
        self.scores = nn.Parameter(torch.ones(n_parts))
        self.head = Linear(width * n_parts, graph.n_classes, generator)

    def filter_parameters(self) -> list[nn.Parameter]:
        return [self.scores]

    def undecayed_parameters(self) -> list[nn.Parameter]:
        apart = {"both": [], "encoder": [self.head], "head": [self.encoders]}
        return [p for module in apart[self.config.decayed] for p in module.parameters()]

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[FSGNN], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        first, still = models[0], [None] * len(models)
        config = first.config
        width, n_hops = config.hidden_size, config.n_hops
        joined = [_without_bias(m.encoders) for m in models]
        parts = linear_side_by_side(joined, x, 0.0, still)
        own, plain, looped = parts.split([width, n_hops * width, n_hops * width], dim=2)
        root = first.inverse_degrees().sqrt()

        def without_loops(y: Tensor) -> Tensor:
            return root * first.sum(operator, root * y)

        spread = [
            own,
            *_hops(plain, width, without_loops),
            *_hops(looped, width, operator.__matmul__),
        ]
        hidden = torch.cat(spread, dim=2) + torch.stack([_biases(m.encoders) for m in models])
        hidden = hidden.view(len(hidden), len(models), 2 * n_hops + 1, width)
        if config.unit_hops:
            hidden = nn.functional.normalize(hidden, dim=3)
        hidden = torch.relu(hidden * stacked(models, "scores").softmax(1)[..., None])
        hidden = dropped(hidden.flatten(2), first.rate, generators)
        return linear_side_by_side([m.head for m in models], hidden, 0.0, still)


def _hops(x: Tensor, width: int, multiply: Callable[[Tensor], Tensor]) -> list[Tensor]:
    """Multiply the k-th block of columns k times."""
    hops: list[Tensor] = []
    while x.shape[2]:
        x = multiply(x.contiguous())
        hops.append(x[:, :, :width])
        x = x[:, :, width:]
    return hops


def _without_bias(encoders: Iterable[Any]) -> Weights:
    weight = torch.cat([encoder.weight for encoder in encoders], dim=1)
    return Weights(weight, torch.zeros_like(weight[0]))


def _biases(encoders: Iterable[Any]) -> Tensor:
    return torch.cat([encoder.bias for encoder in encoders])
