"""Training a fit: the model, the same on other splits, and plain models to compare with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators import (
    DROPOUT,
    SystemClassifier,
    SystemRegressor,
    VertexClassifier,
    VertexEstimator,
    VertexRegressor,
)
from graphfilter.fits.asked import DEFAULT_REQUEST, FitRequest
from graphfilter.fits.decision import DecisionRule, plan_decision
from graphfilter.fits.fit import Fit
from graphfilter.fits.plan import Plan
from graphfilter.fits.promise import calibration_share
from graphfilter.fits.repeats import repeat_fit
from graphfilter.splits import N_FOLDS, Folding
from graphfilter.systems import (
    get_system,
    pooling_of,
    repeated_seed,
    train_system,
    without_own_labels,
)
from graphfilter.training import ASKED, OnEpoch, shared

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
    asked: FitRequest = DEFAULT_REQUEST,
    baselines: bool = True,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    on_epoch: OnEpoch | None = None,
    on_baseline: OnEpoch | None = None,
) -> Fit:
    """Fit an estimator to what was planned, and plain models beside it.

    Nothing but checkpoints is written. Where several processes work together, all call this and
    end with the same fit.

    Parameters
    ----------
    baselines : bool
        Train plain models on the same split too; ``on_baseline`` is called after each of their
        epochs, ``on_epoch`` after each of the estimator's. Either may stop it: the best weights so
        far are then kept, and baselines left out.
    asked : FitRequest
        Thresholds, costs and repeats.
    """
    if asked.coverage is not None:
        estimator.calibration_fraction = calibration_share(len(plan.split.val), asked.coverage)
    rule = plan_decision(plan, asked)
    if rule is not None and rule.asked and isinstance(estimator, VertexClassifier):
        estimator.positive = plan.target.names[rule.positive]
    estimator.fit(
        graph=plan.graph, y=plan.target, split=plan.split, checkpoint=checkpoint, resume=resume,
        on_epoch=on_epoch, start_from=plan.earlier,
    )  # fmt: skip
    fit = _make_fit(plan, estimator, rule, estimator.outputs_, estimator.seconds_)
    notes = (*plan.notes, *estimator.notes_, *filter(None, [plan.side.note]))
    fit = replace(fit, notes=notes, coverage=asked.coverage)
    if asked.repeats > 1:
        fit = replace(fit, repeats=repeat_fit(fit, asked.repeats, on_epoch=on_baseline))
    if baselines:
        fit = replace(fit, baselines=train_baselines(fit, rule, on_epoch=on_baseline))
    return fit


def train_baselines(
    fit: Fit, rule: DecisionRule | None = None, *, on_epoch: OnEpoch | None = None
) -> tuple[Fit, ...]:
    """Train MLP, APPNP and SGC as the model of a fit was trained.

    The split, the scaling of the features, the class weights, the most epochs, the patience, the
    score that chooses the best epoch, the number of networks that are averaged, the folds that they
    hold out and the rule of the decision are the model's; each system has its usual learning rate
    and decay. Several processes divide them. Where ``on_epoch`` stops them none is returned: one
    cut short would be no fair comparison.
    """
    plan, fitted = fit.plan, fit.estimator
    others = [_baseline(fitted, name) for name in BASELINES]

    def work(number: int) -> tuple[NDArray[np.float64], float] | None:
        if fitted.held_ is not None:
            return _train_in_folds(fit, others[number], fitted.held_, on_epoch)
        other = others[number].fit_prepared(
            fitted.prepared_, fitted.graph_, plan.target, plan.split, seed=plan.seed,
            on_epoch=on_epoch,
        )  # fmt: skip
        if any(result.stopped == ASKED for result in other.results_):
            return None
        return other.outputs_, other.seconds_

    made = shared(len(others), work, on_epoch)
    if None in made:
        return ()
    return tuple(
        replace(
            _make_fit(plan, other, rule, *answered),
            name=name,
            title=get_system(name).title,
            meaning=BASELINES[name],
        )
        for name, other, answered in zip(BASELINES, others, made, strict=True)
        if answered is not None
    )


def _train_in_folds(
    fit: Fit, other: VertexEstimator, held: NDArray[np.int8], on_epoch: OnEpoch | None
) -> tuple[NDArray[np.float64], float] | None:
    """Return the outputs of a baseline whose networks hold out the folds of the model's.

    None where ``on_epoch`` stopped it.
    """
    plan, fitted = fit.plan, fit.estimator
    system = other.build_system(**other.choose(plan.target, plan.split))
    outcomes = train_system(
        fitted.prepared_,
        system,
        Folding.again(held, plan.split).splits,
        [repeated_seed(plan.seed, fold) for fold in range(N_FOLDS)],
        class_weight=fitted.class_weights_,
        on_epoch=on_epoch,
    )
    if any(outcome.result.stopped == ASKED for outcome in outcomes):
        return None
    answers = without_own_labels([outcome.probabilities for outcome in outcomes], held)
    outputs = fitted.in_units(pooling_of(fit.task).together(answers))
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
