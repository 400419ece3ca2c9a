"""Why a vertex is answered as it is: its explanation, the numbers with names, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from graphfilter.data.graph import Graph
from graphfilter.estimators import contributions
from graphfilter.estimators.earlier import FittedEstimator, ids_of
from graphfilter.estimators.members import FittedMember, size_of_kind
from graphfilter.systems import Prepared
from graphfilter.systems.prepared import NO_FOLD
from graphfilter.training import REGRESSION, TargetScale
from graphfilter.util.errors import ConfigError, GraphError, check_count, check_name
from graphfilter.util.machine import own_torch_state
from graphfilter.util.words import count, listed, number, signed

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
        every = [*named, ("its position in the graph", self.structure), (STARTS_FROM, self.base)]
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


# Among more names, finding the nearest takes too long.
_MOST_NAMES = 20_000


def find_vertex(graph: Graph, vertex: Any) -> int:
    """Return the number of a vertex, given by its name or, in a graph without names, by number."""
    text, ids = str(vertex), [str(name) for name in ids_of(graph)]
    if text in ids:
        return ids.index(text)
    # Bare of zeros, as a spreadsheet writes a number that was 00000013.
    near = [name for name in ids if name.lstrip("0") == text.lstrip("0")]
    if not near and len(ids) <= _MOST_NAMES:
        near = get_close_matches(text, ids, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise GraphError(f"there is no vertex {text!r} among the {len(ids):,} ids.{hint}")


def class_number(estimator: FittedEstimator, name: Any) -> int:
    """Return the number of a class, given by its name."""
    names = [str(c) for c in estimator.target_names_]
    return names.index(check_name("class", str(name), names))


def explain_vertices(
    estimator: FittedEstimator,
    prepared: Prepared,
    outputs: NDArray[np.float64],
    vertices: Sequence[int],
    *,
    answered: Sequence[int] | None = None,
    against: Sequence[int | None] | None = None,
    output: Any = None,
    most: int = 10,
) -> list[Explanation]:
    """Explain what an estimator answers for some vertices of a graph that is ready for prediction.

    Parameters
    ----------
    outputs : array (n, C)
        What is answered: probabilities, or numbers in their units.
    answered, against : sequences of class numbers, optional
        The classes that are predicted, where they are not the most probable, and those to compare
        them with; the second most probable where None.
    output : name, or list of one per vertex, optional
        Of several labels or numbers, which to explain: otherwise the most probable label of each
        vertex, or the first number.
    most : int
        Vertices and features to name.
    """
    check_count("most", most, most=2**63)
    task, names = estimator.task_, [str(name) for name in estimator.target_names_]
    # Of labels and numbers, those that are known only say of which vertices something is known.
    graph = prepared.graph if task.one_class else prepared.graph.replace(labels=None)
    wanted = output if isinstance(output, list) else [output] * len(vertices)
    others = [None] * len(vertices) if against is None else against
    directions = np.zeros((len(vertices), outputs.shape[1]))
    columns, words = [], list[dict[str, Any]]()
    for i, vertex in enumerate(vertices):
        row = outputs[vertex]
        if task.one_class:
            column = int(row.argmax()) if answered is None else answered[i]
            other = _other_class(row, names, column, others[i])
            directions[i, column], directions[i, other] = 1.0, -1.0
            words.append(_words(names[column], names[other], float(row[column])))
        else:
            column = 0 if task is REGRESSION else int(row.argmax())
            if wanted[i] is not None:
                column = names.index(check_name("output", str(wanted[i]), names))
            name, answer = names[column], float(row[column])
            directions[i, column] = 1.0 if task is REGRESSION or answer > 0.5 else -1.0
            if task is REGRESSION:
                name = "number" if name == "0" else name  # A single one of an array has no name.
                words.append(_words(f"{name} {number(answer)}", "", None) | {"unit": name})
            else:
                sides, has = (f"not {name}", name), answer > 0.5
                words.append(_words(sides[has], sides[not has], answer if has else 1 - answer))
        columns.append(column)
    with own_torch_state(gradients=False):
        members, fitted = (
            contributions.members_of(estimator, prepared),
            estimator.members_of(prepared),
        )
        held = estimator.held_in(prepared)
        # Members count differently for vertices that were held out in another fold, for every
        # vertex where a part of the graph is known, and for every label or number.
        groups: dict[tuple[tuple[float, float], ...], list[int]] = {}
        for i, vertex in enumerate(vertices):
            fold = NO_FOLD if held is None else int(held[vertex])
            counts = _counts(fitted, task.one_class, prepared.shares, vertex, columns[i], fold)
            groups.setdefault(tuple(counts), []).append(i)
        explained: dict[int, Explanation] = {}
        for counts, rows in groups.items():
            counted = [
                replace(member, weight=weight, temperature=temperature)
                for member, (weight, temperature) in zip(members, counts, strict=True)
                if weight > 0
            ]
            numbers = [vertices[i] for i in rows]
            sums = contributions.explain_members(counted, graph, numbers, directions[rows])
            exact = sum(m.weight for m in counted if m.terms) / sum(m.weight for m in counted)
            for i, parts in zip(rows, sums, strict=True):
                if estimator.target_scales_:
                    parts = in_units(parts, estimator.target_scales_[columns[i]])
                explained[i] = name_parts(parts, graph, vertices[i], most, exact, **words[i])
    return [explained[i] for i in range(len(vertices))]


def _words(predicted: str, against: str, probability: float | None) -> dict[str, Any]:
    return {"predicted": predicted, "against": against, "probability": probability}


def _other_class(
    probabilities: NDArray[np.float64], names: list[str], predicted: int, against: int | None
) -> int:
    """Return the class that the predicted one is compared with."""
    if against is None:
        order = np.argsort(-probabilities, kind="stable").tolist()
        return next(c for c in order if c != predicted)
    if against == predicted:
        raise ConfigError(f"against must be another class than {names[predicted]!r}.")
    return against


def _counts(
    fitted: Sequence[FittedMember],
    one_class: bool,
    shares: NDArray[np.float64] | None,
    vertex: int,
    column: int,
    fold: int,
) -> list[tuple[float, float]]:
    """Return the weight and temperature of each member in one output of a vertex."""
    if shares is not None:
        at = [m.at(shares[[vertex]]).reshape(1, -1)[0] for m in fitted]
        counts = [(float(row[0 if one_class else column]), 1.0) for row in at]
    elif one_class:
        counts = [(m.weight, m.temperature) for m in fitted]
    elif fitted[0].coefficients is not None:
        counts = [(float(np.asarray(m.coefficients)[column]), 1.0) for m in fitted]
    else:
        total = sum(m.weight for m in fitted)
        counts = [(m.weight / total, 1.0) for m in fitted]
    # A vertex that was held out in a fold is answered for by the networks that held it out.
    if fold == NO_FOLD:
        return counts
    return [
        (
            weight
            if m.held_fold is None
            else size_of_kind(fitted) * (m.held_fold == fold) * weight,
            temperature,
        )
        for m, (weight, temperature) in zip(fitted, counts, strict=True)
    ]


def in_units(sums: contributions.Contributions, scale: TargetScale) -> contributions.Contributions:
    r"""Return contributions on the scale of a number as contributions to the number itself.

    With y = u(s) of a score s that starts from b, a part c of s adds
    :math:`c \, (u(s) - u(b)) / (s - b)`: its Aumann-Shapley value, the mean slope of u times c.
    """
    base, score = sums.base, sums.score
    # Parts that cancel have the slope of where they start.
    far = score if abs(score - base) > 1e-6 else base + 1e-3
    start, end = scale.undo(np.array([base, far])).tolist()
    slope = (end - start) / (far - base)
    parts = (sums.vertices, sums.own_features, sums.other_features)
    return contributions.Contributions(
        start, slope * sums.structure, slope * sums.steps,
        *(None if part is None else slope * part for part in parts),
    )  # fmt: skip


def name_parts(
    sums: contributions.Contributions,
    graph: Graph,
    vertex: int,
    most: int,
    exact_share: float,
    **words: Any,
) -> Explanation:
    """Return the contributions to a vertex's score with names; ``words`` say what is predicted."""
    distance = contributions.steps_from(graph, vertex)
    sizes = np.bincount(distance, minlength=len(contributions.STEPS)).tolist()
    each = zip(contributions.STEPS, sizes, sums.steps.tolist(), strict=True)
    names = range(graph.n_vertices) if graph.vertex_names is None else graph.vertex_names
    contributors = []
    if sums.vertices is not None:
        size = np.abs(sums.vertices)
        size[vertex] = 0
        for u in np.argsort(-size, kind="stable")[:most].tolist():
            code = -1 if graph.labels is None else int(graph.labels[u])
            label = "" if code < 0 else str(graph.classes[code])
            if size[u] > 0:
                added = float(sums.vertices[u])
                contributors.append(
                    VertexShare(str(names[u]), contributions.STEPS[distance[u]], label, added)
                )
    return Explanation(
        vertex=str(names[vertex]),
        score=sums.score,
        base=sums.base,
        structure=sums.structure,
        steps=tuple(StepShare(name, n, value) for name, n, value in each if n and value),
        contributors=tuple(contributors),
        features=_features(sums, graph, vertex, most),
        exact_share=exact_share,
        **words,
    )


def _features(
    sums: contributions.Contributions, graph: Graph, vertex: int, most: int
) -> tuple[FeatureShare, ...]:
    own, others, features = sums.own_features, sums.other_features, graph.features
    if own is None or others is None or features is None or features.shape[1] != len(own):
        return ()
    names = graph.feature_names
    if names is None and issparse(features) and features.shape[0] == features.shape[1]:
        n = features.shape[0]
        if features.nnz == n and (features.indices == np.arange(n)).all():
            return ()  # The features are the vertices, which are named already.
    row = np.asarray(features[[vertex]].toarray() if issparse(features) else features[[vertex]])
    size = np.abs(own) + np.abs(others)
    return tuple(
        FeatureShare(
            f"feature {i}" if names is None else names[i],
            float(row[0, i]), float(own[i]), float(others[i]),
        )
        for i in np.argsort(-size, kind="stable")[:most].tolist()
        if size[i] > 0
    )  # fmt: skip
