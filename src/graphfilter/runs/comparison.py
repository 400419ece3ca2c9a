"""A fit beside its baselines: the score they are judged by, its interval and the test of a lead.

A :class:`Yardstick` is made for some models on the same vertices and refers to them by their
number.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.graph import OfCommittee
from graphfilter.runs import comparing
from graphfilter.runs.answers import EQUAL_COSTS, Costs, answers_of
from graphfilter.runs.fit import Fit
from graphfilter.runs.plan import LOW_PASS, NO_GRAPH, TWO_STEPS
from graphfilter.training import REGRESSION
from graphfilter.training.scores import is_rare
from graphfilter.util.words import number

Array = NDArray[np.float64]

# From here on, two digits of a percentage are shown.
MANY_VERTICES = 10_000


@dataclass(frozen=True, eq=False)
class ModelOutputs:
    """A model's outputs (m, C) for the judged vertices, and its predictions."""

    outputs: Array
    answers: NDArray[Any]


class Yardstick(ABC):
    """A score of models; the first is the one that others are compared with.

    Attributes
    ----------
    key, name : str
        In ``metrics.json``, and in words.
    lower_is_better, share : bool
        ``share`` is one from 0 to 1, written in percent.
    interval_by, test : str
        Where intervals and p-values come from, in words.
    guess, guess_title : str
        The answer that is the same for every vertex.
    """

    key: ClassVar[str]
    name: ClassVar[str]
    lower_is_better: ClassVar[bool] = False
    share: ClassVar[bool] = True
    interval_by: ClassVar[str] = "drawing the vertices again 2,000 times (bootstrap)"
    test: ClassVar[str] = "the same drawings of the vertices (paired bootstrap)"
    guess: ClassVar[str]
    guess_title: ClassVar[str]

    def __init__(self, truth: NDArray[Any], models: Sequence[ModelOutputs]) -> None:
        self.truth = truth
        self.models = models

    def of(self, models: Sequence[ModelOutputs]) -> Self:
        """Return the same yardstick for other models on the same vertices."""
        made = copy.copy(self)
        made.models = models
        vars(made).pop("drawn", None)
        return made

    @abstractmethod
    def value(self, number: int) -> float:
        """Return the score of a model."""

    @abstractmethod
    def measures(self) -> list[comparing.Measure]:
        """Return what measures the score of each model in drawings."""

    strata: NDArray[np.int64] | None = None
    """Groups whose sizes drawings keep; None where they need not."""

    @cached_property
    def drawn(self) -> Array:
        """Scores of every model on drawings of the vertices (K, B)."""
        return comparing.draw_scores(self.measures(), len(self.truth), strata=self.strata)

    def interval(self, number: int) -> tuple[float, float]:
        """Return the 95 % interval of a score."""
        return comparing.drawn_interval(self.drawn[number])

    def p_value(self, first: int, second: int) -> float:
        """Return the two-sided p-value of two models being equally good."""
        return comparing.drawn_p_value(self.drawn[first], self.drawn[second])

    def beats(self, first: int, second: int) -> bool:
        """Return whether one model is clearly better than another."""
        return (
            self.lead(first, second) > 0 and self.p_value(first, second) <= comparing.SIGNIFICANCE
        )

    def lead(self, first: int, second: int) -> float:
        """Return by how much one model is better than another."""
        difference = self.value(first) - self.value(second)
        return -difference if self.lower_is_better else difference

    def write(self, value: float, *, as_lead: bool = False) -> str:
        """Write a score, or a difference in points of a hundred or the score's own units."""
        digits = 1 if len(self.truth) < MANY_VERTICES else 2
        if not as_lead:
            return f"{100 * value:.{digits}f}\xa0%" if self.share else number(value)
        own = f"{value:+,.0f}" if abs(value) >= 1000 else f"{value:+.3g}"
        return "0" if not value else f"{100 * value:+.{digits}f}" if self.share else own

    def size(self, value: float) -> str:
        """Write how large a difference is."""
        shown = self.write(abs(value), as_lead=True).lstrip("+")
        if not self.share:
            return shown
        return "1 point" if shown.rstrip("0") == "1." else f"{shown} points"


class Accuracy(Yardstick):
    """The share of vertices whose class is right."""

    key, name = "accuracy", "accuracy"
    interval_by = "Wilson’s formula"
    test = "McNemar’s exact test on the same vertices"
    guess, guess_title = "always answering the largest class", "largest class"

    def value(self, number: int) -> float:
        return float(self._right(number).mean())

    def measures(self) -> list[comparing.Measure]:
        return []

    def interval(self, number: int) -> tuple[float, float]:
        right = self._right(number)
        return comparing.wilson_interval(int(right.sum()), len(right))

    def p_value(self, first: int, second: int) -> float:
        return comparing.mcnemar_test(self._right(first), self._right(second))

    def _right(self, number: int) -> NDArray[np.bool_]:
        return self.models[number].answers == self.truth


