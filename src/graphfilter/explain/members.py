"""The explanation of a vertex by one network or several, combined by weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse
from torch import Tensor

from graphfilter.errors import ConfigError
from graphfilter.explain.contributions import STEPS, Contributions, steps_from
from graphfilter.explain.explanation import Explanation, FeatureShare, StepShare, VertexShare
from graphfilter.explain.leaving_out import MOST_NUMBERS, explain_by_leaving_out
from graphfilter.explain.linear import explain_linear
from graphfilter.graph import Features, Graph
from graphfilter.models import ChannelNetwork, FilterNetwork, Input, Network
from graphfilter.operators import Operator


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
