"""A fit: a plan with answers, how it is trained, and the models that it is compared with.

:func:`train_fit` makes a :class:`Fit`: the model, the same model on other splits
(:func:`repeat_fit`) and baselines of the same type (:func:`train_baselines`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators import graph as estimators
from graphfilter.estimators.members import has_folds, in_units
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.runs import answers as answering
from graphfilter.runs.plan import DEFAULT_REQUEST, FitRequest, Plan
from graphfilter.systems import get_system, train_system
from graphfilter.systems.committee import repeated_seed
from graphfilter.systems.pooling import pooling_of, without_own_labels
from graphfilter.systems.prepared import N_FOLDS, Folding
from graphfilter.training import Callback, Task
from graphfilter.training.callbacks import SILENT
from graphfilter.training.epoch import ASKED

# Beside a model that was stopped, baselines may take as long as it did, or so many seconds.
LEAST_COMPARED = 10.0
# The parts of a split, in words.
PARTS = {"train": "training", "val": "validation", "test": "test"}


@dataclass(frozen=True, eq=False)
class Fit:
    """A plan with the answers of a model: made once, by :func:`train_fit`, and only read since.

    Attributes
    ----------
    plan : Plan
        The graph, its split, what is to be learned of it and its diagnosis: before training.
    estimator : VertexEstimator
        Fitted; of a baseline, where it was trained.
    outputs : float array (n, C)
        What training ended with: probabilities, or numbers in their units.
    answers : array
        What is predicted: class numbers (n,), labels (n, L) of 0 and 1, or numbers (n, T).
    scored : dict of str to int array
        The vertices of each part whose value is known; parts without any are left out.
    part, judged : str and int array
        The last of them, to judge by: test, or validation or training where there is no other.
    task : Task
    names : list of str
        The classes, the labels, or what the numbers are called.
    decision, user_decision : Decision or None
        Of two classes, when the one looked for is predicted; None of anything else. It is the only
        rule from outputs to answers. The latter only where a user requested it: it is kept with
        the model.
    positive : int or None
        The class of two that is looked for.
    name, title, meaning : str
        Of a baseline; the title of the fitted model is 'this model'.
    seconds : float
        Of training.
    baselines : tuple of Fit
        Plain models on the same split; none where they were not requested, or stopped.
    notes : tuple of str
        What was cleaned, guessed, drawn and decided.
    coverage : float or None
        Of the sets or intervals that were requested.
    """

    plan: Plan
    estimator: VertexEstimator
    outputs: NDArray[np.float64]
    answers: NDArray[Any]
    scored: dict[str, NDArray[np.int64]]
    part: str
    judged: NDArray[np.int64]
    task: Task
    names: list[str]
    decision: answering.Decision | None
    user_decision: answering.Decision | None
    positive: int | None
    name: str = ""
    title: str = "this model"
    meaning: str = ""
    seconds: float = 0.0
    baselines: tuple[Fit, ...] = ()
    notes: tuple[str, ...] = ()
    coverage: float | None = None

    @classmethod
    def of(
        cls,
        plan: Plan,
        estimator: VertexEstimator,
        outputs: NDArray[np.float64],
        decision: answering.Decision | answering.DecisionRule | None = None,
        **about: Any,
    ) -> Fit:
        """Return the outputs of a model as a fit; ``about`` are its name, title, notes, ..."""
        if isinstance(decision, answering.DecisionRule):
            decision = decision.settle(plan, outputs)
        task, names = plan.target.task, plan.names
        by_user = None if decision is None or decision.metric == answering.DEFAULT else decision
        parts = {part: getattr(plan.split, part) for part in PARTS}
        scored = {part: index[plan.is_labelled[index]] for part, index in parts.items()}
        scored = {part: index for part, index in scored.items() if len(index)}
        last = list(scored)[-1]
        positive = None if decision is None else names.index(decision.positive)
        answers = answering.answers_of(task, outputs, names, by_user)
        return cls(
            plan, estimator, outputs, answers, scored, last, scored[last], task, names, decision,
            by_user, positive, **about,
        )  # fmt: skip

    @cached_property
    def scores(self) -> dict[str, dict[str, Any]]:
        """The scores of the task on every part."""
        truth, positive = self.plan.truth, 1 if self.positive is None else self.positive
        return {
            part: self.task.measure(self.outputs[at], truth[at], self.answers[at], positive)
            for part, at in self.scored.items()
        }

    @cached_property
    def calibration(self) -> answering.Calibration | None:
        """Sets or intervals that hold the truth as often as requested; None where not requested."""
        return answering.calibrate(self.plan, self.estimator, self.coverage, self.answers)


def train_fit(
    plan: Plan,
    estimator: VertexEstimator,
    *,
    request: FitRequest = DEFAULT_REQUEST,
    baselines: bool = True,
    callback: Callback = SILENT,
) -> Fit:
    """Fit an estimator of these parameters to what was planned, and plain models beside it.

    Nothing but checkpoints is written, and the estimator itself is not fitted: that of the fit is.

    Parameters
    ----------
    baselines : bool
        Train plain models on the same split too.
    callback : Callback
        Watches the estimator's epochs and those of the plain models, and may end either: the best
        weights so far are then kept, and baselines that are not done left out. Beside a model that
        was ended early, or has a time limit, they may take as long as it did.
    request : FitRequest
        Thresholds and costs.
    """
    rule, wishes = answering.plan_decision(plan, request), dict[str, Any]()
    if request.coverage is not None:
        wishes["calibration_fraction"] = answering.calibration_share(
            len(plan.split.val), request.coverage
        )
    if rule is not None and rule.is_named and isinstance(estimator, estimators.VertexClassifier):
        wishes["positive"] = plan.target.names[rule.positive]
    # Another one: what the caller handed in stays as it is.
    estimator = type(estimator)(**{**estimator.get_params(deep=False), **wishes})
    estimator.fit(graph=plan.graph, y=plan.target, split=plan.split, callback=callback)
    fit = Fit.of(
        plan, estimator, estimator.outputs_, rule, seconds=estimator.seconds_,
        notes=(*plan.notes, *estimator.notes_), coverage=request.coverage,
    )  # fmt: skip
    of_compared = callback.of_compared()
    limited = getattr(estimator, "seconds", None) is not None
    if limited or any(result.stopped == ASKED for result in estimator.results_):
        of_compared = of_compared.within(max(estimator.seconds_, LEAST_COMPARED))
    if baselines:
        fit = replace(fit, baselines=train_baselines(fit, rule, callback=of_compared))
    return fit


def train_baselines(
    fit: Fit, rule: answering.DecisionRule | None = None, *, callback: Callback = SILENT
) -> tuple[Fit, ...]:
    """Train MLP, APPNP and SGC, without edges MLP alone, as the model of a fit was trained.

    The split, the scaling of the features, the class weights, the most epochs, the patience, the
    score that chooses the best epoch, the number of networks that are averaged, the folds that they
    hold out and the rule of the decision are the model's; each system has its usual learning rate
    and decay. One that the callback ends is left out, and those after it: cut short it would be no
    fair comparison.
    """
    plan, fitted, held = fit.plan, fit.estimator, fit.estimator.held_
    held = held if has_folds(held) else None
    made: list[Fit] = []
    for name, meaning in plan.baselines.items():
        other = _baseline(fitted, name)
        if held is None:
            other.fit_prepared(
                fitted.prepared_, fitted.graph_, plan.target, plan.split, seed=plan.seed,
                callback=callback,
            )  # fmt: skip
            results, outputs, seconds = other.results_, other.outputs_, other.seconds_
        else:
            outcomes = train_system(
                fitted.prepared_,
                other.build_system(**other.choose(plan.target, plan.split)),
                Folding.again(held, plan.split).splits,
                [repeated_seed(plan.seed, fold) for fold in range(N_FOLDS)],
                class_weight=fitted.class_weights_,
                callback=callback,
            )
            results, seconds = [o.result for o in outcomes], sum(o.seconds for o in outcomes)
            answers = without_own_labels([o.probabilities for o in outcomes], held)
            outputs = in_units(pooling_of(fit.task).together(answers), fitted.target_scales_)
        if any(result.stopped == ASKED for result in results):
            break
        about = {"name": name, "title": get_system(name).title, "meaning": meaning}
        made.append(Fit.of(plan, other, outputs, rule, seconds=seconds, **about))
    return tuple(made)


def _baseline(
    fitted: VertexEstimator, name: str
) -> estimators.SystemClassifier | estimators.SystemRegressor:
    """Return a plain model with the limits of a fitted one."""
    settings = fitted.system_.settings()
    limits = {key: settings[key] for key in ("max_epochs", "patience", "monitor")}
    limits |= {key: getattr(fitted, key) for key in ("n_members", "device", "calibration_fraction")}
    if isinstance(fitted, estimators.VertexClassifier) and fitted.task_.one_class:
        weights = {"class_weight": fitted.class_weight, "positive": fitted.positive}
        return estimators.SystemClassifier(model=name, **limits, **weights)
    # A score of classes stands for every task's own.
    limits["monitor"] = fitted.task_.resolve(limits["monitor"])
    model = f"{name}@dropout={settings.get('dropout', estimators.DROPOUT)}"
    if isinstance(fitted, estimators.VertexRegressor):
        scales = [scale.name for scale in fitted.target_scales_]
        return estimators.SystemRegressor(model=model, scale=scales, **limits)
    return estimators.SystemClassifier(model=model, **limits)
