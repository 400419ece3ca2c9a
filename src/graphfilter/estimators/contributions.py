r"""Contributions: the score of a vertex taken apart, by vertices, features and distance.

The logits of a :class:`~graphfilter.models.FilterNetwork` are linear in the hidden rows, so the
score of vertex v, a weighted sum d of its logits, is

.. math:: s_v = b + \sum_u f(P)_{vu}\, h(x_u)\, W_\mathrm{out} d .

P is symmetric, so row v of f(P) is the filter applied to the indicator of v. Against average
features :math:`\bar x`, vertex u contributes
:math:`f(P)_{vu} (h(x_u) - h(\bar x)) W_\mathrm{out} d`: what the score would lose were its features
average ones. What is left depends on the graph alone.

Any other network is taken apart by distance: all features are set to their average, and then given
back, those of the vertex, of its neighbours, and so on. What each step changes of the score is its
contribution; the changes add up to the score. For a filter network these are the exact ones, to
rounding. In a network that is not linear in its hidden rows the order matters, and single vertices
and features have no share of their own. Several networks are combined by weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.estimators.earlier import FittedEstimator
from graphfilter.models import ChannelNetwork, FilterNetwork, Fitted, Network
from graphfilter.models.layers import Input
from graphfilter.models.views import VIEWS, fix_view
from graphfilter.operators import Operator, to_tensor
from graphfilter.systems import Prepared, System
from graphfilter.util.errors import ConfigError
from graphfilter.util.machine import blocks, own_torch_state

# The vertex itself, its neighbours, theirs, one step more, and all that is farther away.
STEPS = ("own", "1", "2", "3", "farther")


@dataclass(frozen=True, eq=False)
class Contributions:
    """Numbers that add up to the score of one vertex.

    Attributes
    ----------
    base : float
        The score of an average position in the graph with average features everywhere.
    structure : float
        What the vertex's own position adds to it, with average features everywhere.
    steps : array (len(STEPS),)
        What the features add: its own, and those of the vertices at each distance.
    vertices : array (n,) or None
        What the features of every vertex add; None where that is not known one by one.
    own_features, other_features : array (d,) or None
        The same by feature: those of the vertex itself, and of all others.
    """

    base: float
    structure: float
    steps: NDArray[np.float64]
    vertices: NDArray[np.float64] | None = None
    own_features: NDArray[np.float64] | None = None
    other_features: NDArray[np.float64] | None = None

    @property
    def score(self) -> float:
        return self.base + self.structure + float(self.steps.sum())


def steps_from(graph: Graph, vertex: int) -> NDArray[np.int64]:
    """Return the distance of every vertex in steps, those beyond the last but one cut to the last.

    >>> steps_from(Graph.from_edges([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]), 0).tolist()
    [0, 1, 2, 3, 4, 4]
    """
    last = len(STEPS) - 1
    distance = np.full(graph.n_vertices, last, dtype=np.int64)
    distance[vertex] = 0
    reached: NDArray[Any] = np.array([vertex])
    for step in range(1, last):
        ends = [graph.indices[graph.indptr[u] : graph.indptr[u + 1]] for u in reached.tolist()]
        near = np.unique(np.concatenate(ends)) if ends else reached
        reached = near[distance[near] == last]
        distance[reached] = step
    return distance


# Rows of f(P) held at a time.
MOST_ROWS = 32


def explain_linear(
    network: FilterNetwork,
    operator: Operator,
    x: Input,
    graph: Graph,
    vertices: Sequence[int],
    directions: NDArray[np.float64],
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
    """
    n, explained = x.shape[0], list[Contributions]()
    with torch.no_grad():
        parts = _Parts(network, x)
        for some in blocks(len(vertices), MOST_ROWS):
            chosen, wanted = list(vertices[some]), torch.as_tensor(directions[some]).to(parts.mean)
            heads = network.head.weight @ wanted.T
            columns = heads.new_zeros(n, len(chosen) + 1)
            columns[chosen, range(len(chosen))] = 1
            columns[:, -1] = 1
            filtered = network.filter(operator, columns)
            rows, reach = filtered[:, :-1], filtered[:, -1]
            added = _numpy(rows * parts.values(heads))
            # With average features everywhere, only the row sums of f(P) tell the vertices apart.
            average = (parts.reference @ heads)[0]
            bias = wanted @ network.head.bias
            if network.filters_bias:
                average, bias = average + bias, torch.zeros_like(bias)
            base = _numpy(bias + reach.mean() * average)
            structure = _numpy((reach[chosen] - reach.mean()) * average)
            for i, vertex in enumerate(chosen):
                distance = steps_from(graph, vertex)
                steps = np.bincount(distance, added[:, i], len(STEPS)).astype(np.float64)
                by_feature = parts.by_feature(vertex, rows[:, i], heads[:, i])
                explained.append(
                    Contributions(
                        float(base[i]), float(structure[i]), steps, added[:, i], *by_feature
                    )
                )
    return explained


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
        x = self.x
        return (x @ heads if isinstance(x, Tensor) else x.project(heads)) - self.mean @ heads

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


