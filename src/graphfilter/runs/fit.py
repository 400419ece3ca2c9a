"""A fit: a plan with answers, how it is trained, and the models that it is compared with.

:func:`train_fit` makes a :class:`Fit`: the model, the same model on other splits
(:func:`repeat_fit`) and baselines of the same type (:func:`train_baselines`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.estimators.base import VertexClassifier, VertexRegressor
from graphfilter.estimators.inputs import draw_seed
from graphfilter.estimators.members import FittedMember, combine, in_units
from graphfilter.estimators.sgf import DROPOUT
from graphfilter.estimators.system import SystemClassifier, SystemRegressor
from graphfilter.estimators.targets import Target
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.runs.calibration import Promised, calibration_share, promise_of
from graphfilter.runs.decision import DEFAULT, DecisionRule, plan_decision
from graphfilter.runs.plan import DEFAULT_REQUEST, FitRequest, Plan, choose_split
from graphfilter.spectral import Diagnosis, ValueDiagnosis
from graphfilter.splits import N_FOLDS, Folding, Split
from graphfilter.systems import get_system, train_system
from graphfilter.systems.committee import repeated_seed, without_own_labels
from graphfilter.systems.pooling import pooling_of
from graphfilter.training import Callback, Task
from graphfilter.training.callbacks import SILENT
from graphfilter.training.comparing import mean_interval
from graphfilter.training.run import ASKED
from graphfilter.training.scores import Metric
from graphfilter.training.thresholds import Decision

PARTS = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class Fit:
    """A model on a graph: made once, by :func:`train_fit`, and only read since.

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
        Of a baseline; the title of the fitted model is 'this model'.
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
    def user_decision(self) -> Decision | None:
        """The decision where somebody asked for one: what is kept with the model."""
        decision = self.decision
        return None if decision is None or decision.metric == DEFAULT else decision

    @cached_property
    def answers(self) -> NDArray[Any]:
        """What is answered: class numbers (n,), labels (n, L) of 0 and 1, or numbers (n, T)."""
        return answers_of(self.task, self.outputs, self.names, self.user_decision)

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


# APPNP is low-pass on every graph. SGC squares the adjacency, so that the highest frequency
# passes as well as the lowest: it is shown beside, and does not answer whether low-pass will do.
NO_GRAPH, LOW_PASS, TWO_STEPS = "mlp", "appnp", "sgc"
BASELINES = {
    NO_GRAPH: "the same network without the graph",
    LOW_PASS: "a fixed low-pass filter: neighbours are always averaged",
    TWO_STEPS: ("a fixed two-step average that passes the highest frequency as well as the lowest"),
}


def train_fit(
    plan: Plan,
    estimator: VertexEstimator,
    *,
    request: FitRequest = DEFAULT_REQUEST,
    baselines: bool = True,
    callback: Callback = SILENT,
) -> Fit:
    """Fit an estimator to what was planned, and plain models beside it.

    Nothing but checkpoints is written.

    Parameters
    ----------
    baselines : bool
        Train plain models on the same split too.
    callback : Callback
        Watches the estimator's epochs and those of the plain models, and may end either: the best
        weights so far are then kept, and baselines left out.
    request : FitRequest
        Thresholds, costs and repeats.
    """
    if request.coverage is not None:
        estimator.calibration_fraction = calibration_share(len(plan.split.val), request.coverage)
    rule = plan_decision(plan, request)
    if rule is not None and rule.asked and isinstance(estimator, VertexClassifier):
        estimator.positive = plan.target.names[rule.positive]
    estimator.fit(
        graph=plan.graph, y=plan.target, split=plan.split, callback=callback,
        start_from=plan.earlier,
    )  # fmt: skip
    fit = _make_fit(plan, estimator, rule, estimator.outputs_, estimator.seconds_)
    notes = (*plan.notes, *estimator.notes_, *filter(None, [plan.side.note]))
    fit = replace(fit, notes=notes, coverage=request.coverage)
    of_compared = callback.of_compared()
    if request.repeats > 1:
        fit = replace(fit, repeats=repeat_fit(fit, request.repeats, callback=of_compared))
    if baselines:
        fit = replace(fit, baselines=train_baselines(fit, rule, callback=of_compared))
    return fit


