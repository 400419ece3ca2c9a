"""A fit beside its baselines, on the vertices it is judged by."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.fits.fit import Fit
from graphfilter.fits.training import LOW_PASS, NO_GRAPH, TWO_STEPS
from graphfilter.fits.yardstick import (
    Accuracy,
    LabelsWrong,
    MeanCost,
    ModelOutputs,
    Ranking,
    TypicalError,
    Yardstick,
)
from graphfilter.metrics import EQUAL_COSTS, SIGNIFICANCE, is_rare
from graphfilter.training import REGRESSION


@dataclass(frozen=True)
class Score:
    """The score of one model on the judged vertices, beside that of the fitted one.

    ``lead`` and ``p_value`` say by how much the fitted model is better on the same vertices; None
    for the fitted model itself.
    """

    title: str
    meaning: str
    value: float
    low: float
    high: float
    lead: float | None = None
    p_value: float | None = None

    @property
    def verdict(self) -> str:
        """How the fitted model compares with this one: better, worse, or a tie (p > 0.05)."""
        if self.lead is None or self.p_value is None or self.p_value > SIGNIFICANCE:
            return "tie"
        return "better" if self.lead > 0 else "worse"


@dataclass(frozen=True, eq=False)
class Comparison:
    """The fitted model, its baselines and always giving the same answer, by one yardstick.

    Attributes
    ----------
    yardstick : Yardstick
    part : str
        The vertices it is about: test, or validation or train where there are no others.
    ours, guessing : Score
    named : dict of str to Score
        The baselines.
    features_know, graph_could_help : bool
        Whether the network without the graph clearly beats guessing, and whether a fixed filter
        clearly beats that network.
    """

    yardstick: Yardstick
    part: str
    ours: Score
    named: dict[str, Score]
    guessing: Score
    features_know: bool = False
    graph_could_help: bool = False

    @property
    def n_vertices(self) -> int:
        return len(self.yardstick.truth)

    @property
    def scores(self) -> tuple[Score, ...]:
        return (self.ours, *self.named.values(), self.guessing)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        scores = {s.title: {**asdict(s), "verdict": s.verdict} for s in self.scores}
        return {"score": self.yardstick.key, "part": self.part, "models": scores}


def compare(fit: Fit) -> Comparison:
    """Compare a fit with its baselines by the score that sees what is looked for.

    Costs where they are given; average precision where one of two classes is rare; accuracy of
    other classes. The error of numbers, and the share of labels that are wrong.
    """
    judged, models = fit.judged, (fit, *fit.baselines)
    truth = fit.plan.truth[judged]
    outputs = [ModelOutputs(model.outputs[judged], model.answers[judged]) for model in models]
    make, guess = _choose(fit, truth)
    measure = make(truth, [*outputs, guess])
    place = {model.name: i for i, model in enumerate(models)}

    def score(number: int, title: str, meaning: str) -> Score:
        low, high = measure.interval(number)
        lead = measure.lead(0, number) if number else None
        p_value = measure.p_value(0, number) if number else None
        return Score(title, meaning, measure.value(number), low, high, lead, p_value)

    last = len(models)
    alone = place.get(NO_GRAPH)
    fixed = [place[name] for name in (LOW_PASS, TWO_STEPS) if name in place]
    return Comparison(
        measure,
        fit.part,
        score(0, fit.title, fit.meaning),
        {m.name: score(i, m.title, m.meaning) for i, m in enumerate(fit.baselines, start=1)},
        score(last, measure.guess_title, "always the same answer"),
        alone is not None and measure.beats(alone, last),
        alone is not None and any(measure.beats(i, alone) for i in fixed),
    )


def _choose(fit: Fit, truth: NDArray[Any]) -> tuple[Any, ModelOutputs]:
    """Return the yardstick of a fit, and the best answer that is the same for every vertex."""
    training = fit.plan.truth[fit.split.train]
    if not fit.task.one_class:
        mean = np.broadcast_to(training.mean(axis=0), truth.shape)
        guess = ModelOutputs(mean, fit.task.decide(mean))
        return (TypicalError if fit.task is REGRESSION else LabelsWrong), guess
    shares = np.bincount(training, minlength=len(fit.names)) / len(training)
    outputs, positive, decision = np.tile(shares, (len(truth), 1)), fit.positive, fit.asked
    if positive is not None and decision is not None and decision.costs != EQUAL_COSTS:
        costs = decision.costs
        alarm = shares[1 - positive] * costs.false_alarm < shares[positive] * costs.missed
        answer = positive if alarm else 1 - positive
        make = partial(MeanCost, positive=positive, costs=costs)
        return make, ModelOutputs(outputs, np.full(len(truth), answer))
    guess = ModelOutputs(outputs, np.full(len(truth), int(shares.argmax())))
    if positive is not None and is_rare(training, 2) and len(np.unique(truth)) == 2:
        return partial(Ranking, positive=positive), guess
    return Accuracy, guess