class Ranking(Yardstick):
    """Average precision of the class that is looked for."""

    key, name, share = "average_precision", "average precision", False
    guess, guess_title = "guessing", "guessing"

    def __init__(self, truth: NDArray[Any], models: Sequence[ModelOutputs], positive: int) -> None:
        super().__init__(truth, models)
        self.positive, self.strata = positive, truth

    def write(self, value: float, *, as_lead: bool = False) -> str:
        return f"{value:+.3f}" if as_lead else f"{value:.3f}"

    def value(self, number: int) -> float:
        return float(self.measures()[number](np.ones((1, len(self.truth))))[0])

    def measures(self) -> list[comparing.Measure]:
        is_positive = self.truth == self.positive
        return [
            comparing.average_precision_of(m.outputs[:, self.positive], is_positive)
            for m in self.models
        ]

    def interval(self, number: int) -> tuple[float, float]:
        """Return the interval; of a perfect ranking, that of finding all positives."""
        low, high = super().interval(number)
        if self.value(number) == 1:
            n = int((self.truth == self.positive).sum())
            low = comparing.wilson_interval(n, n)[0]
        return low, high


class MeanLoss(Yardstick):
    """A mean of what each vertex costs."""

    lower_is_better = True

    @abstractmethod
    def losses(self, model: ModelOutputs) -> Array:
        """Return what is averaged over the vertices (m,)."""

    def value(self, number: int) -> float:
        return float(self.losses(self.models[number]).mean())

    def measures(self) -> list[comparing.Measure]:
        every = [self.losses(model) for model in self.models]
        return [lambda drawn, loss=losses: drawn @ loss / len(loss) for losses in every]


class MeanCost(MeanLoss):
    """What the errors of two classes cost, per vertex."""

    key, name, share = "cost", "mean cost", False
    guess, guess_title = "always giving the cheaper answer", "cheaper answer"

    def __init__(
        self, truth: NDArray[Any], models: Sequence[ModelOutputs], positive: int, costs: Costs
    ) -> None:
        super().__init__(truth, models)
        self.positive, self.costs = positive, costs

    def losses(self, model: ModelOutputs) -> Array:
        wrong = model.answers != self.truth
        missed = wrong & (self.truth == self.positive)
        return self.costs.missed * missed + self.costs.false_alarm * (wrong & ~missed)

    def interval(self, number: int) -> tuple[float, float]:
        """Return the interval; an error that was not seen may still come, at Wilson's rate."""
        low, high = super().interval(number)
        of_positive = self.truth == self.positive
        wrong = self.models[number].answers != self.truth
        for cost, index in (
            (self.costs.missed, of_positive), (self.costs.false_alarm, ~of_positive),
        ):  # fmt: skip
            if (n := int(index.sum())) and not wrong[index].any():
                high += cost * comparing.wilson_interval(0, n)[1] * n / len(wrong)
        return low, high


class _Paired(MeanLoss):
    """A loss per vertex that is tested by its differences."""

    test = "a paired t-test on the same vertices"

    def p_value(self, first: int, second: int) -> float:
        if len(self.truth) < 2:
            return 1.0
        difference = self.losses(self.models[first]) - self.losses(self.models[second])
        return comparing.corrected_t_test(difference, 0.0)


class TypicalError(_Paired):
    """The root of the mean squared error of numbers."""

    key, name, share = "rmse", "typical error (RMSE)", False
    guess, guess_title = "always answering the mean", "the mean"

    def losses(self, model: ModelOutputs) -> Array:
        return np.square(model.outputs - self.truth).mean(axis=1)

    def value(self, number: int) -> float:
        return float(np.sqrt(super().value(number)))

    def interval(self, number: int) -> tuple[float, float]:
        low, high = super().interval(number)
        return float(np.sqrt(low)), float(np.sqrt(high))


class LabelsWrong(_Paired):
    """The share of labels that are wrong, where a vertex may have several."""

    key, name = "labels_wrong", "labels wrong"
    guess, guess_title = "always giving the usual answer for each", "the usual answer"

    def losses(self, model: ModelOutputs) -> Array:
        return (model.answers != (self.truth > 0.5)).mean(axis=1)


@dataclass(frozen=True)
class Score:
    """The score of one model on the judged vertices, beside that of the fitted one.

    ``lead`` and ``p_value`` say by how much the fitted model is better on the same vertices; None
    for the fitted model itself. ``shown`` is the value, written out; ``verdict`` is how the fitted
    model compares with this one: better, worse, or a tie (p > 0.05).
    """

    title: str
    meaning: str
    value: float
    shown: str
    low: float
    high: float
    lead: float | None = None
    p_value: float | None = None
    verdict: str = "tie"


@dataclass(frozen=True, eq=False)
class Comparison:
    """The fitted model, its baselines and always giving the same answer, by one yardstick.

    Attributes
    ----------
    yardstick : Yardstick
    part : str
        The vertices it is about: test, or validation or train where there are no others.
    n_vertices : int
    ours, guessing : Score
    named : dict of str to Score
        The baselines.
    features_know, graph_could_help : bool
        Whether the network without the graph clearly beats guessing, and whether a fixed filter
        clearly beats that network.
    """

    yardstick: Yardstick
    part: str
    n_vertices: int
    ours: Score
    named: dict[str, Score]
    guessing: Score
    features_know: bool = False
    graph_could_help: bool = False

    @property
    def scores(self) -> tuple[Score, ...]:
        """All of them, the fitted model's first."""
        return (self.ours, *self.named.values(), self.guessing)


