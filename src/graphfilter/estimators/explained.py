r"""What an explanation is made of, whichever way it was found.

One vertex explained: the numbers with names, and in words.

Exact contributions of every vertex and feature, for encoder, filter and head.

The logits of a :class:`~graphfilter.models.FilterNetwork` are linear in the hidden rows, so the
score of vertex v, a weighted sum d of its logits, is

.. math:: s_v = b + \\sum_u f(P)_{vu}\\, h(x_u)\\, W_\\mathrm{out} d .

P is symmetric, so row v of f(P) is the filter applied to the indicator of v. Against average
features :math:`\bar x`, vertex u contributes
:math:`f(P)_{vu} (h(x_u) - h(\bar x)) W_\\mathrm{out} d`: what the score would lose were its features
average ones. What is left depends on the graph alone.

Contributions by distance for any network: its features are hidden, and shown step by step.

All features are set to their average, and then given back: those of the vertex, of its neighbours,
and so on. What each step changes of the score is its contribution; the changes add up to the score.
For a filter network that is :mod:`.linear`, to rounding. In a network that is not linear in its
hidden rows the order matters, and single vertices and features have no share of their own.

The explanation of a vertex by one network or several, combined by weight.

Vertices as rows of numbers: what the head of a network reads.

Members that see more of a vertex than its features: their columns hold those of others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.models import ChannelNetwork, FilterNetwork, Fitted, Network
from graphfilter.models.layers import Input
from graphfilter.models.views import VIEWS, fix_view
from graphfilter.operators import Operator, to_tensor
from graphfilter.systems import Prepared, System
from graphfilter.tables.columns import Features
from graphfilter.util.errors import ConfigError
from graphfilter.util.machine import blocks, own_torch_state
from graphfilter.util.words import count, listed, number, signed

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


LOG_ODDS = "log-odds"
STARTS_FROM = "what every vertex starts from"
_AWAY = {"2": "two steps away", "3": "three steps away", "farther": "farther away"}


@dataclass(frozen=True)
class StepShare:
    """What the features of all vertices at one distance add to the score."""

    name: str
    n_vertices: int
    contribution: float


@dataclass(frozen=True)
class VertexShare:
    """One vertex whose features contribute to the prediction.

    ``label`` is its class where that is known, and empty where not; ``steps`` is its distance.
    """

    vertex: str
    steps: str
    label: str
    contribution: float


@dataclass(frozen=True)
class FeatureShare:
    """What one feature adds: as the vertex itself has it (its ``value``), and as others do."""

    name: str
    value: float
    own: float
    others: float


@dataclass(frozen=True)
class Explanation:
    r"""Why a vertex is given its class and not another, a label or not, or its number.

    The score is the log-odds of the two classes, :math:`\log p_\mathrm{predicted} /
    p_\mathrm{against}`, of one network; of several, their sum by weight. Of a label it is the
    log-odds of having it, or not. Of a number it is the number itself, whatever scale it was
    learned on. It is the sum of ``base``, ``structure`` and the contributions of ``steps``.

    Attributes
    ----------
    vertex, predicted, against : str
        ``against`` is empty of a number.
    probability : float or None
        Of the predicted class or label; None of a number.
    score : float
        Positive where the network prefers the predicted class.
    base : float
        The score of an average position with average features: what every vertex starts from.
    structure : float
        What this vertex's position in the graph adds, whatever the features are.
    steps : tuple of StepShare
        What the features of the vertex itself and of those at each distance add.
    contributors : tuple of VertexShare
        The other vertices that add most, for and against, by size.
    features : tuple of FeatureShare
        The features that add most, by size.
    exact_share : float
        The weight of the members that are linear filters. Only they can name single vertices and
        features; the others are divided by distance. Members too large for that are left out.
    unit : str
        What the score is measured in: log-odds, or the name of the number.
    """

    vertex: str
    predicted: str
    against: str
    probability: float | None
    score: float
    base: float
    structure: float
    steps: tuple[StepShare, ...]
    contributors: tuple[VertexShare, ...] = ()
    features: tuple[FeatureShare, ...] = ()
    exact_share: float = 1.0
    unit: str = LOG_ODDS

    @property
    def parts(self) -> tuple[tuple[str, float], ...]:
        """What adds up to the score, in words and numbers; parts without weight are left out."""
        named = [(self.title(s), s.contribution) for s in self.steps]
        every = [
            *named,
            ("its position in the graph", self.structure),
            (STARTS_FROM, self.base),
        ]
        return tuple((name, value) for name, value in every if value)

    @staticmethod
    def title(step: StepShare) -> str:
        """Name a step, with the number of its vertices."""
        if step.name == "own":
            return "its own features"
        if step.name == "1":
            return f"its {count(step.n_vertices, 'neighbour')}"
        return f"{count(step.n_vertices, 'vertex', 'vertices')} {_AWAY[step.name]}"

    @property
    def sentence(self) -> str:
        """The most important in one sentence.

        >>> Explanation("7", "a", "b", 0.9, 2.0, 0.0, 0.0, (
        ...     StepShare("own", 1, 1.5), StepShare("1", 4, 0.9), StepShare("2", 9, -0.4)
        ... )).sentence
        'a rather than b (log-odds +2.00): mostly its own features (+1.50), then its 4 neighbours \
(+0.90); against it: 9 vertices two steps away (-0.40).'
        """
        of_number = not self.against
        parts = [p for p in self.parts if not (of_number and p[0] == STARTS_FROM)]
        least = 0.05 * max((abs(value) for _, value in parts), default=0.0)
        largest = [(name, value) for name, value in parts if abs(value) >= least]
        largest = sorted(largest, key=lambda part: -abs(part[1]))
        helping = [f"{name} ({signed(value)})" for name, value in largest if value > 0][:3]
        opposing = [f"{name} ({signed(value)})" for name, value in largest if value < 0][:3]
        if of_number:
            text = f"{self.predicted}: every vertex starts from {number(self.base)}"
            text += f"; raised by {listed(helping)}" if helping else ""
            return f"{text}; lowered by {listed(opposing)}." if opposing else f"{text}."
        text = f"{self.predicted} rather than {self.against} ({self.unit} {self.score:+.2f})"
        if helping:
            text += f": mostly {helping[0]}"
        if helping[1:]:
            text += f", then {' and '.join(helping[1:])}"
        return f"{text}; against it: {listed(opposing)}." if opposing else f"{text}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {**asdict(self), "sentence": self.sentence}


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


# Average features have no zeros, so sparse ones become dense: up to this many numbers.
MOST_NUMBERS = 100_000_000


def explain_by_leaving_out(
    logits: Callable[[Tensor], Tensor],
    x: Input,
    graph: Graph,
    vertices: Sequence[int],
    directions: NDArray[np.float64],
    *,
    logits_at: Callable[[Tensor, int], Tensor] | None = None,
) -> list[Contributions]:
    """Take the scores of some vertices apart by distance.

    Parameters
    ----------
    logits : callable
        From features (n, d) to logits (n, n_classes).
    x, graph, vertices, directions : as for :func:`~graphfilter.estimators.explain_linear`
    logits_at : callable, optional
        From features (n, d) and a vertex to its logits (n_classes,), where that costs less than
        the logits of all vertices.
    """
    one = logits_at or (lambda features, vertex: logits(features)[vertex])
    with torch.no_grad():
        dense = x if isinstance(x, Tensor) else x.to_dense()
        hidden = mean_row(x).expand_as(dense)
        average = logits(hidden).double().cpu().numpy()
        full = logits(dense).double().cpu().numpy()
        made = []
        for vertex, direction in zip(vertices, directions, strict=True):
            distance = torch.as_tensor(steps_from(graph, vertex), device=dense.device)
            scores = [average[vertex] @ direction]
            for step in range(len(STEPS) - 1):
                shown = torch.where((distance <= step)[:, None], dense, hidden)
                scores.append(one(shown, vertex).double().cpu().numpy() @ direction)
            scores.append(full[vertex] @ direction)
            base = float((average @ direction).mean())
            made.append(Contributions(base, float(scores[0]) - base, np.diff(scores)))
    return made


@dataclass(frozen=True, eq=False)
class Member:
    """One network of those whose probabilities are averaged, as it predicts.

    Attributes
    ----------
    logits : callable
        From features (n, d) to logits (n, n_classes).
    x : Tensor or SparseFeatures (n, d)
    weight, temperature : float
        What is explained is the sum of weight · logits / temperature: the log-odds of members
        that are pooled by their logits; of members whose probabilities are averaged, the mean of
        their log-odds.
    terms : tuple of (FilterNetwork, Operator)
        Linear filters whose logits add up to the member's, which are explained exactly.
    embed : callable, optional
        Gives the filtered hidden layer (n, h), where the network has one.
    logits_at : callable, optional
        From features (n, d) and a vertex to its logits (n_classes,), where the network reads the
        rows of a table one by one.
    """

    logits: Callable[[Tensor], Tensor]
    x: Input
    weight: float = 1.0
    temperature: float = 1.0
    terms: tuple[tuple[FilterNetwork, Operator], ...] = ()
    embed: Callable[[], Tensor] | None = None
    logits_at: Callable[[Tensor, int], Tensor] | None = None

    @property
    def scale(self) -> float:
        """What its logits are multiplied by in the sum."""
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
        return cls(partial(network, operator), x, weight, temperature, terms, embed)

    def one(self, features: Tensor, vertex: int) -> Tensor:
        """Return the logits of one vertex."""
        if self.logits_at is not None:
            return self.logits_at(features, vertex)
        return self.logits(features)[vertex]


def explain_vertices(
    members: Sequence[Member],
    graph: Graph,
    classes: NDArray[Any],
    probabilities: NDArray[np.float64],
    vertices: Sequence[int],
    *,
    answered: Sequence[int] | None = None,
    against: Sequence[int | None] | None = None,
    most: int = 10,
) -> list[Explanation]:
    """Explain the predictions of some vertices.

    Parameters
    ----------
    members : sequence of Member
    graph : Graph
        Names, distances and known labels; its features as they were given.
    classes : array (n_classes,)
    probabilities : array (n, n_classes)
        The combined outputs of the members.
    vertices : sequence of int
    answered : sequence of class numbers, optional
        What is predicted for them, where that is not the most probable class.
    against : sequence of class numbers, optional
        What to compare the prediction with; the second most probable class where None.
    most : int
        Vertices and features to name.
    """
    numbers = [int(v) for v in vertices]
    answers = probabilities[numbers].argmax(axis=1).tolist() if answered is None else answered
    others = [None] * len(numbers) if against is None else against
    pairs = [
        (predicted, _other_class(probabilities[v], classes, predicted, other))
        for v, predicted, other in zip(numbers, answers, others, strict=True)
    ]
    directions = np.zeros((len(numbers), probabilities.shape[1]))
    for row, (predicted, other) in zip(directions, pairs, strict=True):
        row[predicted], row[other] = 1.0, -1.0
    explained = explain_members(members, graph, numbers, directions)
    return [
        name_parts(
            sums,
            members,
            graph,
            vertex,
            most,
            predicted=str(classes[predicted]),
            against=str(classes[other]),
            probability=float(probabilities[vertex, predicted]),
        )
        for vertex, (predicted, other), sums in zip(numbers, pairs, explained, strict=True)
    ]


def name_parts(
    sums: Contributions,
    members: Sequence[Member],
    graph: Graph,
    vertex: int,
    most: int,
    **words: Any,
) -> Explanation:
    """Return the contributions to a vertex's score with names; ``said`` is what is predicted."""
    distance = steps_from(graph, vertex)
    exact = sum(m.weight for m in members if m.terms) / sum(m.weight for m in members)
    return Explanation(
        vertex=_name(graph, vertex),
        score=sums.score,
        base=sums.base,
        structure=sums.structure,
        steps=_steps(sums, distance),
        contributors=_vertex_shares(sums, graph, vertex, distance, most),
        features=_features(sums, graph, vertex, most),
        exact_share=exact,
        **words,
    )


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
    made = [
        explain_linear(*term, m.x, graph, vertices, directions * m.scale)
        for m in members
        for term in m.terms
    ]
    groups: dict[int, list[Member]] = {}
    for member in members:
        if not member.terms and member.x.shape[0] * member.x.shape[1] <= MOST_NUMBERS:
            groups.setdefault(id(member.x), []).append(member)
    made += [_explain_group(group, graph, vertices, directions) for group in groups.values()]
    if not made:
        raise ConfigError("no member can be explained: this graph has too many features for it.")
    return [_add(parts) for parts in zip(*made, strict=True)]


