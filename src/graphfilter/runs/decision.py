"""From what a user asks of two classes to a decision, and what it is worth."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.runs.plan import FitRequest, Plan
from graphfilter.training.scores import looked_for
from graphfilter.training.thresholds import (
    DECISION_METRICS,
    Costs,
    Decision,
    choose_threshold,
    lifts,
    score_decision,
)
from graphfilter.util.errors import ConfigError, check_name

# The metric of a decision that nobody requested: the more probable class is answered.
DEFAULT = "default"


@dataclass(frozen=True)
class DecisionRule:
    """How a threshold will be found once the probabilities are known.

    ``is_named`` says whether the class looked for was named, or costs.
    """

    positive: int
    metric: str
    threshold: float | None
    costs: Costs
    is_named: bool = False


def settle(
    rule: DecisionRule | None, plan: Plan, probabilities: NDArray[np.float64]
) -> Decision | None:
    """Choose the threshold on the validation vertices, where it was not given."""
    if rule is None:
        return None
    threshold, val = rule.threshold, plan.split.val
    if threshold is None:
        scores = probabilities[val, rule.positive]
        truth = plan.target.codes[val] == rule.positive
        threshold = choose_threshold(scores, truth, rule.metric, rule.costs)
    return Decision(plan.names[rule.positive], threshold, rule.metric, rule.costs)


def plan_decision(plan: Plan, request: FitRequest) -> DecisionRule | None:
    """Check what was asked of the decision; None where there are not two classes."""
    wanted = [w for w, v in (("threshold", request.threshold), ("cost", request.costs)) if v]
    wanted += ["positive"] if request.positive else []
    codes, split, names = plan.target.codes, plan.split, plan.names
    if not plan.target.task.one_class or len(names) != 2:
        if wanted:
            what = len(names) if plan.target.task.one_class else "none"
            raise ConfigError(f"`{wanted[0]}` needs two classes; there are {what}.")
        return None
    meant = [i for i in (0, 1) if request.costs and request.costs[0].startswith(_error(names, i))]
    if request.positive:
        positive = names.index(check_name("class", request.positive, names))
    else:
        positive = meant[0] if meant else looked_for(codes[split.train])
    costs = _read_costs(request.costs, names[positive], names[1 - positive])
    named = bool(request.positive or meant)
    word = request.threshold or ("cost" if request.costs else "")
    if not word:
        return DecisionRule(positive, DEFAULT, 0.5, costs, named)
    given = _read_number(word)
    if given is not None:
        if not 0 <= given <= 1:
            raise ConfigError(f"`threshold` must be a probability from 0 to 1; got {word}.")
        return DecisionRule(positive, "given", given, costs, named)
    metric = check_name("threshold", word, DECISION_METRICS)
    if len(np.unique(codes[split.val])) < 2:
        raise ConfigError(
            f"`threshold={metric!r}` is chosen on validation vertices of both classes; there are "
            f"{len(split.val)}, of one class at most. Give a probability, or label more vertices."
        )
    return DecisionRule(positive, metric, None, costs, named)


def measure_decision(
    decision: Decision, plan: Plan, probabilities: NDArray[np.float64]
) -> dict[str, Any]:
    """Return what a decision gives on each part, beside answering the more probable class."""
    positive = plan.names.index(decision.positive)
    found: dict[str, Any] = {**asdict(decision), "scores": {}, "at_one_half": {}, "lift": {}}
    for part in ("train", "val", "test"):
        index = getattr(plan.split, part)
        index = index[plan.known[index]]
        if not len(index):
            continue
        scores, truth = probabilities[index, positive], plan.target.codes[index] == positive
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
                f"`cost` must be true:predicted=cost, such as {positive}:{negative}=10 (the cost "
                f"of predicting {negative!r} for {positive!r}); got {word!r}."
            )
        costs[named[pair.strip()]] = cost
    if costs and not any({"missed": 1.0, "false_alarm": 1.0, **costs}.values()):
        raise ConfigError("`cost`: one of the two errors must have a cost above 0; got 0 for both.")
    return Costs(**costs)


def _read_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None
