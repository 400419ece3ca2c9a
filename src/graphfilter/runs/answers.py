"""From outputs to answers: the threshold of two classes, and sets or intervals at a coverage.

Of two classes one is called positive: the one that is looked for (fraud, churn). ``scores`` are its
probabilities and ``truth`` says of which vertices it is the class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.calibration import fewest_for
from graphfilter.estimators.graph import VertexClassifier, VertexRegressor
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.runs.comparing import LEVEL, wilson_interval
from graphfilter.runs.plan import FitRequest, Plan
from graphfilter.training import Task
from graphfilter.training.scores import looked_for
from graphfilter.util.errors import ConfigError, check_name
from graphfilter.util.words import Noun, count, number, read_number

Scores = NDArray[np.float64]
Truth = NDArray[np.bool_]

# What a threshold can be chosen by; cost is made small, the others large.
DECISION_METRICS = ("f1", "accuracy", "balanced_accuracy", "mcc", "cost")
# So many of a list are looked into.
BUDGETS = (10, 50, 100, 500, 1000, 5000, 10_000)


@dataclass(frozen=True)
class Costs:
    """What the two errors cost: a positive that is missed, and a false alarm."""

    missed: float = 1.0
    false_alarm: float = 1.0


EQUAL_COSTS = Costs()


@dataclass(frozen=True)
class Decision:
    """When the positive class is answered: where its probability is at least the threshold.

    Attributes
    ----------
    positive : str
        The name of the class.
    threshold : float
    metric : str
        What the threshold was chosen by, on the validation vertices; 'given' where it was given.
    costs : Costs
    """

    positive: str
    threshold: float
    metric: str = "given"
    costs: Costs = EQUAL_COSTS

    def decide(self, probabilities: Scores, classes: Sequence[Any]) -> NDArray[np.int64]:
        """Return class numbers (n,) from probabilities (n, 2)."""
        positive = [str(c) for c in classes].index(self.positive)
        answered = probabilities[:, positive] >= self.threshold
        return np.where(answered, positive, 1 - positive)


@dataclass(frozen=True, eq=False)
class BinaryCurve:
    """What every threshold would give, from the one that answers no vertex positive down.

    Attributes
    ----------
    thresholds : array (k,)
        Decreasing; half way between neighbouring scores.
    found, alarms : array (k,)
        How many positives are found, and how many others are taken for one.
    n_positive, n_negative : int
    average_precision, roc_area : float
        The mean precision over the positives, in the order in which they are found; the
        probability that a positive scores higher than another vertex.
    """

    thresholds: Scores
    found: NDArray[np.int64]
    alarms: NDArray[np.int64]
    n_positive: int
    n_negative: int
    average_precision: float
    roc_area: float

    @classmethod
    def of(cls, scores: Scores, truth: Truth) -> BinaryCurve:
        """Count at every distinct score, both classes being there."""
        # Slow to import.
        from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

        n_positive, n_negative = int(truth.sum()), int((~truth).sum())
        alarm_rate, recall, at = roc_curve(truth, scores, drop_intermediate=False)
        distinct = at[1:]
        top = (1 + distinct[0]) / 2 if distinct[0] < 1 else np.nextafter(1.0, 2.0)
        between = (distinct[:-1] + distinct[1:]) / 2
        # Where two scores are next to each other there is nothing between them but themselves.
        between = np.where(between > distinct[1:], between, distinct[:-1])
        return cls(
            np.concatenate([[top], between, [distinct[-1] / 2]]),
            np.rint(recall * n_positive).astype(np.int64),
            np.rint(alarm_rate * n_negative).astype(np.int64),
            n_positive,
            n_negative,
            float(average_precision_score(truth, scores)),
            float(roc_auc_score(truth, scores)),
        )

    @property
    def recall(self) -> Scores:
        """The share of the positives that is found: the true positive rate."""
        return self.found / max(self.n_positive, 1)

    @property
    def false_alarm_rate(self) -> Scores:
        return self.alarms / max(self.n_negative, 1)

    @property
    def precision(self) -> Scores:
        """The share of the answers that is right; 1 where there are none."""
        answers = self.found + self.alarms
        return np.divide(self.found, answers, out=np.ones(len(answers)), where=answers > 0)

    def values(self, metric: str, costs: Costs = EQUAL_COSTS) -> Scores:
        """Return a metric at every threshold, larger where better (cost with a minus)."""
        check_name("metric of a threshold", metric, DECISION_METRICS)
        tp, fp = self.found.astype(float), self.alarms.astype(float)
        fn, tn = self.n_positive - tp, self.n_negative - fp
        n = self.n_positive + self.n_negative
        if metric == "f1":
            return 2 * tp / np.maximum(2 * tp + fp + fn, 1)
        if metric == "accuracy":
            return (tp + tn) / n
        if metric == "balanced_accuracy":
            return (self.recall + 1 - self.false_alarm_rate) / 2
        if metric == "mcc":
            size = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
            return np.divide(tp * tn - fp * fn, size, out=np.zeros(len(tp)), where=size > 0)
        return -(costs.missed * fn + costs.false_alarm * fp) / n


def choose_threshold(
    scores: Scores, truth: Truth, metric: str = "f1", costs: Costs = EQUAL_COSTS
) -> float:
    """Return the threshold with the best value of a metric; among equals the one nearest to 1/2.

    >>> scores = np.array([0.9, 0.4, 0.3, 0.1])
    >>> round(choose_threshold(scores, np.array([True, True, False, False])), 3)
    0.35
    """
    curve = BinaryCurve.of(scores, truth)
    values = curve.values(metric, costs)
    best = np.flatnonzero(values >= values.max() - 1e-12)
    return float(curve.thresholds[best[np.abs(curve.thresholds[best] - 0.5).argmin()]])


def score_decision(
    scores: Scores, truth: Truth, threshold: float, costs: Costs = EQUAL_COSTS
) -> dict[str, Any]:
    """Return what a threshold gives: counts, precision, recall, F1, accuracy and mean cost.

    Precision is None where nothing is answered positive, recall where nothing is.
    """
    answered = scores >= threshold
    tp, n = int((answered & truth).sum()), max(len(truth), 1)
    fp, fn = int(answered.sum()) - tp, int(truth.sum()) - tp
    return {
        "n_vertices": len(truth),
        "found": tp,
        "false_alarms": fp,
        "missed": fn,
        "precision": tp / (tp + fp) if tp + fp else None,
        "recall": tp / (tp + fn) if tp + fn else None,
        "f1": 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else None,
        "accuracy": (len(truth) - fp - fn) / n,
        "cost": (costs.missed * fn + costs.false_alarm * fp) / n,
    }


def score_budgets(scores: Scores, truth: Truth, costs: Costs) -> list[dict[str, Any]]:
    """Return what it gives to look into the first 10, 50, 100, … of the list by score, and all.

    ``cost`` is what the errors cost then: those not found, and those looked into in vain.

    >>> by = score_budgets(np.arange(60)[::-1] / 60, np.arange(60) < 12, Costs(10, 1))
    >>> [(row["n_vertices"], row["found"], row["cost"]) for row in by]
    [(0, 0, 120.0), (10, 10, 20.0), (50, 12, 38.0), (60, 12, 48.0)]
    """
    running = np.append(0, np.cumsum(truth[np.argsort(-scores, kind="stable")]))
    sizes = [0, *(size for size in BUDGETS if size < len(truth)), len(truth)]
    made = list[dict[str, Any]]()
    for size in sizes:
        found = int(running[size])
        missed, alarms = int(running[-1]) - found, size - found
        cost = float(costs.missed * missed + costs.false_alarm * alarms)
        made.append({"n_vertices": size, "found": found, "false_alarms": alarms, "cost": cost})
    return made


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

    def settle(self, plan: Plan, probabilities: NDArray[np.float64]) -> Decision:
        """Choose the threshold on the validation vertices, where it was not given."""
        threshold, val = self.threshold, plan.split.val
        if threshold is None:
            scores = probabilities[val, self.positive]
            truth = plan.target.codes[val] == self.positive
            threshold = choose_threshold(scores, truth, self.metric, self.costs)
        return Decision(plan.names[self.positive], threshold, self.metric, self.costs)


def plan_decision(plan: Plan, request: FitRequest) -> DecisionRule | None:
    """Check what was asked of the decision; None where there are not two classes."""
    options = {"threshold": request.threshold, "cost": request.costs, "positive": request.positive}
    codes, split, names = plan.target.codes, plan.split, plan.names
    if not plan.target.task.one_class or len(names) != 2:
        if asking := [option for option, value in options.items() if value]:
            what = len(names) if plan.target.task.one_class else "none"
            raise ConfigError(f"`{asking[0]}` needs two classes; there are {what}.")
        return None
    first = request.costs[0] if request.costs else ""
    meant = [i for i in (0, 1) if first.startswith(f"{names[i]}:{names[1 - i]}=")]
    if request.positive:
        positive = names.index(check_name("class", request.positive, names))
    else:
        positive = meant[0] if meant else looked_for(codes[split.train])
    costs = _read_costs(request.costs, names[positive], names[1 - positive])
    is_named = bool(request.positive or meant)
    word = request.threshold or ("cost" if request.costs else "")
    if not word:
        return DecisionRule(positive, DEFAULT, 0.5, costs, is_named)
    threshold = read_number(word)
    if threshold is not None:
        if not 0 <= threshold <= 1:
            raise ConfigError(f"`threshold` must be a probability from 0 to 1; got {word}.")
        return DecisionRule(positive, "given", threshold, costs, is_named)
    metric = check_name("threshold", word, DECISION_METRICS)
    if len(np.unique(codes[split.val])) < 2:
        text = f"`threshold={metric!r}` is chosen on validation vertices of both classes; there are"
        raise ConfigError(f"{text} none. Give a probability, or label more vertices.")
    return DecisionRule(positive, metric, None, costs, is_named)


def measure_decision(
    decision: Decision, plan: Plan, probabilities: NDArray[np.float64]
) -> dict[str, Any]:
    """Return what a decision gives on each part, beside answering the more probable class."""
    positive = plan.names.index(decision.positive)
    kinds = ("scores", "at_one_half", "budgets", "said")
    content: dict[str, Any] = {**asdict(decision), **{kind: {} for kind in kinds}}
    for part in ("train", "val", "test"):
        index = getattr(plan.split, part)
        index = index[plan.is_labelled[index]]
        if not len(index):
            continue
        scores, truth = probabilities[index, positive], plan.target.codes[index] == positive
        content["scores"][part] = score_decision(scores, truth, decision.threshold, decision.costs)
        content["at_one_half"][part] = score_decision(scores, truth, 0.5, decision.costs)
        content["budgets"][part] = score_budgets(scores, truth, decision.costs)
        content["said"][part] = describe_decision(
            content, part, plan.noun, plan.quote(decision.positive)
        )
    return content


def describe_decision(measured: Mapping[str, Any], part: str, noun: Noun, name: str) -> list[str]:
    """Say when the class looked for is predicted, what that finds on a part, and what errors cost.

    ``measured`` is the decision as :func:`measure_decision` returns it, ``name`` the class.
    """
    metric, scores = measured["metric"], measured["scores"][part]
    start = f"{name} is predicted where it is the more probable class"
    if metric != DEFAULT:
        what = {"mcc": "Matthews correlation", "f1": "F1"}.get(metric, metric.replace("_", " "))
        best = f"{'lowest' if metric == 'cost' else 'best'} {what} on the validation {noun.many}"
        by = "as given" if metric == "given" else f"the {best}"
        start = f"{name} is predicted from a probability of {measured['threshold']:.3g} ({by})"
    where, n = {"val": "validation", "train": "training"}.get(part, part), scores["n_vertices"]
    alarms = count(scores["false_alarms"], "false alarm")
    said = [
        f"{start}: on the {where} {noun.many} {scores['found']:,} of the "
        f"{scores['found'] + scores['missed']:,} are found, with {alarms}."
    ]
    if len(set(measured["costs"].values())) > 1:
        total, nothing = scores["cost"] * n, measured["budgets"][part][0]["cost"]
        said.append(
            f"Errors on these {noun.count(n)} cost {number(total)} in all, "
            f"{number(scores['cost'])} each; {number(nothing)} where none is predicted {name}."
        )
    return said


def answers_of(
    task: Task, outputs: NDArray[np.float64], names: list[str], decision: Decision | None
) -> NDArray[Any]:
    """Return the predictions: by the decision where there is one, otherwise by the task."""
    return task.decide(outputs) if decision is None else decision.decide(outputs, names)


def _read_costs(words: tuple[str, ...], positive: str, negative: str) -> Costs:
    """Read ``true:predicted=cost``; an error that is not named costs 1."""
    errors = {f"{positive}:{negative}": "missed", f"{negative}:{positive}": "false_alarm"}
    costs: dict[str, float] = {}
    for word in words:
        pair, _, number = word.rpartition("=")
        cost = read_number(number)
        if pair.strip() not in errors or cost is None or cost < 0:
            raise ConfigError(
                f"`cost` must be true:predicted=cost, such as {positive}:{negative}=10 (the cost "
                f"of predicting {negative!r} for {positive!r}); got {word!r}."
            )
        costs[errors[pair.strip()]] = cost
    if costs and not any({"missed": 1.0, "false_alarm": 1.0, **costs}.values()):
        raise ConfigError("`cost`: one of the two errors must have a cost above 0; got 0 for both.")
    return Costs(**costs)


@dataclass(frozen=True)
class Coverage:
    """The share of vertices whose set or interval held the truth, with its interval.

    >>> Coverage.of(np.array([True, True, True, False])).share
    0.75
    """

    n_vertices: int
    share: float
    low: float
    high: float

    @classmethod
    def of(cls, held: NDArray[np.bool_]) -> Coverage:
        """Count the vertices whose truth was held; there must be one."""
        n_held = int(held.sum())
        return cls(len(held), n_held / len(held), *wilson_interval(n_held, len(held)))


def chance_of_coverage(
    coverage: float, n_calibrated: int, n_vertices: int, level: float = LEVEL
) -> tuple[float, float]:
    r"""Return between which shares chance alone puts the coverage of new vertices.

    Of exchangeable vertices, those that are held are beta-binomial with
    :math:`a = n + 1 - l, b = l, l = \lfloor \alpha (n + 1) \rfloor`: both those that calibrate and
    those that are counted are few.

    >>> low, high = chance_of_coverage(0.9, n_calibrated=1000, n_vertices=1000)
    >>> round(low, 2), 0.92 < high < 0.93
    (0.87, True)
    """
    from scipy.stats import betabinom

    missed = int(np.floor((1 - coverage) * (n_calibrated + 1) + 1e-9))
    if missed < 1:
        return 1.0, 1.0
    law = betabinom(n_vertices, n_calibrated + 1 - missed, missed)
    ends = law.ppf([(1 - level) / 2, (1 + level) / 2]) / n_vertices
    return float(ends[0]), float(ends[1])


SEPARATOR = ";"
# With so many that calibrate, coverage varies by a hundredth: more would be wasted.
MOST_SET_ASIDE = 1000


@dataclass(frozen=True, eq=False)
class Calibration:
    """Sets or intervals of all vertices at one coverage.

    Attributes
    ----------
    plan : Plan
    coverage : float
    n_calibrated : int
        Validation vertices that calibrate.
    sets : bool array (n, C), optional
    intervals : array (n, T, 2), optional
    is_aside : bool
        Whether the calibration vertices were set aside, and chose nothing.
    n_widened : int
        Sets that hold the prediction beside what the coverage takes.
    """

    plan: Plan
    coverage: float
    n_calibrated: int
    sets: NDArray[np.bool_] | None = None
    intervals: NDArray[np.float64] | None = None
    is_aside: bool = False
    n_widened: int = 0

    @cached_property
    def held(self) -> NDArray[np.bool_]:
        """Whether the truth is inside, (n, T): of numbers each, otherwise in one column.

        Of no meaning where it is not known.
        """
        plan = self.plan
        if self.intervals is not None:
            low, high = self.intervals[..., 0], self.intervals[..., 1]
            return (low <= plan.truth) & (plan.truth <= high)
        assert self.sets is not None
        if plan.target.task.one_class:
            inside = self.sets[np.arange(len(self.sets)), plan.target.codes]
            return (inside & plan.is_labelled)[:, None]
        return np.all(self.sets | ~(plan.truth > 0.5), axis=1, keepdims=True)

    @cached_property
    def test(self) -> NDArray[np.int64]:
        """The test vertices whose truth is known."""
        test = self.plan.split.test
        return test[self.plan.is_labelled[test]]

    @cached_property
    def observed(self) -> tuple[Coverage, tuple[float, float]] | None:
        """The coverage of the test vertices, and between which shares chance alone puts it.

        Of all their numbers; None where there are no test vertices.
        """
        if not len(self.test):
            return None
        chance = chance_of_coverage(self.coverage, self.n_calibrated, len(self.test))
        return Coverage.of(self.held[self.test].ravel()), chance

    def by_name(self) -> dict[str, Coverage]:
        """Return the coverage of test vertices by class, label or number."""
        plan, test, names = self.plan, self.test, self.plan.names
        inside = self.held[test] if self.sets is None else self.sets[test]
        if plan.target.task.one_class:
            has = np.eye(len(names), dtype=bool)[plan.target.codes[test]]
        else:
            has = np.ones_like(inside) if self.sets is None else plan.truth[test] > 0.5
        columns = zip(names, inside.T, has.T, strict=True)
        return {name: Coverage.of(held[own]) for name, held, own in columns if own.any()}

    @property
    def is_exchangeable(self) -> bool:
        """Whether test vertices are drawn like those that calibrate: not by time, not by group."""
        return self.plan.by.times is None and self.plan.by.groups is None

    @cached_property
    def size(self) -> float:
        """How many classes a set has on average, or how wide intervals are in the middle."""
        unseen = ~np.isin(self.plan.parts, ("train", "val"))
        return size_of(unseen if unseen.any() else np.ones_like(unseen), self.sets, self.intervals)

    @property
    def n_sure(self) -> int:
        """Of how many vertices the set has one class."""
        return 0 if self.sets is None else int((self.sets.sum(axis=1) == 1).sum())

    def sentences(self) -> list[str]:
        """Say how large sets or intervals are, and whether they hold the truth as often."""
        task = self.plan.target.task
        lines = [describe_size(self.coverage, self.size, self.sets is not None, task.one_class)]
        if self.sets is not None and task.one_class:
            unseen = not np.isin(self.plan.parts, ("train", "val")).all()
            lines = [
                f"{lines[0][:-1]}{' on unseen vertices' if unseen else ''}; {self.n_sure:,} of all "
                f"{len(self.sets):,} vertices have one class."
            ]
        if self.n_widened:
            lines.append(f"Sets that hold the class of the threshold too: {self.n_widened:,}.")
        calibrated = count(self.n_calibrated, "validation vertex", "validation vertices")
        if self.n_calibrated < fewest_for(self.coverage):
            lines.append(too_few(self.n_calibrated, self.coverage))
        elif self.is_aside:
            lines.append(f"Calibrated on {calibrated} set aside, which chose nothing.")
        else:
            text = "that also chose the epochs: coverage may be a few points lower"
            lines.append(f"Calibrated on the {calibrated} {text}.")
        if not self.is_exchangeable:
            lines.append("Coverage is not guaranteed for vertices of another time or other groups.")
        if self.observed is not None:
            seen, (low, high) = self.observed
            lines.append(
                f"Observed coverage on {count(len(self.test), 'test vertex', 'test vertices')}: "
                f"{seen.share:.1%} ({seen.low:.1%} to {seen.high:.1%}); expected by chance for "
                f"vertices of the same kind: {low:.1%} to {high:.1%}."
            )
            if task.one_class and seen.share > high:
                lines.append("Every set holds the most probable class: coverage may be higher.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return it as ``metrics.json`` has it."""
        content: dict[str, Any] = {
            "coverage": self.coverage,
            "n_calibrated": self.n_calibrated,
            "set_aside": self.is_aside,
            "given": self.is_exchangeable,
            "size": self.size if np.isfinite(self.size) else None,
        }
        if self.sets is not None:
            content["one_class"] = self.n_sure
        if self.observed is not None:
            seen, chance = self.observed
            content |= {"observed": asdict(seen), "chance": chance}
            kind = "by_number" if self.sets is None else "by_class"
            content[kind] = {name: asdict(seen) for name, seen in self.by_name().items()}
        return content