def train_baselines(
    fit: Fit, rule: DecisionRule | None = None, *, callback: Callback = SILENT
) -> tuple[Fit, ...]:
    """Train MLP, APPNP and SGC as the model of a fit was trained.

    The split, the scaling of the features, the class weights, the most epochs, the patience, the
    score that chooses the best epoch, the number of networks that are averaged, the folds that they
    hold out and the rule of the decision are the model's; each system has its usual learning rate
    and decay. Where the callback ends them none is returned: one
    cut short would be no fair comparison.
    """
    plan, fitted = fit.plan, fit.estimator
    others = [_baseline(fitted, name) for name in BASELINES]

    def work(number: int) -> tuple[NDArray[np.float64], float] | None:
        if fitted.held_ is not None:
            return _train_in_folds(fit, others[number], fitted.held_, callback)
        other = others[number].fit_prepared(
            fitted.prepared_, fitted.graph_, plan.target, plan.split, seed=plan.seed,
            callback=callback,
        )  # fmt: skip
        if any(result.stopped == ASKED for result in other.results_):
            return None
        return other.outputs_, other.seconds_

    made: list[tuple[NDArray[np.float64], float]] = []
    for number in range(len(others)):
        answered = work(number)
        if answered is None:
            return ()
        made.append(answered)
    return tuple(
        replace(
            _make_fit(plan, other, rule, *answered),
            name=name,
            title=get_system(name).title,
            meaning=BASELINES[name],
        )
        for name, other, answered in zip(BASELINES, others, made, strict=True)
    )


def _train_in_folds(
    fit: Fit, other: VertexEstimator, held: NDArray[np.int8], callback: Callback
) -> tuple[NDArray[np.float64], float] | None:
    """Return the outputs of a baseline whose networks hold out the folds of the model's.

    None where the callback ended it.
    """
    plan, fitted = fit.plan, fit.estimator
    system = other.build_system(**other.choose(plan.target, plan.split))
    outcomes = train_system(
        fitted.prepared_,
        system,
        Folding.again(held, plan.split).splits,
        [repeated_seed(plan.seed, fold) for fold in range(N_FOLDS)],
        class_weight=fitted.class_weights_,
        callback=callback,
    )
    if any(outcome.result.stopped == ASKED for outcome in outcomes):
        return None
    answers = without_own_labels([outcome.probabilities for outcome in outcomes], held)
    outputs = in_units(pooling_of(fit.task).together(answers), fitted.target_scales_)
    return outputs, sum(outcome.seconds for outcome in outcomes)


def _make_fit(
    plan: Plan,
    estimator: VertexEstimator,
    rule: DecisionRule | None,
    outputs: NDArray[np.float64],
    seconds: float,
) -> Fit:
    """Return a model and what it says as a fit; each chooses its own threshold."""
    decision = None if rule is None else rule.settle(plan, outputs)
    return Fit(plan, estimator, outputs, decision, seconds=seconds, notes=plan.notes)


def _baseline(fitted: VertexEstimator, name: str) -> SystemClassifier | SystemRegressor:
    """Return a plain model with the limits of a fitted one."""
    settings = fitted.system_.settings()
    shared = {name: settings[name] for name in ("max_epochs", "patience", "monitor")}
    for parameter in ("n_members", "device", "calibration_fraction"):
        shared[parameter] = getattr(fitted, parameter)
    if isinstance(fitted, VertexClassifier) and fitted.task_.one_class:
        own = {"class_weight": fitted.class_weight, "positive": fitted.positive}
        return SystemClassifier(model=name, **shared, **own)
    # A score of classes stands for every task's own.
    shared["monitor"] = fitted.task_.resolve(shared["monitor"])
    model = f"{name}@dropout={settings.get('dropout', DROPOUT)}"
    if isinstance(fitted, VertexRegressor):
        scales = [scale.name for scale in fitted.target_scales_]
        return SystemRegressor(model=model, scale=scales, **shared)
    return SystemClassifier(model=model, **shared)


