"""NormedNetwork: layers of the graph whose columns have the same spread over all vertices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from graphfilter.graph import Graph
from graphfilter.models.deep import DeepConfig, DeepNetwork
from graphfilter.models.layers import Draws, Generators, matmul_side_by_side
from graphfilter.models.memory import Sizes, Working
from graphfilter.operators import Operator, draw

EPSILON = 1e-5
# How much of each epoch's mean and variance goes into those that predictions are made with.
MOMENTUM = 0.1
# Bytes of each vertex and column that are held in each layer while it is trained.
HELD = 24
# Of fewer vertices a column's mean and deviation say too little (Texas, Cornell).
LEAST_VERTICES = 500
# The most bytes that are held: beyond, an epoch takes too long for what the network adds.
MOST_HELD = 4 * 2**30


@dataclass(frozen=True)
class NormedConfig(DeepConfig):
    """See :class:`NormedNetwork`."""

    dropout: float = 0.3

    def skip_reason(self, graph: Graph, n_train: int) -> str | None:
        if graph.n_vertices < LEAST_VERTICES:
            return f"it needs at least {LEAST_VERTICES} vertices for its batch norms"
        if HELD * graph.n_vertices * self.hidden_size * self.n_layers > MOST_HELD:
            return f"{graph.n_vertices:,} vertices are too many for a network with batch norms"
        return None

    def memory(self, sizes: Sizes, available: int, n_processes: int = 1) -> Working:
        held = HELD * sizes.n_vertices * self.hidden_size * self.n_layers
        return Working(held, columns=self.hidden_size)


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
                hidden, mean, variance = _Layer.apply(made, gains[layer], shifts[layer], mask)
                _remember(models, layer, mean, variance * (len(made) / max(len(made) - 1, 1)))
            else:
                normed = _norm(models, layer, made)
                hidden = torch.relu(torch.addcmul(shifts[layer], gains[layer], normed))
        return hidden


def _remember(models: Sequence[NormedNetwork], layer: int, mean: Tensor, variance: Tensor) -> None:
    """Add the mean and variance of R runs (R, c) to their running averages."""
    for run, model in enumerate(models):
        model.mean[layer].lerp_(mean[run], MOMENTUM)
        model.variance[layer].lerp_(variance[run], MOMENTUM)


def _norm(models: Sequence[NormedNetwork], layer: int, x: Tensor) -> Tensor:
    """Normalise by the running averages."""
    mean = torch.stack([model.mean[layer] for model in models])
    variance = torch.stack([model.variance[layer] for model in models])
    return (x - mean) * (variance + EPSILON).rsqrt()


class _Layer(torch.autograd.Function):
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