def size_of(
    rows: NDArray[np.bool_], sets: NDArray[np.bool_] | None, intervals: NDArray[Any] | None
) -> float:
    """Return how many classes sets have on average, or how wide intervals are in the middle."""
    if intervals is not None:
        return float(np.median(np.diff(intervals[rows, 0], axis=1)))
    assert sets is not None
    return float(sets[rows].sum(axis=1).mean())


def describe_size(
    coverage: float, size: float, of_sets: bool, one_class: bool, on: str = ""
) -> str:
    """Say how large sets or intervals are."""
    if not of_sets:
        return f"Intervals with coverage {coverage:.3g} have a median width of {number(size)}{on}."
    of = "classes" if one_class else "labels"
    return f"Prediction sets with coverage {coverage:.3g} have {size:.2f} {of} on average{on}."


def too_few(n: int, coverage: float) -> str:
    """Say that so few vertices cannot calibrate a coverage."""
    return (
        f"{count(n, 'validation vertex', 'validation vertices')} cannot calibrate this coverage, "
        f"which needs {fewest_for(coverage)}: every set or interval holds everything."
    )


def calibrated_columns(
    names: Sequence[str],
    sets: NDArray[np.bool_] | None = None,
    intervals: NDArray[np.float64] | None = None,
) -> dict[str, NDArray[Any]]:
    """Return sets (n, C) as one column of text, or intervals (n, T, 2) as columns of their ends."""
    if sets is not None:
        joined = [
            SEPARATOR.join(n for n, inside in zip(names, row, strict=True) if inside)
            for row in sets
        ]
        return {"set": np.array(joined, dtype=object)}
    assert intervals is not None
    return {
        word if len(names) == 1 else f"{word}_{name}": intervals[:, t, end]
        for t, name in enumerate(names)
        for word, end in (("low", 0), ("high", 1))
    }


