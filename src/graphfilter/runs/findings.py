"""What is measured of a fit, computed once: ``metrics.json``, and what its page shows.

Page, files and terminal only read it: they ask no estimator and measure nothing themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.graph import OfCommittee
from graphfilter.estimators.sgf import CHANNELS
from graphfilter.estimators.vertex import VertexEstimator, filter_at
from graphfilter.filters import Filter
from graphfilter.models import ChannelNetwork
from graphfilter.operators.kinds import Channels
from graphfilter.runs.answers import measure_decision
from graphfilter.runs.cases import CaseBook
from graphfilter.runs.comparison import Comparison, leaderboard
from graphfilter.runs.fit import PARTS, Fit
from graphfilter.runs.worklist import WorkList, make_worklists
from graphfilter.spectral import Density, Diagnosis, label_energy, spectral_density
from graphfilter.spectral.plot import FilterView, common_signs
from graphfilter.systems.outside import origin_of
from graphfilter.training import FitResult
from graphfilter.training.scores import Metric

FREQUENCIES = np.linspace(0.0, 2.0, 101)
# Epochs of which the filter is kept.
MOST_FRAMES = 60


def describe_spread(
    repeats: Mapping[str, Any], metrics: Mapping[str, Metric], key: str
) -> dict[str, Any]:
    """Write out the repeats of ``metrics.json``, on the test vertices where there are some.

    ``key`` is the score to speak of; the first of the ``metrics`` of the task where that one was
    not repeated. Intervals are empty where nothing varies.
    """
    part = next(p for p in reversed(PARTS) if p in repeats["scores"])
    rows = {}
    for name, scores in repeats["scores"][part].items():
        if name in metrics:
            digits = ".1%" if metrics[name].share else ".3f"
            values = scores["values"]
            written = {**scores, "least": min(values), "most": max(values)}
            row = {
                k: "" if v is None else f"{v:{digits}}".replace("%", "\xa0%")
                for k, v in written.items()
                if k != "values"
            }
            interval = row["low"] and f"{row['low']} to {row['high']}"
            rows[name] = {**row, "name": metrics[name].name, "interval": interval}
    first = rows[key] if key in rows else rows[next(name for name in metrics if name in rows)]
    where = PARTS[part]
    what = "splits" if repeats["splits"] == "drawn" else "seeds on the same split"
    text = f"Over {repeats['n']} {what} the {where} {first['name']} is {first['mean']} on average"
    if first["interval"]:
        text += f" (95\xa0% interval of the mean {first['interval']})"
    text += f", from {first['least']} to {first['most']}."
    return {"n": repeats["n"], "part": where, "sentence": text, "rows": list(rows.values())}


def measure_fit(fit: Fit, comparison: Comparison, channels: Sequence[Channel]) -> dict[str, Any]:
    """Return the content of ``metrics.json``; lists have one entry per member.

    ``task`` and ``target``: what is learned, and its classes, labels or name.
    ``scores`` are by part: n_vertices, and those of the task that are defined, of what is answered.
    ``headline``: the score that the report judges by, of this model and those beside it.
    ``label_frequency``: the graph frequency of each class, label or number.
    ``filter`` holds the learned scalars of each member and its coefficients theta.
    ``leaderboard``: members and baselines, with scores, seconds and share, the best on validation
    vertices first.
    ``decision``, of two classes: the threshold, what it gives by part, the lift, and ``budgets``:
    what it gives to look into the first vertices of the list.
    ``repeats``, where there are some: each score by mean, deviation, interval and values.
    ``channels``, where edges have types or directions: the name, the share in the answer, and
    ``theta``, the filter of each member.
    ``members``, of a committee: title, share, seconds, the epochs of all seeds, and a ``remark``
    where there is one; ``absent``: why others have no part, by title.
    ``promise``, where a coverage was asked for: how large sets or intervals are, and how often they
    held the truth of test vertices, also by class, label or number.
    ``scales``, of numbers: the scale each was learned on.
    """
    estimator, plan, results = fit.estimator, fit.plan, fit.estimator.results_
    finite = {n: float(f) if np.isfinite(f) else None for n, f in plan.frequency.items()}
    mean = float(np.mean([value for value in finite.values() if value is not None] or [np.nan]))
    if isinstance(plan.diagnosis, Diagnosis):
        mean = float(plan.diagnosis.label_frequency.mean)
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
    metrics: dict[str, Any] = {
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
        "leaderboard": leaderboard(fit),
        "split_rule": plan.split.rule,
        "label_frequency": finite,
        "label_frequency_mean": mean if np.isfinite(mean) else None,
        "filter": filters,
        "epochs": [result.n_epochs for result in results],
        "best_epoch": [result.best_epoch for result in results],
        "stopped": [result.stopped for result in results],
        "seconds": results[0].seconds,
        "peak_memory_mb": peak_memory_mb,
    }
    if fit.calibration is not None:
        metrics["promise"] = fit.calibration.to_dict()
    if fit.decision is not None:
        metrics["decision"] = measure_decision(fit.decision, plan, fit.outputs)
    if channels:
        metrics["channels"] = [
            {"name": one.name, "share": one.share,
             "theta": [f.coefficients().detach().tolist() for f in one.filters]}
            for one in channels
        ]  # fmt: skip
    if fit.repeats is not None:
        metrics["repeats"] = fit.repeats
    if isinstance(estimator, OfCommittee):
        keys = ("title", "share", "seconds", "epochs", "remark")
        metrics["members"] = {
            note.name: {key: getattr(note, key) for key in keys if key != "remark" or note.remark}
            for note in estimator.member_notes_
        }
        metrics["absent"] = estimator.absent_
        metrics["seconds"] = fit.seconds
    if estimator.target_scales_:
        scales = zip(fit.names, estimator.target_scales_, strict=True)
        metrics["scales"] = {name: scale.name for name, scale in scales}
    return metrics


@dataclass(frozen=True, eq=False)
class Channel:
    """What one type or direction of edges does in the fitted graph's answer.

    Attributes
    ----------
    name : str
    share : float
        In the answer.
    filters : tuple of Filter
        One per member.
    lowest : float
        The lower bound of its operator's spectrum.
    """

    name: str
    share: float
    filters: tuple[Filter, ...]
    lowest: float


def channels_of(estimator: VertexEstimator) -> tuple[Channel, ...]:
    """Return what each channel does; nothing without any."""
    members = [m for m in estimator.members_ if isinstance(m, ChannelNetwork)]
    if not members:
        return ()
    operator = estimator.prepared_.operator(CHANNELS)
    assert isinstance(operator, Channels)
    # Copies: the estimator's own stay where they are.
    there = [deepcopy(m).eval().to(operator.device) for m in members]
    shares = [m.contributions(operator, estimator.prepared_.x) for m in there]
    filters = [m.learned_filters() for m in members]
    return tuple(
        Channel(
            name,
            float(np.mean([share[name] for share in shares])),
            tuple(each[name] for each in filters),
            operator.part(name).interval[0],
        )
        for name in members[0].channels
    )


@dataclass(frozen=True, eq=False)
class LearnedFilter:
    """The filter of a fit, or the mean of several, over :data:`FREQUENCIES`.

    Attributes
    ----------
    view : FilterView
        The filters themselves, for a picture.
    epochs, frames : list of int and of arrays
        The mean response after each of these epochs.
    members : float array (m, 101)
        The responses that were kept, all turned the way of the first.
    kept_epoch : int
    is_used : bool
        Whether one of them has a share in the prediction.
    """

    view: FilterView
    epochs: list[int]
    frames: list[NDArray[np.float64]]
    members: NDArray[np.float64]
    kept_epoch: int
    is_used: bool


def response_at(filter: Filter, operator: str) -> NDArray[np.float64]:
    """Return f over :data:`FREQUENCIES`, on the axis of the pictures."""
    return filter.response(FREQUENCIES if operator == "laplacian" else 1 - FREQUENCIES)


def learned_filter(estimator: VertexEstimator) -> LearnedFilter | None:
    """Return the filter of a fitted estimator; None where it has none.

    One that does not learn has one epoch, the one that was kept.
    """
    learned, results = estimator.filters_, estimator.filter_results_
    if not learned:
        return None
    view = estimator.filter_view({})
    last = max(result.n_epochs for result in results)
    kept = round(float(np.mean([result.best_epoch for result in results])))
    epochs = [kept]
    if any(True for _ in learned[0].parameters()):
        even = np.linspace(0, last, min(MOST_FRAMES, last + 1)).round().astype(int)
        epochs = sorted({*even.tolist(), kept})
    members = np.array([response_at(f, view.operator) for f in learned])
    signs = common_signs(members)

    def frame(epoch: int) -> NDArray[np.float64]:
        made = [filter_at(f, r, epoch) for f, r in zip(learned, results, strict=True)]
        return np.mean(signs * [response_at(f, view.operator) for f in made], axis=0)

    weights = [estimator.fitted_members_[i].weight for i in estimator.drawn_members_]
    used = estimator.has_edges_ and max(weights) > 0
    return LearnedFilter(view, epochs, [frame(e) for e in epochs], signs * members, kept, used)


@dataclass(frozen=True, eq=False)
class PageContent:
    """What the page of a fit shows beside its conclusion and its numbers.

    Attributes
    ----------
    lists : tuple of WorkList
    filter : LearnedFilter or None
    learning : FitResult or None
        Of the first network; None where nothing has epochs, such as trees.
    channels : tuple of Channel
    density : Density
        Of the frequencies of the graph.
    energy : float array or None
        Of the labels on them; None where they are no classes.
    settings : tuple of (str, str)
        The parameters of the estimator.
    """

    lists: tuple[WorkList, ...]
    filter: LearnedFilter | None
    learning: FitResult | None
    channels: tuple[Channel, ...]
    density: Density
    energy: NDArray[np.float64] | None
    settings: tuple[tuple[str, str], ...]


def page_content(fit: Fit, book: CaseBook | None) -> PageContent:
    """Return what the page of a fit shows: the estimator is asked here, and by nothing after it."""
    estimator, graph, energy = fit.estimator, fit.plan.graph, None
    channels, lists = channels_of(estimator), tuple(make_worklists(fit, book))
    settings = estimator.settled_parameters()
    if not isinstance(settings.get("model", ""), str):
        settings["model"] = origin_of(estimator.system_) or estimator.system_.name
    results = estimator.filter_results_ or [r for r in estimator.results_ if r.n_epochs]
    learned, density = learned_filter(estimator), spectral_density(graph)
    if learned is not None and fit.task.one_class:
        values = label_energy(graph).values
        energy = values[np.isfinite(values).all(axis=1)].mean(axis=0)
    return PageContent(
        lists, learned, results[0] if results else None, channels, density, energy,
        tuple((n, str(v)) for n, v in settings.items() if n not in ("graph", "verbose")),
    )  # fmt: skip