def _explain_group(
    group: Sequence[Member],
    graph: Graph,
    vertices: Sequence[int],
    directions: NDArray[np.float64],
) -> list[Contributions]:
    """Take apart what members that see the same features say together, by leaving out."""
    return explain_by_leaving_out(
        lambda features: _sum([m.scale * m.logits(features) for m in group]),
        group[0].x,
        graph,
        vertices,
        directions,
        logits_at=lambda features, v: _sum([m.scale * m.one(features, v) for m in group]),
    )


def _sum(tensors: Sequence[Tensor]) -> Tensor:
    return torch.stack(tuple(tensors)).sum(dim=0)


def _other_class(
    probabilities: NDArray[np.float64], classes: NDArray[Any], predicted: int, against: int | None
) -> int:
    """Return the class that the predicted one is compared with."""
    if against is None:
        order = np.argsort(-probabilities, kind="stable").tolist()
        return next(c for c in order if c != predicted)
    if against == predicted:
        raise ConfigError(
            f"against must be another class than the predicted one, {str(classes[predicted])!r}."
        )
    return against


def _add(parts: Sequence[Contributions]) -> Contributions:
    """Add up the shares of the members; what only some of them know is their share alone."""

    def sums(name: str) -> Any:
        known = [getattr(part, name) for part in parts if getattr(part, name) is not None]
        if not known or any(np.shape(value) != np.shape(known[0]) for value in known):
            return None
        return sum(known)

    return Contributions(
        float(sums("base")), float(sums("structure")), sums("steps"), sums("vertices"),
        sums("own_features"), sums("other_features"),
    )  # fmt: skip