def repeat_fit(fit: Fit, repeats: int, *, callback: Callback = SILENT) -> dict[str, Any] | None:
    """Train the system of a fit again on other splits, side by side.

    Repeat k has the split and the networks of the fit with seed ``seed + k``. A split that is not
    drawn, by time or given, is the same every time. Class weights and threshold are those of the
    fit.

    Returns
    -------
    dict or None
        Each score of each part by mean, deviation, 95 % interval of the mean and values, the
        fit's first; None where the callback ended it.
    """
    plan, estimator = fit.plan, fit.estimator
    members = estimator.n_members
    splits, seeds = [plan.split], list(range(plan.seed, plan.seed + repeats))
    networks: list[int] = []
    for other in seeds[1:]:
        splits.append(choose_split(plan.graph, other, plan.by)[0])
        networks += np.random.SeedSequence(draw_seed(other)).generate_state(members).tolist()
    outcomes = train_system(
        estimator.prepared_,
        estimator.system_,
        [split for split in splits[1:] for _ in range(members)],
        networks,
        class_weight=estimator.class_weights_,
        callback=callback,
    )
    if any(outcome.result.stopped == "asked" for outcome in outcomes):
        return None
    alike = [FittedMember(o.system, o.network, weight=1 / members) for o in outcomes[:members]]
    outputs = [outcome.probabilities for outcome in outcomes]
    each = [fit] + [
        replace(
            fit,
            plan=replace(plan, split=split),
            outputs=in_units(
                combine(outputs[i : i + members], alike, fit.task), estimator.target_scales_
            ),
        )
        for split, i in zip(splits[1:], range(0, len(outputs), members), strict=True)
    ]
    same = all(_equal(split, splits[0]) for split in splits)
    scores = [one.scores for one in each]
    return {
        "n": repeats,
        "seeds": seeds,
        "splits": "one" if same else "drawn",
        "scores": _spread(scores, splits, fit.task.metrics, same=same),
    }


def _spread(
    scores: Sequence[dict[str, dict[str, Any]]],
    splits: Sequence[Split],
    metrics: Mapping[str, Metric],
    *,
    same: bool,
) -> dict[str, dict[str, Any]]:
    """Summarise the scores that every repeat has."""
    found: dict[str, dict[str, Any]] = {}
    for part in [p for p in ("train", "val", "test") if all(p in s for s in scores)]:
        # Splits of one graph share vertices, so that their scores are not independent.
        ratios = [len(getattr(split, part)) / len(split.train) for split in splits]
        ratio = 0.0 if same else float(np.mean(ratios))
        names = set.intersection(*(set(s[part]) for s in scores)) & set(metrics)
        found[part] = {
            name: _summary(metrics[name], [s[part][name] for s in scores], ratio)
            for name in scores[0][part]
            if name in names
        }
    return found


def _summary(metric: Metric, values: list[float], ratio: float) -> dict[str, Any]:
    """Return mean, deviation and interval, within the values that the score can take."""
    mean, deviation = float(np.mean(values)), float(np.std(values))
    low, high = mean_interval(mean, deviation, len(values), ratio)
    least, most = (0.0, 1.0) if metric.share else (-np.inf, np.inf)
    return {
        "mean": mean,
        "deviation": float(np.std(values, ddof=1)),
        "low": max(low, least) if np.isfinite(low) else None,
        "high": min(high, most) if np.isfinite(high) else None,
        "values": values,
    }


def _equal(a: Split, b: Split) -> bool:
    return all(
        np.array_equal(getattr(a, part), getattr(b, part)) for part in ("train", "val", "test")
    )
