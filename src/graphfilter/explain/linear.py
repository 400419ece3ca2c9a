r"""Exact contributions of every vertex and feature, for encoder, filter and head.

The logits of a :class:`~graphfilter.models.FilterNetwork` are linear in the hidden rows, so the
score of vertex v, a weighted sum d of its logits, is

.. math:: s_v = b + \sum_u f(P)_{vu}\, h(x_u)\, W_\mathrm{out} d .

P is symmetric, so row v of f(P) is the filter applied to the indicator of v. Against average
features :math:`\bar x`, vertex u contributes
:math:`f(P)_{vu} (h(x_u) - h(\bar x)) W_\mathrm{out} d`: what the score would lose were its features
average ones. What is left depends on the graph alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.explain.contributions import STEPS, Contributions, steps_from
from graphfilter.graph import Graph
from graphfilter.models import FilterNetwork, Input
from graphfilter.operators import Operator
from graphfilter.runtime import blocks

# Rows of f(P) held at a time.
MOST_ROWS = 32


def explain_linear(
    network: FilterNetwork,
    operator: Operator,
    x: Input,
    graph: Graph,
    vertices: Sequence[int],
    directions: NDArray[np.float64],
    *,
    features: bool = True,
) -> list[Contributions]:
    """Take the scores of some vertices apart, exactly.

    Parameters
    ----------
    network, operator, x
        As they predict; x is (n, d), dense or sparse.
    graph : Graph
        Gives the distances.
    vertices : sequence of int (m,)
    directions : array (m, n_classes)
        The score of vertex i is ``directions[i] @ logits[vertices[i]]``.
    features : bool
        Whether to go on to single features, which takes a product with x per vertex.
    """
    with torch.no_grad():
        parts = _Parts(network, x)
        made: list[Contributions] = []
        for some in blocks(len(vertices), MOST_ROWS):
            chosen, wanted = list(vertices[some]), torch.as_tensor(directions[some]).to(parts.mean)
            made += _explain_some(parts, operator, graph, chosen, wanted, features)
    return made


def mean_row(x: Input) -> Tensor:
    """Return the average features (1, d)."""
    if isinstance(x, Tensor):
        return x.mean(dim=0, keepdim=True)
    ones = x.values.new_ones(x.shape[0], 1)
    return x.product(ones, None, transposed=True).T / x.shape[0]


class _Parts:
    """The encoder's work, shared by all vertices that are explained."""

    def __init__(self, network: FilterNetwork, x: Input) -> None:
        self.network, self.x, self.mean = network, x, mean_row(x)
        self.reference, self.moved = self.mean, None
        self.slopes: list[Tensor] = []
        hidden = x
        for layer in network.encoders():
            inputs, at_mean = layer(hidden), layer(self.reference)
            hidden, self.reference = network.activate(inputs), network.activate(at_mean)
            # Few arrays of this size at a time: a report must not take more than training did.
            away = inputs - at_mean
            del inputs
            still = away.abs() <= 1e-12
            self.moved = hidden - self.reference
            # The mean slope of each unit between the average features and these: of one layer,
            # integrated gradients in closed form; of several, DeepLIFT's rescale rule. A unit that
            # does not move adds nothing.
            slopes = torch.div(self.moved, away.masked_fill_(still, 1), out=away)
            self.slopes.append(slopes.masked_fill_(still, 0))

    def values(self, heads: Tensor) -> Tensor:
        """Return ``(hidden - reference) @ heads`` (n, m): the value of each vertex."""
        if self.moved is not None:
            return self.moved @ heads
        return linear_product(self.x, heads) - self.mean @ heads

    def by_feature(
        self, vertex: int, row: Tensor, head: Tensor
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Divide ``row @ values(head)`` among the features: of the vertex, and of all others."""
        alone = torch.zeros_like(row)
        alone[vertex] = row[vertex]
        own, others = (self._divide(weight, head) for weight in (alone, row - alone))
        return own, others

    def _divide(self, weight: Tensor, head: Tensor) -> NDArray[np.float64]:
        layers = self.network.encoders()
        if not layers:
            sums = _transposed_product(self.x, weight[:, None])[:, 0]
            return _numpy((sums - self.mean[0] * weight.sum()) * head)
        back = weight[:, None] * self.slopes[-1] * head
        for layer, slope in zip(reversed(layers[1:]), reversed(self.slopes[:-1]), strict=True):
            back = (back @ layer.weight.T) * slope
        sums = _transposed_product(self.x, back) - self.mean.T * back.sum(dim=0)
        return _numpy((sums * layers[0].weight).sum(dim=1))


def _explain_some(
    parts: _Parts,
    operator: Operator,
    graph: Graph,
    vertices: list[int],
    directions: Tensor,
    features: bool,
) -> list[Contributions]:
    network, n = parts.network, parts.x.shape[0]
    heads = network.head.weight @ directions.T
    columns = heads.new_zeros(n, len(vertices) + 1)
    columns[vertices, range(len(vertices))] = 1
    columns[:, -1] = 1
    filtered = network.filter(operator, columns)
    rows, reach = filtered[:, :-1], filtered[:, -1]
    added = _numpy(rows * parts.values(heads))
    # With average features everywhere, only the row sums of f(P) tell the vertices apart.
    average = (parts.reference @ heads)[0]
    bias = directions @ network.head.bias
    if network.filters_bias:
        average, bias = average + bias, torch.zeros_like(bias)
    base = _numpy(bias + reach.mean() * average)
    structure = _numpy((reach[vertices] - reach.mean()) * average)
    made = []
    for i, vertex in enumerate(vertices):
        distance = steps_from(graph, vertex)
        steps = np.bincount(distance, added[:, i], len(STEPS)).astype(np.float64)
        own, others = (
            parts.by_feature(vertex, rows[:, i], heads[:, i]) if features else (None, None)
        )
        made.append(
            Contributions(float(base[i]), float(structure[i]), steps, added[:, i], own, others)
        )
    return made


def linear_product(x: Input, columns: Tensor) -> Tensor:
    """Return X W for dense or sparse features."""
    return x @ columns if isinstance(x, Tensor) else x.project(columns)


def _transposed_product(x: Input, columns: Tensor) -> Tensor:
    if isinstance(x, Tensor):
        return x.T @ columns
    return x.product(columns.contiguous(), None, transposed=True)


def _numpy(values: Tensor) -> NDArray[np.float64]:
    return values.double().cpu().numpy()