def _steps(sums: Contributions, distance: NDArray[np.int64]) -> tuple[StepShare, ...]:
    sizes = np.bincount(distance, minlength=len(STEPS)).tolist()
    each = zip(STEPS, sizes, sums.steps.tolist(), strict=True)
    return tuple(StepShare(name, size, value) for name, size, value in each if size and value)


def _vertex_shares(
    sums: Contributions, graph: Graph, vertex: int, distance: NDArray[np.int64], most: int
) -> tuple[VertexShare, ...]:
    if sums.vertices is None:
        return ()
    size = np.abs(sums.vertices)
    size[vertex] = 0
    order = np.argsort(-size, kind="stable")[:most]
    labels = graph.labels
    return tuple(
        VertexShare(
            _name(graph, u),
            STEPS[distance[u]],
            "" if labels is None or labels[u] < 0 else str(graph.classes[labels[u]]),
            float(sums.vertices[u]),
        )
        for u in order.tolist()
        if size[u] > 0
    )


def _features(
    sums: Contributions, graph: Graph, vertex: int, most: int
) -> tuple[FeatureShare, ...]:
    own, others, given = sums.own_features, sums.other_features, graph.features
    if own is None or others is None or given is None or given.shape[1] != len(own):
        return ()
    if graph.feature_names is None and _is_identity(given):
        return ()  # The features are the vertices, which are named already.
    row = np.asarray(given[[vertex]].toarray() if hasattr(given, "toarray") else given[[vertex]])
    names = graph.feature_names
    size = np.abs(own) + np.abs(others)
    return tuple(
        FeatureShare(
            f"feature {i}" if names is None else names[i],
            float(row[0, i]),
            float(own[i]),
            float(others[i]),
        )
        for i in np.argsort(-size, kind="stable")[:most].tolist()
        if size[i] > 0
    )


