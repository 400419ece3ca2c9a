"""What directions and edge types contribute to an answer."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, NotRequired, TypedDict

import numpy as np

from graphfilter.estimators.graph import MemberNote, OfCommittee
from graphfilter.estimators.sgf import CHANNELS
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.models import ChannelNetwork
from graphfilter.runs.comparison import Comparison
from graphfilter.runs.decision import measure_decision
from graphfilter.runs.fit import Fit
from graphfilter.spectral import Diagnosis


class ChannelMetrics(TypedDict):
    """One channel in ``metrics.json``: its share in the answer, and each member's filter."""

    name: str
    share: float
    theta: list[list[float]]


def measure_channels(estimator: VertexEstimator) -> list[ChannelMetrics]:
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


class MemberMetrics(TypedDict):
    """One member of a committee in ``metrics.json``; epochs are those of all its seeds."""

    title: str
    share: float
    seconds: float
    epochs: int
    remark: NotRequired[str]


class FitMetrics(TypedDict):
    """The content of ``metrics.json``; lists have one entry per member.

    ``task`` and ``target``: what is learned, and its classes, labels or name.
    ``scores`` are by part: n_vertices, and those of the task that are defined, of what is answered.
    ``headline``: the score that the report judges by, of this model and those beside it.
    ``label_frequency``: the graph frequency of each class, label or number.
    ``decision``, of two classes: the threshold, what it gives by part, and the lift.
    ``repeats``, where there are some: each score by mean, deviation, interval and values.
    ``channels``, where edges have types or directions: the share and the filter of each.
    ``members``, of a committee: the share, the time and the epochs of each, and a ``remark`` where
    there is one; ``absent``: why others have no part, by title.
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
    channels: NotRequired[list[ChannelMetrics]]
    members: NotRequired[dict[str, MemberMetrics]]
    absent: NotRequired[dict[str, str]]
    promise: NotRequired[dict[str, Any]]
    scales: NotRequired[dict[str, str]]


def measure_fit(fit: Fit, comparison: Comparison) -> FitMetrics:
    """Return the content of ``metrics.json``."""
    estimator, plan = fit.estimator, fit.plan
    frequency, results = plan.frequency, estimator.results_
    known = [value for value in frequency.values() if np.isfinite(value)]
    mean = float(np.mean(known)) if known else np.nan
    if isinstance(fit.diagnosis, Diagnosis):
        mean = fit.diagnosis.label_frequency.mean
    metrics: FitMetrics = {
        "task": fit.task.name,
        "target": fit.names,
        "scores": fit.scores,
        "headline": comparison.to_dict(),
        "split_rule": fit.split.rule,
        "label_frequency": {name: finite(value) for name, value in frequency.items()},
        "label_frequency_mean": finite(mean),
        "filter": [_filter_numbers(f) for f in estimator.filters_],
        "epochs": [result.n_epochs for result in results],
        "best_epoch": [result.best_epoch for result in results],
        "stopped": [result.stopped for result in results],
        "seconds": results[0].seconds,
        "peak_memory_mb": _peak_memory_mb(),
    }
    if fit.decision is not None:
        metrics["decision"] = measure_decision(fit.decision, plan, fit.outputs)
    if channels := measure_channels(estimator):
        metrics["channels"] = channels
    if fit.repeats is not None:
        metrics["repeats"] = fit.repeats
    if isinstance(estimator, OfCommittee):
        metrics["members"] = {note.name: _measure_member(note) for note in estimator.member_notes_}
        metrics["absent"] = estimator.absent_
        metrics["seconds"] = fit.seconds
    if fit.promised is not None:
        metrics["promise"] = fit.promised.to_dict()
    if estimator.target_scales_:
        scaled = zip(fit.names, estimator.target_scales_, strict=True)
        metrics["scales"] = {name: scale.name for name, scale in scaled}
    return metrics


def _measure_member(note: MemberNote) -> MemberMetrics:
    found: MemberMetrics = {
        "title": note.title,
        "share": note.share,
        "seconds": note.seconds,
        "epochs": note.epochs,
    }
    if note.remark:
        found["remark"] = note.remark
    return found


def _peak_memory_mb() -> float | None:
    """Return the largest resident size of this process so far, where the system tells."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def _filter_numbers(learned: Any) -> dict[str, list[float]]:
    numbers = {name: p.detach().tolist() for name, p in learned.named_parameters()}
    return {**numbers, "theta": learned.coefficients().detach().tolist()}


def finite(value: float) -> float | None:
    """Return None for NaN, which JSON does not know."""
    return float(value) if np.isfinite(value) else None
