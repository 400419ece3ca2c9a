"""HopNetwork: a perceptron on features that were averaged over neighbours beforehand.

WeightedHops: hops of features, each with its own layer, joined by learned weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from graphfilter.data.store import KEPT_FROM_BYTES
from graphfilter.models.base import (
    SPARSE_VALUE,
    ModelConfig,
    SideBySide,
    SizedNetwork,
    Sizes,
    Working,
)
from graphfilter.models.layers import (
    Draws,
    Generators,
    Input,
    Linear,
    Weights,
    drop,
    linear_side_by_side,
)
from graphfilter.operators import Operator
from graphfilter.operators.polynomial import COLUMNS, stack_powers
from graphfilter.util.machine import blocks

__all__ = ["HopNetwork", "HopNetworkConfig", "WeightedHops", "WeightedHopsConfig"]

# Bytes of hops that are read at a time. Not by the memory there is: the same seed must give the
# same batches on every machine.
READ_BYTES = 1 << 25
# Bytes that are held of the vertices read at a time, and of each vertex.
READING, PER_VERTEX = 4 * READ_BYTES, 40


@dataclass(frozen=True)
class HopNetworkConfig(ModelConfig):
    """Of :class:`HopNetwork`.

    Parameters
    ----------
    dropout : float
        On features, the same ones at every hop of a vertex, and on the hidden layer.
    n_hops : int
        K; at 0 neighbours are not seen at all.
    hidden_size : int, optional
        Columns of each hop's hidden layer; None for a linear model.
    batch_size : int
        Vertices of a training step, at most.
    """

    least: ClassVar[Mapping[str, int]] = {"n_hops": 0}
    n_hops: int = 4
    hidden_size: int | None = 64
    batch_size: int = 512

    def memory(self, sizes: Sizes, available: int) -> Working:
        """Return what is taken for some vertices at a time; of a store, without pages.

        What is mapped from files the system takes back where it needs the memory.
        """
        n, d, n_parts = sizes.n_vertices, sizes.n_features, self.n_hops + 1
        width = d if self.hidden_size is None else self.hidden_size
        hops, own = 4 * n * n_parts * d, SPARSE_VALUE * sizes.n_values or 4 * n * d
        stored = sizes.stored
        return Working(
            hidden=max(8 * n * COLUMNS, READING) + n * (PER_VERTEX + 4 * sizes.n_classes),
            optimizer=16 * n_parts * (d * (self.hidden_size or 0) + width * sizes.n_classes),
            columns=self.hidden_size or 0,
            features=0 if stored else own + hops,
            kept=hops if stored and hops >= KEPT_FROM_BYTES else 0,
        )


class HopNetwork(SizedNetwork[HopNetworkConfig], config=HopNetworkConfig):
    r"""The graph first, then a perceptron: one hidden layer per hop, and one head.

    .. math:: \hat y = [H_0, \dots, H_K] W + b, \qquad
              H_k = \mathrm{relu}(P^k X W_k + b_k)

    The form of SIGN (Frasca et al. 2020, *Scalable Inception Graph Neural Networks*); SGC (Wu et
    al. 2019) keeps the last hop alone, GAMLP (Zhang et al. 2022) weighs the hops by attention.
    The hops :math:`P^k X` do not change in training, which therefore multiplies by no graph: it
    sees vertices one by one, in batches, and its memory does not grow with their number. A weight
    per hop, :math:`f(\lambda) = \sum_k w_k \lambda^k`, would be a filter to draw; layers of their
    own were more accurate, so there is no one filter.

    Shapes
    ------
    x : (n, d), or the hops (n, K + 1, d);  output : (n, n_classes)

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="hop-mlp@n_hops=2", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        config = self.config
        self.n_features = n_features
        self.encoders, width, n_parts = nn.ModuleList(), n_features, config.n_hops + 1
        if config.hidden_size is not None:
            width = config.hidden_size
            self.encoders.extend(Linear(n_features, width, generator) for _ in range(n_parts))
        self.head = Linear(n_parts * width, n_classes, generator)

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        """Return logits (n, n_classes); of hops, ``operator`` is not used."""
        hops = self.hops(operator, x)
        if self.training:
            return self.rows(hops, generator)
        # Not joined at the end: small results between large blocks leave holes in memory.
        logits = self.head.weight.new_empty(len(hops), self.head.weight.shape[1])
        for here in blocks(len(hops), self.rows_at_once):
            logits[here] = self.rows(hops[here])
        return logits

    def hops(self, operator: Operator, x: Input) -> Tensor:
        """Return the hops (n, K + 1, d) of features; hops as they are."""
        dense = x if isinstance(x, Tensor) else x.to_dense()
        return dense if dense.ndim == 3 else stack_powers(operator, dense, self.config.n_hops)

    @property
    def rows_at_once(self) -> int:
        """How many vertices are read at a time."""
        n_bytes = 4 * max(self.n_features, 1) * (self.config.n_hops + 1)
        return max(READ_BYTES // n_bytes, self.config.batch_size)

    def rows(self, hops: Tensor, generator: Draws = None) -> Tensor:
        """Return the logits of some vertices from their hops (m, K + 1, d), wherever those lie."""
        hops = hops.to(self.head.weight)
        if self.rate:
            hops = hops * drop(hops.new_ones(len(hops), 1, hops.shape[2]), self.rate, generator)
        if not self.encoders:
            return self.head(hops.flatten(1))
        hidden = [layer(hops[:, k]) for k, layer in enumerate(self.encoders)]
        return self.head(
            torch.relu(torch.cat(hidden, dim=1)), dropout=self.rate, generator=generator
        )


@dataclass(frozen=True)
class WeightedHopsConfig(ModelConfig):
    """Of :class:`WeightedHops`.

    Parameters
    ----------
    dropout : float
        On the input of the head.
    n_hops, hidden_size : int
    """

    # Above, it takes time and adds next to nothing (Cora, squirrel_filtered).
    most_vertices: ClassVar[float] = 1000

    n_hops: int = 3
    hidden_size: int = 64


class WeightedHops(
    SizedNetwork[WeightedHopsConfig], SideBySide[WeightedHopsConfig], config=WeightedHopsConfig
):
    r"""A layer for every hop, scaled to unit length, so that no hop drowns another.

    .. math:: \hat y = \mathrm{relu}\bigl([s_0 U_0, \dots, s_K U_K]\bigr) W + b, \qquad
              U_k = \mathrm{unit}(P^k X W_k + b_k), \quad s = \mathrm{softmax}(a)

    The form of FSGNN (Maurya et al. 2021), with the hops of one operator instead of two.
    Projections are multiplied, not features, which is the same: :math:`(P^k X) W = P^k (X W)`.

    Shapes
    ------
    x : (n, d);  output : (n, n_classes)

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> x = gf.operators.to_tensor(g.features)
    >>> gf.models.WeightedHops(34, 2)(gf.operators.adjacency(g), x).shape
    torch.Size([34, 2])
    """

    encoders: nn.ModuleList
    scores: nn.Parameter
    head: Linear

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        make_hops(self, n_features, n_classes, self.config.n_hops + 1, generator)

    def filter_parameters(self) -> list[nn.Parameter]:
        return [self.scores]

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[Any], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        width = models[0].config.hidden_size
        own, others = encode_hops(models, x).tensor_split((width,), dim=2)
        spread = [own, *multiplied_hops(others, width, operator.__matmul__)]
        return weigh_hops(models, spread, generators)


def make_hops(
    network: Any, n_features: int, n_classes: int, n_parts: int, generator: Draws
) -> None:
    """Make the layers of a network of so many hops: encoders, scores and head."""
    width = network.config.hidden_size
    network.encoders = nn.ModuleList(Linear(n_features, width, generator) for _ in range(n_parts))
    network.scores = nn.Parameter(torch.ones(n_parts))
    network.head = Linear(width * n_parts, n_classes, generator)


def encode_hops(models: Sequence[Any], x: Input) -> Tensor:
    """Return the projections X W_k of all hops, side by side: (n, R, n_parts · width)."""
    weights = [torch.cat([e.weight for e in model.encoders], dim=1) for model in models]
    joined = [Weights(weight, torch.zeros_like(weight[0])) for weight in weights]
    return linear_side_by_side(joined, x, 0.0, [None] * len(models))


def multiplied_hops(x: Tensor, width: int, multiply: Callable[[Tensor], Tensor]) -> list[Tensor]:
    """Multiply the k-th block of columns k times."""
    hops: list[Tensor] = []
    while x.shape[2]:
        x = multiply(x.contiguous())
        hops.append(x[:, :, :width])
        x = x[:, :, width:]
    return hops


def weigh_hops(
    models: Sequence[Any], spread: Sequence[Tensor], generators: Generators, *, unit: bool = True
) -> Tensor:
    """Return the logits (n, R, n_classes) of hops, (n, R, width) each."""
    biases = [torch.cat([encoder.bias for encoder in m.encoders]) for m in models]
    hidden = torch.cat(list(spread), dim=2) + torch.stack(biases)
    hidden = hidden.view(len(hidden), len(models), len(spread), -1)
    if unit:
        hidden = nn.functional.normalize(hidden, dim=3)
    scores = torch.stack([model.scores for model in models]).softmax(1)
    hidden = torch.relu(hidden * scores[..., None]).flatten(2)
    return linear_side_by_side([m.head for m in models], hidden, models[0].rate, generators)
