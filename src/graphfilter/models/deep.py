"""DeepNetwork: what networks of many layers of one width share.

MixedNetwork: low and high frequencies, own features and links, mixed by each vertex.

NormedNetwork: layers of the graph whose columns have the same spread over all vertices.

ResidualNetwork: a deep network of the graph, whose layers add to what is there.

ToldNetwork: a network that also sees which labels are known around a vertex.
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphfilter.models.base import ModelConfig, SideBySide, SizedNetwork
from graphfilter.models.layers import (
    Draws,
    Generators,
    Input,
    Linear,
    Weights,
    linear_side_by_side,
    matmul_side_by_side,
)
from graphfilter.operators import Operator
from graphfilter.operators.kernels.native_residual import residual, takes_residual
from graphfilter.operators.sparse import Drawn, draw
from graphfilter.util.errors import ConfigError, GraphError

__all__ = [
    "MixedConfig",
    "MixedNetwork",
    "NormedConfig",
    "NormedNetwork",
    "ResidualConfig",
    "ResidualNetwork",
    "ToldConfig",
    "ToldNetwork",
]


@dataclass(frozen=True)
class DeepConfig(ModelConfig):
    """Of a :class:`DeepNetwork`."""

    n_layers: int = 6
    hidden_size: int = 64


DeepT = TypeVar("DeepT", bound=DeepConfig, covariant=True)


class DeepNetwork(SizedNetwork[DeepT], SideBySide[DeepT]):
    """Encoder, layers of one width, head; the weights of all layers are one tensor.

    Attributes
    ----------
    n_parts : int
        How many times its width a layer reads: (n_layers, n_parts · width, width) are the weights.
    spread : float
        Weights start uniform in ±√(spread / width).
    """

    n_parts: ClassVar[int]
    spread: ClassVar[float]

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        width = self.config.hidden_size
        self.encoder = Linear(n_features, width, generator)
        bound = math.sqrt(self.spread / width)
        weights = torch.empty(self.config.n_layers, self.n_parts * width, width)
        self.weights = nn.Parameter(weights.uniform_(-bound, bound, generator=generator))
        self.head = Linear(width, n_classes, generator)

    @classmethod
    def forward_side_by_side(
        cls,
        models: Sequence[Any],
        operator: Operator,
        x: Input,
        generators: Generators,
        added: Tensor | None = None,
    ) -> Tensor:
        """Return the logits (n, R, n_classes); ``added`` (n, R, width) joins encoded columns."""
        rate = models[0].rate
        hidden = linear_side_by_side([m.encoder for m in models], x, rate, generators, relu=True)
        hidden = hidden if added is None else hidden + added
        weights = torch.stack([model.weights for model in models], dim=1)
        hidden = cls.apply_layers(models, operator, hidden, weights, generators)
        return linear_side_by_side([m.head for m in models], hidden, rate, generators)

    @classmethod
    @abstractmethod
    def apply_layers(
        cls,
        models: Sequence[Any],
        operator: Operator,
        hidden: Tensor,
        weights: Tensor,
        generators: Generators,
    ) -> Tensor:
        """Return what the layers make of encoded columns.

        Shapes
        ------
        hidden, output : (n, R, width);  weights : (n_layers, R, n_parts · width, width)
        """


@dataclass(frozen=True)
class MixedConfig(ModelConfig):
    """Of :class:`MixedNetwork`.

    Parameters
    ----------
    dropout : float
        On the features and the hidden columns; not on links.
    hidden_size : int
    n_links : int
        How many of the columns, the last ones, say whom a vertex is connected to.
    """

    least: ClassVar[Mapping[str, int]] = {"n_links": 0}
    # Above, it takes time and adds little (Chameleon, Squirrel).
    most_vertices: ClassVar[float] = 1000

    dropout: float = 0.2
    hidden_size: int = 64
    n_links: int = 0


class _Layer(nn.Module):
    """The weights of one layer."""

    def __init__(self, n_in: int, n_out: int, n_links: int, generator: Draws) -> None:
        super().__init__()

        def drawn(*shape: int, fan: int) -> nn.Parameter:
            bound = 1 / math.sqrt(fan)
            return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))

        n_channels = 3 + bool(n_links)
        self.weight = drawn(n_in, 3 * n_out, fan=n_out)
        if n_links:
            self.links = drawn(n_links, n_out, fan=n_out)
        self.scores = drawn(n_channels, n_out, fan=1)
        self.mix = drawn(n_channels, n_channels, fan=n_channels)


class MixedNetwork(SizedNetwork[MixedConfig], SideBySide[MixedConfig], config=MixedConfig):
    r"""Two layers, in each of which every vertex weighs four channels for itself.

    .. math:: H' = \sum_c \mathrm{diag}(\alpha_c) H_c, \qquad
              H_L = \mathrm{relu}(M H W_L), \; H_H = \mathrm{relu}((I - M) H W_H), \;
              H_I = \mathrm{relu}(H W_I), \; H_S = \mathrm{relu}(A W_S)

    with :math:`\alpha = \mathrm{softmax}(\sigma([H_c w_c]_c) V / C)` for each vertex over its C
    channels; M takes averages (:meth:`~graphfilter.operators.Operator.average`). The form of
    ACM-GCN+ (Luan et al. 2022); the links A are columns beside the features, so that the network
    serves a graph that has grown. Without them there are three channels, and the sum is multiplied
    by 3.

    Shapes
    ------
    x : (n, d), the last ``n_links`` columns of which are links;  output : (n, n_classes)

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> operator = gf.operators.augmented_adjacency(g)
    >>> x = gf.operators.to_tensor(g.features)
    >>> gf.models.MixedNetwork(34, 2)(operator, x).shape
    torch.Size([34, 2])
    """

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        width, n_links = self.config.hidden_size, self.config.n_links
        if n_links > n_features:
            raise ConfigError(
                f"n_links must be at most the number of columns, {n_features}; got {n_links}."
            )
        self.first = _Layer(n_features - n_links, width, n_links, generator)
        self.second = _Layer(width, n_classes, n_links, generator)

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[MixedNetwork], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        first, links = models[0], None
        if n_links := first.config.n_links:
            if isinstance(x, Tensor):
                x, links = x[:, :-n_links].contiguous(), x[:, -n_links:].contiguous()
            else:
                x, links = x.parted(n_links)
        hidden = first.layer(operator, x, links, [m.first for m in models], generators)
        return first.layer(operator, hidden, links, [m.second for m in models], generators)

    def layer(
        self,
        operator: Operator,
        x: Input,
        links: Input | None,
        layers: Sequence[_Layer],
        generators: Generators,
    ) -> Tensor:
        """Apply R layers to the columns of each, or to features that all share."""
        made = linear_side_by_side(_weights(layers, "weight"), x, self.rate, generators)
        width = made.shape[2] // 3
        _, high, own = made.split(width, dim=2)
        smooth, rest = operator.average(made[:, :, : 2 * width]).split(width, dim=2)
        channels = [smooth, high - rest, own]
        if links is not None:
            still = [None] * len(layers)
            channels.append(linear_side_by_side(_weights(layers, "links"), links, 0.0, still))
        columns = torch.relu(torch.stack(channels, dim=2))
        scores, mix = (
            torch.stack([getattr(y, name) for y in layers]) for name in ("scores", "mix")
        )
        seen = torch.sigmoid((columns * scores).sum(3))
        mixed = torch.einsum("nrc,rcd->nrd", seen, mix) / len(channels)
        factor = 3.0 if links is None else 1.0
        return factor * (mixed.softmax(2)[..., None] * columns).sum(2)


def _weights(layers: Sequence[Any], name: str) -> list[Weights]:
    weights = [getattr(layer, name) for layer in layers]
    return [Weights(weight, torch.zeros_like(weight[0])) for weight in weights]


EPSILON = 1e-5
# How much of each epoch's mean and variance goes into those that predictions are made with.
MOMENTUM = 0.1


@dataclass(frozen=True)
class NormedConfig(DeepConfig):
    """See :class:`NormedNetwork`."""

    held: ClassVar[int] = 24
    # Of fewer vertices a column's mean and deviation say too little (Texas, Cornell).
    fewest_vertices: ClassVar[int] = 500

    dropout: float = 0.3


class NormedNetwork(DeepNetwork[NormedConfig], config=NormedConfig):
    r"""Layers that see a vertex and its neighbours apart, each followed by a batch norm.

    .. math:: H_{\ell+1} = \mathrm{drop}\bigl(\mathrm{relu}(\gamma_\ell\,
              \mathrm{norm}([H_\ell, P H_\ell] W_\ell) + \beta_\ell)\bigr)

    where norm gives every column mean 0 and deviation 1 over the vertices; predictions use running
    averages of both. The form of the GCN of Luo et al. (2024) with linear residuals. It makes other
    mistakes than :class:`ResidualNetwork`, whose norm is over the columns of a vertex.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> operator = gf.operators.augmented_adjacency(g)
    >>> x = gf.operators.to_tensor(g.features)
    >>> gf.models.NormedNetwork(34, 2, gf.models.NormedConfig(n_layers=2))(operator, x).shape
    torch.Size([34, 2])
    """

    n_parts: ClassVar[int] = 2
    spread: ClassVar[float] = 3.0

    mean: Tensor
    variance: Tensor

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        super().make_layers(n_features, n_classes, generator)
        shape = self.config.n_layers, self.config.hidden_size
        self.gains = nn.Parameter(torch.ones(shape))
        self.shifts = nn.Parameter(torch.zeros(shape))
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("variance", torch.ones(shape))

    @classmethod
    def apply_layers(
        cls,
        models: Sequence[NormedNetwork],
        operator: Operator,
        hidden: Tensor,
        weights: Tensor,
        generators: Generators,
    ) -> Tensor:
        first = models[0]
        gains, shifts = (
            torch.stack([getattr(m, name) for m in models], dim=1) for name in ("gains", "shifts")
        )
        shape = (len(weights), len(hidden), hidden.shape[2])
        drawn = draw(shape, first.rate, generators, hidden.device)
        if drawn is not None:  # What is kept is scaled up: relu takes no notice.
            gains, shifts = gains * drawn.scale, shifts * drawn.scale
        kept = None if drawn is None else drawn.kept()
        for layer, weight in enumerate(weights):
            made = matmul_side_by_side(torch.cat([hidden, operator @ hidden], dim=2), weight)
            if first.training:
                mask = None if kept is None else kept[:, layer].transpose(0, 1)
                hidden, mean, variance = _NormedLayer.apply(made, gains[layer], shifts[layer], mask)
                variance *= len(made) / max(len(made) - 1, 1)
                for run, model in enumerate(models):
                    model.mean[layer].lerp_(mean[run], MOMENTUM)
                    model.variance[layer].lerp_(variance[run], MOMENTUM)
            else:
                mean = torch.stack([model.mean[layer] for model in models])
                variance = torch.stack([model.variance[layer] for model in models])
                normed = (made - mean) * (variance + EPSILON).rsqrt()
                hidden = torch.relu(torch.addcmul(shifts[layer], gains[layer], normed))
        return hidden


class _NormedLayer(torch.autograd.Function):
    """Batch norm, relu and dropout of (n, R, c) in fewer passes than one by one.

    The bits do not depend on the number of threads, as those of torch's batch norm do.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, gains: Tensor, shifts: Tensor, kept: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        mean = x.mean(0)
        normed = x - mean
        variance = normed.square().mean(0)
        scale = (variance + EPSILON).rsqrt()
        normed *= scale
        out = torch.addcmul(shifts, gains, normed).relu_()
        if kept is not None:
            out *= kept
        ctx.save_for_backward(normed, out, gains * scale)
        ctx.mark_non_differentiable(mean, variance)
        return out, mean, variance

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        normed, out, scale = ctx.saved_tensors
        # What relu or dropout made zero has no gradient.
        grad = torch.ops.aten.threshold_backward(grad, out, 0.0)
        of_gains, of_shifts = (grad * normed).sum(0), grad.sum(0)
        n = len(grad)
        of_x = torch.addcmul(grad, normed, of_gains / n, value=-1).sub_(of_shifts / n).mul_(scale)
        return of_x, of_gains, of_shifts, None


