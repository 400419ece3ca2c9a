"""What is measured of a fit: the content of ``metrics.json``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict
from typing import Any, NotRequired, TypedDict

import numpy as np

from graphfilter.estimators.graph import OfCommittee
from graphfilter.estimators.sgf import CHANNELS
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.models import ChannelNetwork
from graphfilter.runs.comparison import Comparison
from graphfilter.runs.decision import measure_decision
from graphfilter.runs.fit import Fit
from graphfilter.spectral import Diagnosis


class FitMetrics(TypedDict):
    """The content of ``metrics.json``; lists have one entry per member.

    ``task`` and ``target``: what is learned, and its classes, labels or name.
    ``scores`` are by part: n_vertices, and those of the task that are defined, of what is answered.
    ``headline``: the score that the report judges by, of this model and those beside it.
    ``label_frequency``: the graph frequency of each class, label or number.
    ``decision``, of two classes: the threshold, what it gives by part, and the lift.
    ``repeats``, where there are some: each score by mean, deviation, interval and values.
    ``channels``, where edges have types or directions: the name, the share in the answer, and
    ``theta``, the filter of each member.
    ``members``, of a committee: title, share, seconds, the epochs of all seeds, and a ``remark``
    where there is one; ``absent``: why others have no part, by title.
    ``promise``, where a coverage was asked for: how large sets or intervals are, and how often they
    held the truth of test vertices, also by class and by degree.
    ``scales``, of numbers: the scale each was learned on.
    ``filter`` holds the learned scalars of each member and its coefficients theta.
    """

    task: str
    target: list[str]
    scores: dict[str, dict[str, Any]]
    headline: dict[str, Any]
    split_rule: str
    label_frequency: dict[str, float | None]
    label_frequency_mean: float | None
    filter: list[dict[str, list[float]]]
    epochs: list[int]
    best_epoch: list[int]
    stopped: list[str]
    seconds: float
    peak_memory_mb: float | None
    decision: NotRequired[dict[str, Any]]
    repeats: NotRequired[Mapping[str, Any]]
    channels: NotRequired[list[dict[str, Any]]]
    members: NotRequired[dict[str, dict[str, Any]]]
    absent: NotRequired[dict[str, str]]
    promise: NotRequired[dict[str, Any]]
    scales: NotRequired[dict[str, str]]


def measure_fit(fit: Fit, comparison: Comparison) -> FitMetrics:
    """Return the content of ``metrics.json``."""
    estimator, plan = fit.estimator, fit.plan
    frequency, results = plan.frequency, estimator.results_
    finite = {n: float(f) if np.isfinite(f) else None for n, f in frequency.items()}
    known = [value for value in finite.values() if value is not None]
    mean = float(np.mean(known)) if known else None
    if isinstance(plan.diagnosis, Diagnosis):
        mean = float(plan.diagnosis.label_frequency.mean)
        mean = mean if np.isfinite(mean) else None
    peak_memory_mb = None
    if sys.platform != "win32":
        import resource

        # The largest resident size of this process so far.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak_memory_mb = round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)
    filters = [
        {name: p.detach().tolist() for name, p in f.named_parameters()}
        | {"theta": f.coefficients().detach().tolist()}
        for f in estimator.filters_
    ]
    metrics: FitMetrics = {
        "task": fit.task.name,
        "target": fit.names,
        "scores": fit.scores,
        "headline": {
            "score": comparison.yardstick.key,
            "part": comparison.part,
            "models": {
                score.title: {k: v for k, v in asdict(score).items() if k != "shown"}
                for score in comparison.scores
            },
        },
        "split_rule": plan.split.rule,
        "label_frequency": finite,
        "label_frequency_mean": mean,
        "filter": filters,
        "epochs": [result.n_epochs for result in results],
        "best_epoch": [result.best_epoch for result in results],
        "stopped": [result.stopped for result in results],
        "seconds": results[0].seconds,
        "peak_memory_mb": peak_memory_mb,
    }
    if fit.decision is not None:
        metrics["decision"] = measure_decision(fit.decision, plan, fit.outputs)
    if channels := measure_channels(estimator):
        metrics["channels"] = channels
    if fit.repeats is not None:
        metrics["repeats"] = fit.repeats
    if isinstance(estimator, OfCommittee):
        members: dict[str, dict[str, Any]] = {}
        for note in estimator.member_notes_:
            keys = ("title", "share", "seconds", "epochs", *(["remark"] if note.remark else []))
            members[note.name] = {key: getattr(note, key) for key in keys}
        metrics["members"], metrics["absent"] = members, estimator.absent_
        metrics["seconds"] = fit.seconds
    if fit.calibration is not None:
        metrics["promise"] = fit.calibration.to_dict()
    if estimator.target_scales_:
        scales = zip(fit.names, estimator.target_scales_, strict=True)
        metrics["scales"] = {name: scale.name for name, scale in scales}
    return metrics


def measure_channels(estimator: VertexEstimator) -> list[dict[str, Any]]:
    """Return what each channel contributes to the fitted graph's answer; nothing without any."""
    members = [m for m in estimator.members_ if isinstance(m, ChannelNetwork)]
    if not members:
        return []
    prepared = estimator.prepared_
    operator = prepared.operator(CHANNELS)
    # Copies: the estimator's own stay where they are.
    there = [deepcopy(m).eval().to(operator.device) for m in members]
    shares = [m.contributions(operator, prepared.x) for m in there]
    return [
        {
            "name": name,
            "share": float(np.mean([share[name] for share in shares])),
            "theta": [m.learned_filters()[name].coefficients().detach().tolist() for m in members],
        }
        for name in members[0].channels
    ]
