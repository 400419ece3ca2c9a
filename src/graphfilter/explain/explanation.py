"""One vertex explained: the numbers with names, and in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from graphfilter.wording import count, listed, number, signed

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