@dataclass(frozen=True)
class ResidualConfig(DeepConfig):
    """See :class:`ResidualNetwork`."""

    held: ClassVar[int] = 41


class ResidualNetwork(DeepNetwork[ResidualConfig], config=ResidualConfig):
    r"""Layers that see a vertex and its neighbours apart and add to what is there.

    .. math:: H_{\ell+1} = H_\ell + \mathrm{relu}\bigl([N, P N] W_\ell + b_\ell\bigr), \qquad
              N = \mathrm{norm}(H_\ell)

    where norm gives every row mean 0 and deviation 1. Unlike a filter it is not linear between the
    layers: it can count, compare and combine the features of neighbours.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> operator = gf.operators.augmented_adjacency(g)
    >>> x = gf.operators.to_tensor(g.features)
    >>> gf.models.ResidualNetwork(34, 2, gf.models.ResidualConfig(n_layers=2))(operator, x).shape
    torch.Size([34, 2])
    """

    n_parts: ClassVar[int] = 2
    spread: ClassVar[float] = 0.5

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        super().make_layers(n_features, n_classes, generator)
        self.biases = nn.Parameter(torch.zeros(self.config.n_layers, self.config.hidden_size))

    @classmethod
    def apply_layers(
        cls,
        models: Sequence[ResidualNetwork],
        operator: Operator,
        hidden: Tensor,
        weights: Tensor,
        generators: Generators,
    ) -> Tensor:
        biases = torch.stack([m.biases for m in models], dim=1)
        shape = (len(weights), len(hidden), hidden.shape[2])
        drawn = draw(shape, models[0].rate, generators, hidden.device)
        return residual_layers(operator, hidden, weights, biases, drawn)