def calibration_share(n_validation: int, coverage: float) -> float:
    """Return which share of the validation vertices to set aside to calibrate a coverage.

    Half of them, at most 1,000. None where half would be too few for this coverage: all of them
    then calibrate, and choose too.

    >>> calibration_share(60, 0.9), calibration_share(12, 0.9), calibration_share(10_000, 0.9)
    (0.5, 0.0, 0.1)
    """
    if n_validation // 2 < fewest_for(coverage):
        return 0.0
    return min(0.5, MOST_SET_ASIDE / n_validation)


def calibrate(
    plan: Plan, estimator: VertexEstimator, coverage: float | None, answers: NDArray[Any]
) -> Calibration | None:
    """Return the sets or intervals of a fitted estimator; None where none are requested."""
    if coverage is None or estimator.calibration_ is None:
        return None
    n, aside = estimator.calibration_.n_vertices, bool(estimator.calibration_fraction)
    if isinstance(estimator, VertexRegressor):
        ends = estimator.predict_interval(coverage=coverage)
        shaped = ends if ends.ndim == 3 else ends[:, None]
        return Calibration(plan, coverage, n, intervals=shaped, is_aside=aside)
    assert isinstance(estimator, VertexClassifier)
    needed = estimator.predict_set(coverage=coverage)
    sets = with_answers(needed, answers)
    n_widened = int((sets & ~needed).any(axis=1).sum())
    return Calibration(plan, coverage, n, sets=sets, is_aside=aside, n_widened=n_widened)


def with_answers(sets: NDArray[np.bool_], answers: NDArray[Any]) -> NDArray[np.bool_]:
    """Return sets (n, C) that hold what is predicted: a class of each vertex, or its labels.

    A threshold or costs may choose another class than the most probable one, which a set holds
    anyway. A larger set holds the truth all the more.
    """
    chosen = np.eye(sets.shape[1], dtype=bool)[answers] if answers.ndim == 1 else answers > 0
    return sets | chosen
