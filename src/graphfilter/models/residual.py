"""ResidualNetwork: a deep network of the graph, whose layers add to what is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from graphfilter.graph import Graph
from graphfilter.models.deep import DeepConfig, DeepNetwork
from graphfilter.models.layers import (
    Draws,
    Generators,
    matmul_side_by_side,
)
from graphfilter.models.memory import Sizes, Working
from graphfilter.operators import (
    Drawn,
    Operator,
    draw,
    residual,
    residual_gradient,
    takes_residual,
)

# The most bytes that are kept for the gradient.
MOST_KEPT = 4 * 2**30
# Bytes of each vertex and column that are held in each layer while it is trained.
DEEP = 41


@dataclass(frozen=True)
class ResidualConfig(DeepConfig):
    """See :class:`ResidualNetwork`."""

    def skip_reason(self, graph: Graph, n_train: int) -> str | None:
        kept = 24 * graph.n_vertices * self.hidden_size * self.n_layers
        if kept > MOST_KEPT:
            return f"{graph.n_vertices:,} vertices are too many for a deep network"
        return None

    def memory(self, sizes: Sizes, available: int, n_processes: int = 1) -> Working:
        hidden = DEEP * sizes.n_vertices * self.hidden_size * self.n_layers
        return Working(hidden, columns=self.hidden_size)


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
        return _Layers.apply(hidden, weights, biases, operator, drawn)
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


class _Layers(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weights: Tensor,
        biases: Tensor,
        operator: Operator,
        drawn: Drawn | None,
    ) -> Tensor:
        weights, keep = weights.contiguous(), any(ctx.needs_input_grad)
        given = hidden.contiguous(), weights, biases.contiguous(), drawn
        out, ctx.kept = residual(operator.kernel, *given, keep=keep)
        ctx.operator = operator
        ctx.save_for_backward(weights)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (weights,) = ctx.saved_tensors
        mirror = ctx.operator.transposed.kernel
        found = residual_gradient(mirror, ctx.kept, weights, grad.contiguous())
        return *found, None, None