def residual_layers(
    operator: Operator, hidden: Tensor, weights: Tensor, biases: Tensor, drawn: Drawn | None
) -> Tensor:
    """Apply L layers to the columns of R runs, and norm their rows.

    Where it was compiled, every layer is one pass over the rows, and the gradient reads a tenth of
    what autograd would keep.

    Shapes
    ------
    hidden, output : (n, R, c);  weights : (L, R, 2 c, c);  biases : (L, R, c);  drawn : (L, n, c)
    """
    if takes_residual(operator.kernel, hidden):
        return residual(operator, hidden, weights, biases, drawn)
    width = hidden.shape[2]
    kept = None if drawn is None else drawn.kept()
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        normed = nn.functional.layer_norm(hidden, (width,))
        seen = torch.cat([normed, operator @ normed], dim=2)
        new = torch.relu(matmul_side_by_side(seen, weight) + bias)
        if kept is not None and drawn is not None:
            new = new * (kept[:, layer].transpose(0, 1) * drawn.scale)
        hidden = hidden + new
    return nn.functional.layer_norm(hidden, (width,))


# The share of known labels that are hidden in a training step, and of steps that hide them all.
HIDDEN = 0.5
ALL_HIDDEN = 1 / 3


@dataclass(frozen=True)
class ToldConfig(NormedConfig):
    """See :class:`ToldNetwork`."""

    recognises: ClassVar[bool] = True

    n_layers: int = 4


