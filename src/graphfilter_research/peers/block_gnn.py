"""BlockGNN: classic aggregations in residual blocks (Platonov et al. 2023)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.models.base import ModelConfig
from graphfilter.models.layers import (
    Draws,
    Generators,
    Input,
    Linear,
    linear_side_by_side,
    matmul_side_by_side,
)
from graphfilter.operators import Operator
from graphfilter.util.errors import ConfigError, check_name
from graphfilter_research.peers.pieces import DegreeNetwork, Norm, attend, dropped, stacked

AGGREGATIONS = ("gcn", "sage", "gat", "gat-sep")


@dataclass(frozen=True)
class BlockGNNConfig(ModelConfig):
    """Of :class:`BlockGNN`.

    Parameters
    ----------
    dropout : float
        On the encoded features and on both linear layers of a block.
    aggregation : {'gcn', 'sage', 'gat', 'gat-sep'}
    n_layers, hidden_size, n_heads : int
    """

    dropout: float = 0.2
    aggregation: str = "gcn"
    n_layers: int = 5
    hidden_size: int = 512
    n_heads: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("aggregation", self.aggregation, AGGREGATIONS)
        if self.hidden_size % self.n_heads:
            raise ConfigError(
                f"hidden_size must be a multiple of n_heads; got {self.hidden_size} and "
                f"{self.n_heads}."
            )

    @property
    def attends(self) -> bool:
        return self.aggregation.startswith("gat")

    @property
    def keeps_apart(self) -> bool:
        """Whether a vertex's own columns stay beside its neighbours'."""
        return self.aggregation in ("sage", "gat-sep")


class _Block(nn.Module):
    """The weights of one block."""

    def __init__(self, config: BlockGNNConfig, generator: Draws) -> None:
        super().__init__()
        width = config.hidden_size
        self.norm = Norm("layer", width)
        if config.attends:
            self.project = Linear(width, width, generator)
            self.score_of = Linear(width, config.n_heads, generator)
            # One bias is enough for both.
            bound = 1 / math.sqrt(width)
            to = torch.empty(width, config.n_heads).uniform_(-bound, bound, generator=generator)
            self.score_to = nn.Parameter(to)
        self.first = Linear(width * (1 + config.keeps_apart), width, generator)
        self.second = Linear(width, width, generator)


class BlockGNN(DegreeNetwork[BlockGNNConfig], config=BlockGNNConfig):
    r"""*A critical look at the evaluation of GNNs under heterophily* (ICLR 2023).

    .. math:: H_{\ell+1} = H_\ell + \mathrm{MLP}_\ell\bigl(\mathrm{aggregate}(
              \mathrm{norm}(H_\ell))\bigr), \qquad \mathrm{MLP}(Z) = \mathrm{gelu}(Z W + b) V + c

    From the paper and its code (yandex-research/heterophilous-graphs: model.py, modules.py): layer
    norm before each block and before the head, an MLP after each aggregation, and a residual
    around both. 'gcn' multiplies with the normalised adjacency, 'sage' puts the mean of the
    neighbours beside the vertex, 'gat' attends to the neighbours and the vertex itself, 'gat-sep'
    to the neighbours alone, beside the vertex. 'gcn' and 'gat' want the augmented adjacency and
    the other two the adjacency; a vertex without neighbours then attends to itself.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="sage-blocks@n_layers=2", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, graph: Graph, generator: Draws) -> None:
        config = self.config
        self.encoder = Linear(graph.n_features, config.hidden_size, generator)
        self.blocks = nn.ModuleList(_Block(config, generator) for _ in range(config.n_layers))
        self.norm = Norm("layer", config.hidden_size)
        self.head = Linear(config.hidden_size, graph.n_classes, generator)

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[BlockGNN], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        first, still = models[0], [None] * len(models)
        rate = first.rate
        hidden = linear_side_by_side([m.encoder for m in models], x, 0.0, still)
        hidden = nn.functional.gelu(dropped(hidden, rate, generators))
        for blocks in zip(*(m.blocks for m in models), strict=True):
            normed = Norm.side_by_side([b.norm for b in blocks], hidden)
            seen = first.aggregate(operator, normed, blocks)
            inner = linear_side_by_side([b.first for b in blocks], seen, 0.0, still)
            inner = nn.functional.gelu(dropped(inner, rate, generators))
            new = linear_side_by_side([b.second for b in blocks], inner, 0.0, still)
            hidden = hidden + dropped(new, rate, generators)
        hidden = Norm.side_by_side([m.norm for m in models], hidden)
        return linear_side_by_side([m.head for m in models], hidden, 0.0, still)

    def aggregate(self, operator: Operator, x: Tensor, blocks: Sequence[_Block]) -> Tensor:
        """Return what the MLP of a block gets of (n, R, width)."""
        config, still = self.config, [None] * len(blocks)
        if config.aggregation == "gcn":
            return operator @ x
        if config.aggregation == "sage":
            # The operator is P = D^-1/2 A D^-1/2.
            root = self.degrees.sqrt()
            mean = self.inverse_degrees() * root * (operator @ (root * x))
            return torch.cat([x, mean], dim=2)
        x = linear_side_by_side([b.project for b in blocks], x, 0.0, still)
        of = linear_side_by_side([b.score_of for b in blocks], x, 0.0, still)
        to = matmul_side_by_side(x, stacked(blocks, "score_to"))
        heads = x.reshape(len(x), len(blocks) * config.n_heads, -1)
        seen = attend(operator, to.flatten(1), of.flatten(1), heads).reshape(x.shape)
        return torch.cat([x, seen], dim=2) if config.keeps_apart else seen
