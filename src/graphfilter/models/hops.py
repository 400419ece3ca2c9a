"""HopNetwork: a perceptron on features that were averaged over neighbours beforehand.

ToldHops: the same, and then another one that is told what is known of the neighbours.

WeightedHops: hops of features, each with its own layer, joined by learned weights.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
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
from graphfilter.operators.kernels import make_kernel
from graphfilter.operators.polynomial import COLUMNS, stack_powers
from graphfilter.util.errors import GraphError
from graphfilter.util.machine import blocks

__all__ = [
    "HopNetwork",
    "HopNetworkConfig",
    "ToldHops",
    "ToldHopsConfig",
    "WeightedHops",
    "WeightedHopsConfig",
]

# Bytes of hops that are read at a time. Not by the memory there is: the same seed must give the
# same batches on every machine.
READ_BYTES = 1 << 25
# Bytes that are held of the vertices read at a time, and of each vertex.
READING, PER_VERTEX = 4 * READ_BYTES, 40
# Epochs after which what is foretold of others is worth being told, at least.
FIRST_EPOCHS = 6
# Vertices that are answered for at a time, and those that scales are chosen by.
ANSWERED, SCALED = 1 << 13, 1 << 10


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

    def memory(self, sizes: Sizes) -> Working:
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
        for here, part in self.groups(operator, hops):
            logits[here] = part
        return logits

    def groups(self, operator: Operator, hops: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Yield the logits of some vertices after others, and which they are."""
        for here in blocks(len(hops), min(self.rows_at_once, ANSWERED)):
            yield here, self.rows(hops[here])

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
        return self.answer([layer(hops[:, k]) for k, layer in enumerate(self.encoders)], generator)

    def answer(self, hidden: Sequence[Tensor], generator: Draws = None) -> Tensor:
        """Return the logits of what each hop's layer gives."""
        return self.head(
            torch.cat([*hidden], dim=1).relu_(), dropout=self.rate, generator=generator
        )


@dataclass(frozen=True)
class ToldHopsConfig(HopNetworkConfig):
    """Of :class:`ToldHops`.

    Parameters
    ----------
    dropout : float
        On hidden layers.
    n_hops, hidden_size, batch_size : int
        As of a :class:`HopNetworkConfig`.
    first_steps : int
        Steps after which the first network is done, in whole epochs, and at least in
        :data:`FIRST_EPOCHS`.
    """

    recognises: ClassVar[bool] = True

    dropout: float = 0.3
    first_steps: int = 320

    def memory(self, sizes: Sizes) -> Working:
        working = super().memory(sizes)
        told = 16 * sizes.n_vertices * (sizes.n_classes + 1)
        return replace(working, hidden=working.hidden + told)

    def untold(self) -> HopNetworkConfig:
        """Return what a network of 0.2 of the same name was."""
        return HopNetworkConfig(self.dropout, self.n_hops, self.hidden_size, self.batch_size)