class ToldNetwork(NormedNetwork, config=ToldConfig):
    r"""A :class:`NormedNetwork` that is told the labels of its training vertices.

    .. math:: H_0 = \mathrm{relu}(X W + b) + L\, V

    where a row of L is what is known of a vertex: its class, its labels or its numbers, and that it
    is known; nothing of the others. So that it learns to answer for vertices whose own label it
    does not see, half of the labels, drawn anew, are hidden in each training step, and their
    vertices are those that it learns from (Shi et al. 2021, *Masked Label Prediction*). In a third
    of the steps all are hidden: it answers for a graph of which nothing is known, too.

    What it answers for a vertex that it was told of is what it says without that label: half of
    them are hidden in turn.

    Attributes
    ----------
    told : Tensor (n, n_classes + 2)
        What is known of each vertex of the graph, that it is, and whether it is in the second half
        of those that are; without rows where nothing is.

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> operator = gf.operators.augmented_adjacency(g)
    >>> x = gf.operators.to_tensor(g.features)
    >>> network = gf.models.ToldNetwork(34, 2, gf.models.ToldConfig(n_layers=2)).eval()
    >>> untold = network(operator, x)
    >>> one_hot = torch.nn.functional.one_hot(torch.tensor(g.labels))
    >>> network.tell(one_hot, rows=torch.tensor([0, 33]))
    >>> bool((network(operator, x) == untold).all())
    False
    """

    told: Tensor

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        super().make_layers(n_features, n_classes, generator)
        shape = n_classes + 1, self.config.hidden_size
        self.of_labels = nn.Parameter(torch.empty(shape).uniform_(-1, 1, generator=generator))
        self.register_buffer("told", torch.zeros(0, n_classes + 2, dtype=torch.float16))

    def tell(self, targets: Tensor, rows: Tensor) -> None:
        told = torch.zeros(len(targets), self.told.shape[1], device=self.told.device)
        told[rows, :-2] = targets[rows].to(told)
        told[rows, -2] = 1
        # The halves go with the vertices, into whatever order and graph.
        told[rows, -1] = (torch.arange(len(rows), device=rows.device) % 2).to(told)
        self.told = told.to(self.told.dtype)

    def recognising(self, numbers: NDArray[np.int64]) -> Self:
        made = copy.deepcopy(self)
        places = torch.from_numpy(numbers).to(self.told.device)
        made.told = self.told.new_zeros(len(numbers), self.told.shape[1])
        made.told[places >= 0] = self.told[places[places >= 0]]
        return made

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Take what is told of any number of vertices."""
        given = state_dict.get("told")
        if given is not None and given.ndim == 2 and given.shape[1] == self.told.shape[1]:
            self.told = self.told.new_zeros(given.shape)
        return super().load_state_dict(state_dict, strict, assign)

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        told = _told([self], operator)
        if self.training or told is None:
            return super().forward(operator, x, generator)
        known, second = (self.told[:, -2:] > 0).T
        answers = self.knowing([self], operator, x, [generator], told)[:, 0]
        for half in (second, known & ~second):
            others = told.masked_fill(half[:, None, None], 0)
            without = self.knowing([self], operator, x, [generator], others)[:, 0]
            answers = torch.where(half[:, None], without, answers)
        return answers

    @classmethod
    def forward_side_by_side(
        cls,
        models: Sequence[Any],
        operator: Operator,
        x: Input,
        generators: Generators,
        added: Tensor | None = None,
    ) -> Tensor:
        return cls.knowing(models, operator, x, generators, _told(models, operator))

    @classmethod
    def training_side_by_side(
        cls, models: Sequence[Any], operator: Operator, x: Input, generators: Generators
    ) -> tuple[Tensor, Tensor | None]:
        told = _told(models, operator)
        if told is None:
            return super().training_side_by_side(models, operator, x, generators)
        hidden, weight = _hide(len(told), generators, told.device)
        others = told * (~hidden)[:, :, None]
        return cls.knowing(models, operator, x, generators, others), weight

    @classmethod
    def knowing(
        cls,
        models: Sequence[Any],
        operator: Operator,
        x: Input,
        generators: Generators,
        told: Tensor | None,
    ) -> Tensor:
        """Return the logits (n, R, n_classes) where so much is known (n, R, n_classes + 1)."""
        added = None
        if told is not None:
            weights = torch.stack([model.of_labels for model in models])
            added = matmul_side_by_side(told, weights)
        return super().forward_side_by_side(models, operator, x, generators, added)


def _told(models: Sequence[ToldNetwork], operator: Operator) -> Tensor | None:
    """Return what R networks were told (n, R, n_classes + 1); None where nothing."""
    told = [model.told for model in models]
    if not len(told[0]):
        return None
    if len(told[0]) != operator.n:
        raise GraphError(
            f"this network was told the labels of {len(told[0]):,} vertices, and the graph has "
            f"{operator.n:,}; use `recognising` to say which of them are the same."
        )
    return torch.stack(told, dim=1)[..., :-1].to(models[0].of_labels.dtype)


def _hide(n: int, generators: Generators, device: torch.device) -> tuple[Tensor, Tensor]:
    """Draw which labels are hidden (n, R), and the weights of those vertices in the loss."""
    drawn = [torch.rand(n + 1, generator=g, device=device) for g in generators]
    numbers = torch.stack(drawn, dim=1)
    share = torch.where(numbers[0] < ALL_HIDDEN, 1.0, HIDDEN)
    hidden = numbers[1:] < share
    return hidden, hidden / share