def _is_identity(features: Features) -> bool:
    n, d = features.shape
    if n != d or not issparse(features) or features.nnz != n:
        return False
    return bool((features.indices == np.arange(n)).all())


def _name(graph: Graph, vertex: int) -> str:
    return str(vertex if graph.vertex_names is None else graph.vertex_names[vertex])


def embed_members(members: Sequence[Member]) -> NDArray[np.float32]:
    """Return the filtered hidden layers of the members that have one, side by side.

    Columns are scaled by the root of each member's weight, so that inner products of rows are the
    members' own, averaged by weight.
    """
    total = sum(member.weight for member in members)
    parts = []
    with own_torch_state(gradients=False):
        for member in members:
            if member.embed is None or not member.weight:
                continue
            hidden = member.embed().cpu().numpy()
            parts.append(hidden * np.float32((member.weight / total) ** 0.5))
    if not parts:
        raise ConfigError(
            "an embedding is the filtered hidden layer of a filter network; this model has none. "
            "Fit one of sgf, gpr, appnp, sgc, ..."
        )
    return np.concatenate(parts, axis=1)


# Columns made of the vertex's own features alone.
_OF_ITS_OWN = ("features", "unit")


@dataclass
class LastColumns:
    """Columns of a view, made once for networks that see the same features one after another."""

    make: Callable[[Any], Features]
    device: Any
    _last: tuple[Tensor, Input] | None = field(default=None, repr=False)

    def __call__(self, features: Tensor) -> Input:
        if self._last is None or self._last[0] is not features:
            columns = self.make(features.cpu().numpy())
            self._last = features, to_tensor(columns, device=self.device)
        return self._last[1]


def member_of(
    prepared: Prepared,
    system: System,
    network: Network[Any],
    *,
    weight: float = 1.0,
    temperature: float = 1.0,
    views: dict[str, LastColumns] | None = None,
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
    if system.view in _OF_ITS_OWN:
        return member

    if not VIEWS[system.view].reads_features:
        outputs = network.eval()(operator, seen.x)
        return replace(member, logits=lambda _: outputs, x=prepared.x, terms=())
    if isinstance(network, Fitted):
        # It reads rows one by one, so that one row is enough.
        make = fix_view(prepared.graph, system.view, seen.found, prepared.known)

        def rows(features: Tensor, vertex: int | slice = slice(None)) -> Tensor:
            columns = make(features.cpu().numpy())
            chosen = columns[[vertex]] if isinstance(vertex, int) else columns
            outputs = network(operator, to_tensor(chosen, device=prepared.device))
            return outputs[0] if isinstance(vertex, int) else outputs

        return replace(member, logits=rows, x=prepared.x, terms=(), logits_at=rows)
    views = {} if views is None else views
    if system.view not in views:
        views[system.view] = LastColumns(
            fix_view(prepared.graph, system.view, seen.found, prepared.known), prepared.device
        )
    columns = views[system.view]
    return replace(
        member, logits=lambda features: network(operator, columns(features)), x=prepared.x, terms=()
    )
