"""Fit: what was trained on a graph and its outputs for every vertex; everything after reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators import Target, VertexEstimator
from graphfilter.fits.plan import Plan
from graphfilter.fits.promise import Promised, promise_of
from graphfilter.graph import Graph
from graphfilter.metrics import Decision
from graphfilter.spectral import Diagnosis, ValueDiagnosis
from graphfilter.splits import Split
from graphfilter.training import Task

PARTS = ("train", "val", "test")
# The metric of a decision that nobody asked for: the more probable class is answered.
DEFAULT = "default"


@dataclass(frozen=True, eq=False)
class Fit:
    """A model on a graph: made once, by :func:`~graphfilter.fits.train_fit`, and only read since.

    Answers, scores, comparison and report are derived from it, whatever the task.

    Attributes
    ----------
    plan : Plan
        The graph, its split, what is to be learned of it and its diagnosis: before training.
    estimator : VertexEstimator
        Fitted; of a baseline, where it was trained.
    outputs : float array (n, C)
        What training ended with: probabilities, or numbers in their units.
    decision : Decision or None
        Of two classes, when the one looked for is answered; None of anything else. It is the only
        rule from outputs to answers.
    name, title, meaning : str
        Of the model: a baseline's, or 'this model'.
    seconds : float
        Of training.
    baselines : tuple of Fit
        Plain models on the same split; none where they were not asked for, or stopped.
    repeats : mapping or None
        Scores of the same model on other splits, where that was asked for.
    notes : tuple of str
        What was cleaned, guessed, drawn and decided.
    coverage : float or None
        Of the sets or intervals that were asked for.
    """

    plan: Plan
    estimator: VertexEstimator
    outputs: NDArray[np.float64]
    decision: Decision | None = None
    name: str = ""
    title: str = "this model"
    meaning: str = ""
    seconds: float = 0.0
    baselines: tuple[Fit, ...] = ()
    repeats: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    coverage: float | None = None

    @cached_property
    def promised(self) -> Promised | None:
        """Sets or intervals that hold the truth as often as asked for; None where not asked."""
        return promise_of(self.plan, self.estimator, self.coverage, self.answers)

    @property
    def graph(self) -> Graph:
        return self.plan.graph

    @property
    def split(self) -> Split:
        return self.plan.split

    @property
    def target(self) -> Target:
        return self.plan.target

    @property
    def task(self) -> Task:
        return self.plan.target.task

    @property
    def names(self) -> list[str]:
        """The classes, the labels, or what the numbers are called."""
        return self.plan.names

    @property
    def diagnosis(self) -> Diagnosis | ValueDiagnosis:
        return self.plan.diagnosis

    @property
    def positive(self) -> int | None:
        """The class of two that is looked for; None where there are not two."""
        return None if self.decision is None else self.names.index(self.decision.positive)

    @property
    def asked(self) -> Decision | None:
        """The decision where somebody asked for one: what is kept with the model."""
        decision = self.decision
        return None if decision is None or decision.metric == DEFAULT else decision

    @cached_property
    def answers(self) -> NDArray[Any]:
        """What is answered: class numbers (n,), labels (n, L) of 0 and 1, or numbers (n, T)."""
        return answers_of(self.task, self.outputs, self.names, self.asked)

    @cached_property
    def scored(self) -> dict[str, NDArray[np.int64]]:
        """The vertices of each part whose value is known; parts without any are left out."""
        found = {part: getattr(self.split, part) for part in PARTS}
        found = {part: index[self.plan.known[index]] for part, index in found.items()}
        return {part: index for part, index in found.items() if len(index)}

    @property
    def part(self) -> str:
        """The part to judge by: test, or validation or training where there is no other."""
        return next(part for part in reversed(PARTS) if part in self.scored)

    @property
    def judged(self) -> NDArray[np.int64]:
        """The vertices of that part."""
        return self.scored[self.part]

    @cached_property
    def scores(self) -> dict[str, dict[str, Any]]:
        """The scores of the task on every part, of what is answered."""
        positive = 1 if self.positive is None else self.positive
        return {
            part: self.task.measure(
                self.outputs[index], self.plan.truth[index], self.answers[index], positive
            )
            for part, index in self.scored.items()
        }


def answers_of(
    task: Task, outputs: NDArray[np.float64], names: list[str], decision: Decision | None
) -> NDArray[Any]:
    """Return the predictions: by the decision where there is one, otherwise by the task."""
    return task.decide(outputs) if decision is None else decision.decide(outputs, names)
