"""From what a user asks of two classes to a decision, and what it is worth."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import ConfigError, check_name
from graphfilter.graph import Graph
from graphfilter.metrics.thresholds import (
    DECISION_METRICS,
    Costs,
    Decision,
    choose_threshold,
    lifts,
    score_decision,
)
from graphfilter.run_folder.asked import Asked
from graphfilter.splits import Split

# The metric of a decision that nobody asked for: the more probable class is answered.
DEFAULT = "default"


@dataclass(frozen=True)
class DecisionPlan:
    """How a threshold will be found once the probabilities are known."""

    positive: int
    metric: str
    threshold: float | None
    costs: Costs

    def settle(self, graph: Graph, probabilities: NDArray[np.float64], split: Split) -> Decision:
        """Choose the threshold on the validation vertices, where it was not given."""
        assert graph.labels is not None
        threshold = self.threshold
        if threshold is None:
            scores = probabilities[split.val, self.positive]
            truth = graph.labels[split.val] == self.positive
            threshold = choose_threshold(scores, truth, self.metric, self.costs)
        name = str(graph.classes[self.positive])
        return Decision(name, threshold, self.metric, self.costs)


def plan_decision(graph: Graph, split: Split, asked: Asked) -> DecisionPlan | None:
    """Check what was asked of the decision; None for a graph of more than two classes."""
    assert graph.labels is not None
    wanted = [w for w, v in (("threshold", asked.threshold), ("cost", asked.costs)) if v]
    wanted += ["positive"] if asked.positive else []
    if graph.n_classes != 2:
        if wanted:
            raise ConfigError(f"--{wanted[0]} is for two classes; there are {graph.n_classes}.")
        return None
    names = [str(c) for c in graph.classes]
    meant = [i for i in (0, 1) if asked.costs and asked.costs[0].startswith(_error(names, i))]
    if asked.positive:
        positive = names.index(check_name("class", asked.positive, names))
    elif meant:
        positive = meant[0]
    else:
        counts = np.bincount(graph.labels[split.train], minlength=2)
        positive = 0 if counts[0] < counts[1] else 1
    costs = _read_costs(asked.costs, names[positive], names[1 - positive])
    word = asked.threshold or ("cost" if asked.costs else "")
    if not word:
        return DecisionPlan(positive, DEFAULT, 0.5, costs)
    given = _read_number(word)
    if given is not None:
        if not 0 <= given <= 1:
            raise ConfigError(f"--threshold must be a probability from 0 to 1; got {word}.")
        return DecisionPlan(positive, "given", given, costs)
    metric = check_name("threshold", word, DECISION_METRICS)
    if len(np.unique(graph.labels[split.val])) < 2:
        raise ConfigError(
            f"--threshold {metric} is chosen on validation vertices of both classes; there are "
            f"{len(split.val)} of one class at most. Give a probability, or label more vertices."
        )
    return DecisionPlan(positive, metric, None, costs)


def measure_decision(
    decision: Decision, graph: Graph, probabilities: NDArray[np.float64], split: Split
) -> dict[str, Any]:
    """Return what a decision gives on each part, beside answering the more probable class."""
    assert graph.labels is not None
    positive = [str(c) for c in graph.classes].index(decision.positive)
    found: dict[str, Any] = {**asdict(decision), "scores": {}, "at_one_half": {}, "lift": {}}
    for part in ("train", "val", "test"):
        index = getattr(split, part)
        index = index[graph.labels[index] >= 0]
        if not len(index):
            continue
        scores, truth = probabilities[index, positive], graph.labels[index] == positive
        found["scores"][part] = score_decision(scores, truth, decision.threshold, decision.costs)
        found["at_one_half"][part] = score_decision(scores, truth, 0.5, decision.costs)
        found["lift"][part] = [lift.to_dict() for lift in lifts(scores, truth)]
    return found


def _error(names: list[str], true: int) -> str:
    """Write the error of taking one of two classes for the other."""
    return f"{names[true]}:{names[1 - true]}="


def _read_costs(words: tuple[str, ...], positive: str, negative: str) -> Costs:
    """Read ``true:predicted=cost``; an error that is not named costs 1."""
    named = {f"{positive}:{negative}": "missed", f"{negative}:{positive}": "false_alarm"}
    costs: dict[str, float] = {}
    for word in words:
        pair, _, number = word.rpartition("=")
        cost = _read_number(number)
        if pair.strip() not in named or cost is None or cost < 0:
            raise ConfigError(
                f"--cost must be true:predicted=cost, such as {positive}:{negative}=10 (what it "
                f"costs to take {positive!r} for {negative!r}); got {word!r}."
            )
        costs[named[pair.strip()]] = cost
    if costs and not any({"missed": 1.0, "false_alarm": 1.0, **costs}.values()):
        raise ConfigError("--cost: one of the two errors must cost something; got 0 for both.")
    return Costs(**costs)


def _read_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None