def compare(fit: Fit, meaning: str = "") -> Comparison:
    """Compare a fit with its baselines by the score that sees what is looked for.

    Costs where they are given; average precision where one of two classes is rare; accuracy of
    other classes. The error of numbers, and the share of labels that are wrong. ``meaning`` says
    what the fitted model is.
    """
    judged, models = fit.judged, (fit, *fit.baselines)
    truth = fit.plan.truth[judged]
    outputs = [ModelOutputs(model.outputs[judged], model.answers[judged]) for model in models]
    make, guess = _choose(fit, truth)
    measure = make(truth, [*outputs, guess])
    place, last = {model.name: i for i, model in enumerate(models)}, len(models)

    def score(number: int, title: str, meaning: str) -> Score:
        value = measure.value(number)
        made = Score(title, meaning, value, measure.write(value), *measure.interval(number))
        if not number:
            return made
        lead, p_value = measure.lead(0, number), measure.p_value(0, number)
        clear = "better" if lead > 0 else "worse"
        verdict = "tie" if p_value > comparing.SIGNIFICANCE else clear
        return replace(made, lead=lead, p_value=p_value, verdict=verdict)

    alone = place.get(NO_GRAPH)
    fixed = [place[name] for name in (LOW_PASS, TWO_STEPS) if name in place]
    return Comparison(
        measure,
        fit.part,
        len(truth),
        score(0, fit.title, meaning),
        {m.name: score(i, m.title, m.meaning) for i, m in enumerate(fit.baselines, start=1)},
        score(last, measure.guess_title, "always the same answer"),
        alone is not None and measure.beats(alone, last),
        alone is not None and any(measure.beats(i, alone) for i in fixed),
    )


def member_outputs(
    fit: Fit, at: NDArray[np.int64], predicted: NDArray[Any], second: Array | None
) -> ModelOutputs:
    """Return what a member says of some vertices, by the decision of the fit."""
    answers = predicted[at]
    if not fit.task.one_class:
        return ModelOutputs(answers.astype(np.float64), answers)
    if second is None:
        return ModelOutputs(np.eye(len(fit.names))[answers], answers)
    outputs = np.stack([1 - second[at], second[at]], axis=1)
    return ModelOutputs(outputs, answers_of(fit.task, outputs, fit.names, fit.user_decision))


def leaderboard(fit: Fit) -> list[dict[str, Any]]:
    """Return the members of a fit and its baselines, the best on validation vertices first.

    Each with its score, of validation vertices and of those that are judged by, its seconds, and
    its share in the answer: 1 of the fitted model, 0 of baselines.
    """
    notes = fit.estimator.member_notes_ if isinstance(fit.estimator, OfCommittee) else []
    whole = f"{fit.title}: all together" if notes else fit.title
    every = [(whole, fit.seconds, 1.0), *((n.title, n.seconds, n.share) for n in notes)]
    every += [(f"{b.title} (baseline): {b.meaning}", b.seconds, 0.0) for b in fit.baselines]
    rows: list[dict[str, Any]] = [
        {"title": title, "seconds": seconds, "share": share} for title, seconds, share in every
    ]
    make, by, lower = _choose(fit, fit.plan.truth[fit.judged])[0], fit.part, False
    for part in dict.fromkeys((fit.part, "val")):
        at = fit.scored.get(part, fit.judged[:0])
        # Average precision needs both classes.
        if not len(at) or _kind(_choose(fit, fit.plan.truth[at])[0]) is not _kind(make):
            continue
        models = [ModelOutputs(fit.outputs[at], fit.answers[at])]
        models += [member_outputs(fit, at, n.predicted, n.second) for n in notes]
        models += [ModelOutputs(b.outputs[at], b.answers[at]) for b in fit.baselines]
        measure: Yardstick = make(fit.plan.truth[at], models)
        by, lower = part, measure.lower_is_better
        for i, row in enumerate(rows):
            value = measure.value(i)
            row |= {part: value, f"{part}_shown": measure.write(value)}
    return sorted(rows, key=lambda row: row[by] if lower else -row[by])


def _kind(make: Any) -> Any:
    return getattr(make, "func", make)


def _choose(fit: Fit, truth: NDArray[Any]) -> tuple[Any, ModelOutputs]:
    """Return the yardstick of a fit, and the best answer that is the same for every vertex."""
    training = fit.plan.truth[fit.plan.split.train]
    if not fit.task.one_class:
        mean = np.broadcast_to(training.mean(axis=0), truth.shape)
        guess = ModelOutputs(mean, fit.task.decide(mean))
        return (TypicalError if fit.task is REGRESSION else LabelsWrong), guess
    shares = np.bincount(training, minlength=len(fit.names)) / len(training)
    outputs, positive, decision = np.tile(shares, (len(truth), 1)), fit.positive, fit.user_decision
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
