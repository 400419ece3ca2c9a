"""Whether directions and kinds of edges help: fitted with and without, judged on validation."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import TypedDict, TypeVar

import numpy as np
from sklearn.base import clone

from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.graph import GraphClassifier
from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.graph import Graph
from graphfilter.models import ChannelNetwork
from graphfilter.operators.channels import Channels
from graphfilter.run_folder.layout import CHANNELS_CHECKPOINT_FILE, CHECKPOINT_FILE
from graphfilter.run_folder.plan import Plan
from graphfilter.training import OnEpoch
from graphfilter.wording import count

Classifier = TypeVar("Classifier", bound=VertexClassifier)

PLAIN, CHANNELS = "augmented_adjacency", "channels"


def has_channels(graph: Graph) -> bool:
    """Return whether the edges of a graph have directions or kinds."""
    return graph.directed or graph.kinds is not None


def fit_in_folder(
    plan: Plan,
    classifier: VertexClassifier,
    folder: Path,
    *,
    resume: bool,
    on_epoch: OnEpoch | None,
) -> tuple[VertexClassifier, tuple[str, ...]]:
    """Fit the classifier; where edges have channels, with and without them.

    Returns
    -------
    classifier : VertexClassifier
        The one given, or where channels are better on the validation vertices one that uses them.
    notes : tuple of str
        What was decided, and by how much.
    """

    def fit(candidate: Classifier, checkpoint: str) -> Classifier:
        return candidate.fit(
            graph=plan.graph, split=plan.split, checkpoint=folder / checkpoint, resume=resume,
            on_epoch=on_epoch,
        )  # fmt: skip

    plain = fit(classifier, CHECKPOINT_FILE)
    what = _describe(plan.graph)
    if isinstance(plain, GraphClassifier):
        return plain, plain.notes_  # Its weights say what directions and kinds are worth.
    if not has_channels(plan.graph) or plain.system_.operator == CHANNELS:
        return plain, ()
    if not isinstance(plain, SGFClassifier):
        return plain, (f"{what} not used: {plain.system_.title} does without.",)
    if plain.operator != PLAIN:
        return plain, (f"{what} not used: the operator is {plain.operator}.",)
    if not len(plan.split.val):
        note = f"{what} not used: without validation vertices nothing says whether to."
        return plain, (f"{note} --operator channels does.",)
    rich = fit(clone(plain).set_params(operator=CHANNELS), CHANNELS_CHECKPOINT_FILE)
    without, with_ = _score(plain), _score(rich)
    names = {True: "used", False: "not used"}
    used = with_ > without
    scored = f"{plain.monitor.replace('_', ' ')} on {len(plan.split.val):,} validation vertices"
    note = (
        f"{what} {names[used]}: {scored} is {_shown(with_, plain)} with and "
        f"{_shown(without, plain)} without."
    )
    return (rich if used else plain), (note,)


class ChannelMetrics(TypedDict):
    """One channel in ``metrics.json``: its share in the answer, and each member's filter."""

    name: str
    share: float
    theta: list[list[float]]


def measure_channels(classifier: VertexClassifier) -> list[ChannelMetrics]:
    """Return what each channel contributes to the fitted graph's answer; nothing without any."""
    members = [m for m in classifier.members_ if isinstance(m, ChannelNetwork)]
    if not members:
        return []
    prepared = classifier.prepared_
    operator = prepared.operator(CHANNELS)
    # Copies: the classifier's own stay where they are.
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


def draw_channel_picture(
    classifier: VertexClassifier, channels: list[ChannelMetrics], title: str, path: Path
) -> None:
    """Draw the response of every channel; nothing without any."""
    members = [m for m in classifier.members_ if isinstance(m, ChannelNetwork)]
    operator = classifier.prepared_.operator(classifier.system_.operator)
    if not members or not isinstance(operator, Channels):
        return
    from graphfilter.report.channel_picture import draw_channels
    from graphfilter.report.figures import save_figure

    shares = {channel["name"]: channel["share"] for channel in channels}
    filters = {name: [m.learned_filters()[name] for m in members] for name in shares}
    lowest = {name: operator.part(name).interval[0] for name in shares}
    save_figure(draw_channels(filters, shares, lowest, title), path)


def _describe(graph: Graph) -> str:
    parts = ["directions"] if graph.directed else []
    if graph.kinds is not None:
        parts.append(count(len(graph.kinds.names), "kind") + " of edges")
    return " and ".join(parts)


def _score(classifier: SGFClassifier) -> float:
    """Return the mean validation score of the members' kept weights; larger is better."""
    name = f"val_{classifier.monitor}"
    kept = [r.history[name][r.best_epoch - 1] for r in classifier.results_ if r.best_epoch]
    sign = -1.0 if classifier.monitor == "loss" else 1.0
    return sign * float(np.mean(kept)) if kept else -np.inf


def _shown(score: float, classifier: SGFClassifier) -> str:
    return f"{-score:.3f}" if classifier.monitor == "loss" else f"{score:.1%}"