class ToldHops(HopNetwork, config=ToldHopsConfig):
    r"""Hops on one scale, then a second network that is told what is known of the neighbours.

    .. math:: \hat y = g(x, \; \log d, \; d^{-1/2} A \, q)

    where :math:`q_u` is the label of u where it was told, and :math:`f(P^k x)_u` elsewhere.

    The first network f is a :class:`HopNetwork` whose hops have mean 0, and the deviation that
    their column has before it is averaged, which takes most of it away. Once it has trained for a
    while it stays as it is, and says what the vertices are whose label is not known. The second
    one g sees a vertex by itself and the sum of what its neighbours are (Huang et al. 2021,
    *Combining Label Propagation and Simple Models*; Sun et al. 2021, *Scalable and Adaptive Graph
    Neural Networks*). No vertex is its own neighbour, and what f says of others does not depend
    on a label that g is to find, other than by its weights: a vertex never sees its own label.
    Where validation vertices say that the first was better alone, it answers.

    Shapes
    ------
    x : (n, d), or the hops (n, K + 1, d);  output : (n, n_classes)

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="hop-mlp@first_steps=20", max_epochs=40, random_state=0)
    >>> clf.fit(graph=g).predict_proba().shape
    (34, 2)
    """

    shift: Tensor
    scale: Tensor
    told_shift: Tensor
    told_scale: Tensor
    told_rows: Tensor
    told_values: Tensor
    link: Tensor
    begun: Tensor

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        super().make_layers(n_features, n_classes, generator)
        width, n_in = self.config.hidden_size, n_features + n_classes + 1
        sizes = [n_in, n_classes] if width is None else [n_in, width, n_classes]
        self.second = nn.ModuleList(Linear(n, m, generator) for n, m in pairwise(sizes))
        shape = self.config.n_hops + 1, n_features
        for name, made in {
            "shift": torch.zeros(shape),
            "scale": torch.ones(shape),
            "told_shift": torch.zeros(n_classes + 1),
            "told_scale": torch.ones(n_classes + 1),
            "told_rows": torch.zeros(0, dtype=torch.int64),
            "told_values": torch.zeros(0, n_classes),
            # Of logits: 0 to shares of classes, 1 to those of labels, 2 to numbers.
            "link": torch.zeros(1, dtype=torch.int8),
            # Whether the second network answers.
            "begun": torch.zeros(1, dtype=torch.int8),
        }.items():
            self.register_buffer(name, made)

    def first_epochs(self, n_steps: int) -> int:
        """Return how many epochs of so many steps the first network trains."""
        assert isinstance(self.config, ToldHopsConfig)
        return max(FIRST_EPOCHS, -(-self.config.first_steps // n_steps))

    def tell(self, targets: Tensor, rows: Tensor) -> None:
        self.told_rows = rows.sort().values
        self.told_values = values = targets[self.told_rows].to(self.head.weight)
        marks = bool(((values == 0) | (values == 1)).all())
        one_each = marks and bool((values.sum(dim=1) == 1).all())
        self.link.fill_(0 if one_each else 1 if marks else 2)

    def recognising(self, numbers: NDArray[np.int64]) -> Self:
        made, rows = copy.deepcopy(self), self.told_rows.cpu().numpy()
        here = np.flatnonzero(np.isin(numbers, rows))
        place = torch.from_numpy(np.searchsorted(rows, numbers[here])).to(self.told_rows.device)
        made.told_rows = torch.from_numpy(here).to(self.told_rows.device)
        made.told_values = self.told_values[place]
        return made

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Take what is told of any number of vertices."""
        rows, values = state_dict.get("told_rows"), state_dict.get("told_values")
        if rows is not None and values is not None:
            if rows.ndim != 1 or (rows.diff() <= 0).any() or (rows < 0).any():
                raise ValueError("told_rows must be the numbers of vertices, in their order")
            if values.shape != (len(rows), self.told_values.shape[1]):
                raise ValueError("told_values must have a row per vertex and a column per output")
            if len(rows) != len(self.told_rows):
                self.told_rows = self.told_rows.new_zeros(rows.shape)
                self.told_values = self.told_values.new_zeros(values.shape)
        return super().load_state_dict(state_dict, strict, assign)

    def standardise(self, hops: Tensor, train: Tensor) -> None:
        """Choose the scale of each hop by training vertices."""
        mean = square = torch.zeros(hops.shape[1:], dtype=torch.float64)
        for rows in (groups := train.split(min(self.rows_at_once, SCALED))):
            mean = mean + hops[rows].double().sum(dim=0) / len(train)
        for rows in groups:
            square = square + hops[rows].double().sub_(mean).square_().sum(dim=0)
        deviation = (square / len(train)).sqrt()
        own = deviation[:1]
        # What does not vary, but by rounding, is left as it is.
        varies = (deviation > 1e-6 * own) & (own > 0)
        self.shift.copy_(mean)
        self.scale.copy_(torch.where(varies, deviation / own, 1.0))

    def begin_second(self, operator: Operator, hops: Tensor, train: Tensor) -> Tensor:
        """Leave the first network as it is; return what the second is told (n, n_classes + 1)."""
        told = self.around(operator, hops)
        if not self.begun:
            known = told[train.to(told.device)].double()
            self.told_shift.copy_(known.mean(dim=0))
            deviation = known.std(dim=0, correction=0)
            self.told_scale.copy_(torch.where(deviation > 1e-6, deviation, 1.0))
            self.begun.fill_(1)
        return told

    def around(self, operator: Operator, hops: Tensor) -> Tensor:
        """Return what is known or foretold of neighbours, and their number (n, n_classes + 1)."""
        n, weight = len(hops), self.head.weight
        answers = (partial(torch.softmax, dim=1), torch.sigmoid, torch.Tensor.clone)[int(self.link)]
        if len(self.told_rows) and int(self.told_rows[-1]) >= n:
            raise GraphError(
                f"this network was told the labels of more vertices than the {n:,} of the graph; "
                "use `recognising` to say which of them are the same."
            )
        said = weight.new_ones(n, weight.shape[1] + 1)
        with torch.no_grad():
            for here, logits in super().groups(operator, hops):
                said[here, :-1] = answers(logits)
            said[self.told_rows, :-1] = self.told_values
            # Without loops: no vertex is told of itself.
            links = replace(operator.factors()[0], scale=None, diagonal=None, sign=1.0)
            said = said.to(operator.dtype)
            sums = make_kernel(links, operator.dtype).multiply(said, out=torch.empty_like(said))
            degrees = torch.where(sums[:, -1:] > 0, sums[:, -1:], 1.0)
            sums[:, :-1] *= degrees.rsqrt()
            sums[:, -1:] = degrees.log()
        return sums.to(weight)

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        if self.training and self.begun:
            hops = self.hops(operator, x)
            return self.knowing(hops, self.around(operator, hops), generator)
        return super().forward(operator, x, generator)

    def groups(self, operator: Operator, hops: Tensor) -> Iterator[tuple[slice, Tensor]]:
        if not self.begun:
            yield from super().groups(operator, hops)
            return
        told = self.around(operator, hops)
        for here in blocks(len(hops), min(self.rows_at_once, ANSWERED)):
            yield here, self.knowing(hops[here], told[here])

    def rows(self, hops: Tensor, generator: Draws = None) -> Tensor:
        hops = hops.to(self.head.weight)
        if not self.encoders:
            return self.head(((hops - self.shift) / self.scale).flatten(1))
        hidden: list[Tensor] = []
        for k, layer in enumerate(self.encoders):
            # The layer is scaled, which is smaller than the hop.
            assert isinstance(layer, Linear)
            weight = layer.weight / self.scale[k, :, None]
            hidden.append(torch.addmm(layer.bias - self.shift[k] @ weight, hops[:, k], weight))
        return self.answer(hidden, generator)

    def knowing(self, hops: Tensor, told: Tensor, generator: Draws = None) -> Tensor:
        """Return the logits of the second network from hops and what is told of neighbours."""
        own = (hops[:, 0].to(self.head.weight) - self.shift[0]) / self.scale[0]
        hidden = torch.cat([own, (told - self.told_shift) / self.told_scale], dim=1)
        *inner, last = self.second
        for layer in inner:
            hidden = torch.relu(layer(hidden))
        return last(hidden, dropout=self.rate, generator=generator)


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
