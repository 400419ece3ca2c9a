"""``metrics.json``: how well a run did, and what its filter learned."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.graph import GraphClassifier, MemberNote
from graphfilter.graph import Graph
from graphfilter.metrics import score_parts
from graphfilter.run_folder.channels import ChannelMetrics
from graphfilter.runtime.processes import current
from graphfilter.spectral.diagnosis import known_frequency
from graphfilter.splits import Split
from graphfilter.training import FitResult


class MemberMetrics(TypedDict):
    """One member of a committee in ``metrics.json``; epochs are those of all its seeds."""

    title: str
    share: float
    seconds: float
    epochs: int
    remark: NotRequired[str]


class ProcessMetrics(TypedDict):
    """Several processes in ``metrics.json``: bytes summed over them per step and per scoring."""

    n: int
    bytes_per_step: int
    bytes_per_scoring: int


class RunMetrics(TypedDict):
    """The content of ``metrics.json``; lists have one entry per member.

    ``scores`` are by part: n_vertices, and those of ``metrics.METRICS`` that are defined.
    ``decision``, of two classes: the threshold, what it gives by part, and the lift.
    ``repeats``, where there are some: each score by mean, deviation, interval and values.
    ``channels``, where edges have kinds or directions: the share and the filter of each.
    ``members``, of a committee: the share, the time and the epochs of each, and a ``remark`` where
    there is one; ``absent``: why others have no part, by title.
    ``processes``, where there are several: how many, and what they exchange.
    ``filter`` holds the learned scalars of each member and its coefficients theta.
    """

    scores: dict[str, dict[str, Any]]
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
    repeats: NotRequired[dict[str, Any]]
    channels: NotRequired[list[ChannelMetrics]]
    members: NotRequired[dict[str, MemberMetrics]]
    absent: NotRequired[dict[str, str]]
    processes: NotRequired[ProcessMetrics]


def measure_run(
    classifier: VertexClassifier, graph: Graph, probabilities: NDArray[np.float64], split: Split
) -> RunMetrics:
    """Return the content of ``metrics.json``."""
    assert graph.labels is not None
    known = np.flatnonzero(graph.labels >= 0)
    frequency = known_frequency(graph, known)
    results = classifier.results_
    metrics: RunMetrics = {
        "scores": score_parts(probabilities, graph.labels, split),
        "split_rule": split.rule,
        "label_frequency": {
            str(name): finite(value)
            for name, value in zip(graph.classes, frequency.value, strict=True)
        },
        "label_frequency_mean": finite(frequency.mean),
        "filter": [filter_numbers(f) for f in classifier.filters_],
        "epochs": [result.n_epochs for result in results],
        "best_epoch": [result.best_epoch for result in results],
        "stopped": [result.stopped for result in results],
        "seconds": results[0].seconds,
        "peak_memory_mb": peak_memory_mb(),
    }
    if isinstance(classifier, GraphClassifier):
        metrics["members"] = {note.name: _measure_member(note) for note in classifier.member_notes_}
        metrics["absent"] = classifier.absent_
        metrics["seconds"] = sum(note.seconds for note in classifier.member_notes_)
    if processes := measure_processes(results):
        metrics["processes"] = processes
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


def measure_processes(results: Sequence[FitResult]) -> ProcessMetrics | None:
    """Return what processes exchanged in training; None where one worked alone."""
    group = current()
    if group is None:
        return None
    sent = [result.communicated for result in results]
    step, scoring = (max(each.get(name, 0) for each in sent) for name in ("step", "scoring"))
    return {"n": group.size, "bytes_per_step": step, "bytes_per_scoring": scoring}


def peak_memory_mb() -> float | None:
    """Return the largest resident size of this process so far, where the system tells."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def filter_numbers(learned: Any) -> dict[str, list[float]]:
    numbers = {name: p.detach().tolist() for name, p in learned.named_parameters()}
    return {**numbers, "theta": learned.coefficients().detach().tolist()}


def finite(value: float) -> float | None:
    """Return None for NaN, which JSON does not know."""
    return float(value) if np.isfinite(value) else None