def _transposed_product(x: Input, columns: Tensor) -> Tensor:
    if isinstance(x, Tensor):
        return x.T @ columns
    return x.product(columns.contiguous(), None, transposed=True)


def _numpy(values: Tensor) -> NDArray[np.float64]:
    return values.double().cpu().numpy()


# Average features have no zeros, so sparse ones become dense: up to this many numbers.
MOST_NUMBERS = 100_000_000


# All vertices.
ALL = slice(None)


def explain_by_leaving_out(
    logits: Callable[[Tensor, int | slice], Tensor],
    x: Input,
    graph: Graph,
    vertices: Sequence[int],
    directions: NDArray[np.float64],
) -> list[Contributions]:
    """Take the scores of some vertices apart by distance.

    Parameters
    ----------
    logits : callable
        From features (n, d) to logits (n, n_classes), or to those of one vertex.
    x, graph, vertices, directions : as for :func:`~graphfilter.estimators.explain_linear`
    """
    with torch.no_grad():
        dense = x if isinstance(x, Tensor) else x.to_dense()
        hidden = mean_row(x).expand_as(dense)
        average = _numpy(logits(hidden, ALL))
        full = _numpy(logits(dense, ALL))
        made = []
        for vertex, direction in zip(vertices, directions, strict=True):
            distance = torch.as_tensor(steps_from(graph, vertex), device=dense.device)
            scores = [average[vertex] @ direction]
            for step in range(len(STEPS) - 1):
                shown = torch.where((distance <= step)[:, None], dense, hidden)
                scores.append(_numpy(logits(shown, vertex)) @ direction)
            scores.append(full[vertex] @ direction)
            base = float((average @ direction).mean())
            made.append(Contributions(base, float(scores[0]) - base, np.diff(scores)))
    return made


@dataclass(frozen=True, eq=False)
class Member:
    """One network of those that answer together, as it predicts.

    Attributes
    ----------
    logits : callable
        From features (n, d) to logits (n, n_classes), or to those of one vertex, which cost less
        where the network reads the rows of a table one by one.
    x : Tensor or SparseFeatures (n, d)
    weight, temperature : float
        What is explained is the sum of weight · logits / temperature: the log-odds of members
        that are pooled by their logits; of members whose probabilities are averaged, the mean of
        their log-odds.
    terms : tuple of (FilterNetwork, Operator)
        Linear filters whose logits add up to the member's, which are explained exactly.
    embed : callable, optional
        Gives the filtered hidden layer (n, h), where the network has one.
    """

    logits: Callable[[Tensor, int | slice], Tensor]
    x: Input
    weight: float = 1.0
    temperature: float = 1.0
    terms: tuple[tuple[FilterNetwork, Operator], ...] = ()
    embed: Callable[[], Tensor] | None = None

    @property
    def scale(self) -> float:
        """What multiplies its logits."""
        return self.weight / self.temperature

    @classmethod
    def of(
        cls,
        network: Network[Any],
        operator: Operator,
        x: Input,
        *,
        weight: float = 1.0,
        temperature: float = 1.0,
    ) -> Self:
        """Take a network in the state in which it predicts."""
        network = network.eval()
        terms, embed = (), None
        if isinstance(network, FilterNetwork | ChannelNetwork):
            terms = tuple(network.terms(operator))
            embed = partial(network.embed, operator, x)

        def logits(features: Tensor, at: int | slice) -> Tensor:
            return network(operator, features)[at]

        return cls(logits, x, weight, temperature, terms, embed)


# Columns made of the vertex's own features alone.
_OF_THE_VERTEX = ("features", "unit")


def members_of(estimator: FittedEstimator, prepared: Prepared) -> list[Member]:
    """Return the networks of an estimator as they predict, with what each sees and counts."""
    views: dict[str, Any] = {}
    return [
        member_of(
            prepared, m.system, m.network_on(prepared.device), weight=m.weight,
            temperature=m.temperature, views=views,
        )
        for m in estimator.members_of(prepared)
    ]  # fmt: skip


def member_of(
    prepared: Prepared,
    system: System,
    network: Network[Any],
    *,
    weight: float = 1.0,
    temperature: float = 1.0,
    views: dict[str, Callable[[Tensor], Input]] | None = None,
) -> Member:
    """Return a trained network of a system as it predicts a graph.

    Where its view mixes the features of neighbours or the links of the graph into a vertex's
    columns, a column is not the vertex's own: the features themselves are hidden and shown, step
    by step, and the view made of them each time. What links alone say is then part of its position.

    ``views`` holds what the networks of one committee share; this one is added to it.
    """
    operator = prepared.operator(system.operator)
    kept = network.kept_view() if isinstance(network, Fitted) else None
    seen = prepared.seen_as(system.view, kept)
    member = Member.of(network, operator, seen.x, weight=weight, temperature=temperature)
    if system.view in _OF_THE_VERTEX:
        return member
    hidden = {"x": prepared.x, "terms": ()}
    if not VIEWS[system.view].reads_features:
        outputs = network.eval()(operator, seen.x)
        return replace(member, logits=lambda _, at: outputs[at], **hidden)
    make = fix_view(prepared.graph, system.view, seen.found, prepared.known)

    def columns(features: Tensor, at: slice | list[int] = ALL) -> Input:
        return to_tensor(make(features.cpu().numpy())[at], device=prepared.device)

    if isinstance(network, Fitted):  # It reads rows one by one, so that one row is enough.

        def logits(features: Tensor, at: int | slice) -> Tensor:
            if isinstance(at, slice):
                return network(operator, columns(features))[at]
            return network(operator, columns(features, [at]))[0]
    else:
        # The same for all networks that see the same features one after another.
        views = {} if views is None else views
        last = views.setdefault(system.view, lru_cache(1)(columns))

        def logits(features: Tensor, at: int | slice) -> Tensor:
            return network(operator, last(features))[at]

    return replace(member, logits=logits, **hidden)


def explain_members(
    members: Sequence[Member],
    graph: Graph,
    vertices: Sequence[int],
    directions: NDArray[np.float64],
) -> list[Contributions]:
    """Take the scores of some vertices apart: what the members add, together.

    Linear filters are explained one by one, the rest in groups with the same features. Members
    whose features would be too many are left out.
    """
    parts = [
        explain_linear(*term, m.x, graph, vertices, directions * m.scale)
        for m in members
        for term in m.terms
    ]
    groups: dict[int, list[Member]] = {}
    for member in members:
        if not member.terms and member.x.shape[0] * member.x.shape[1] <= MOST_NUMBERS:
            groups.setdefault(id(member.x), []).append(member)
    for group in groups.values():

        def logits(features: Tensor, at: int | slice, group: Any = group) -> Tensor:
            return torch.stack([m.scale * m.logits(features, at) for m in group]).sum(dim=0)

        parts.append(explain_by_leaving_out(logits, group[0].x, graph, vertices, directions))
    if not parts:
        raise ConfigError("no member can be explained: this graph has too many features for it.")
    return [_add(of_members) for of_members in zip(*parts, strict=True)]


def _add(parts: Sequence[Contributions]) -> Contributions:
    """Add up the shares of the members; what only some of them know is their share alone."""

    def total(name: str) -> Any:
        shares = [getattr(part, name) for part in parts if getattr(part, name) is not None]
        if not shares or any(np.shape(value) != np.shape(shares[0]) for value in shares):
            return None
        return sum(shares)

    return Contributions(
        float(total("base")), float(total("structure")), total("steps"), total("vertices"),
        total("own_features"), total("other_features"),
    )  # fmt: skip


def embed_members(members: Sequence[Member]) -> NDArray[np.float32]:
    """Return the filtered hidden layers of the members that have one, side by side.

    Columns are scaled by the root of each member's weight, so that inner products of rows are the
    members' own, averaged by weight.
    """
    total = sum(member.weight for member in members)
    with own_torch_state(gradients=False):
        parts = [
            m.embed().cpu().numpy() * np.float32((m.weight / total) ** 0.5)
            for m in members
            if m.embed is not None and m.weight
        ]
    if not parts:
        raise ConfigError("an embedding is the hidden layer of a filter; this model has none.")
    return np.concatenate(parts, axis=1)
