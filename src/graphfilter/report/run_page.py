"""The report of a fit: one HTML file that holds all it needs and asks the network for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from graphfilter.data.graph import Graph
from graphfilter.report.classes import calibration_data, class_rows, confusion_data
from graphfilter.report.conclusion import Conclusion
from graphfilter.report.curves import (
    coefficient_data,
    describe_shape,
    filter_data,
    mean_response,
    training_data,
)
from graphfilter.report.decisions import view_decision
from graphfilter.report.html import plotly_source, render_page, write_page
from graphfilter.report.members import view_members
from graphfilter.report.numbers import percent, plain
from graphfilter.report.spread import view_spread
from graphfilter.report.values import label_rows, scatter_data
from graphfilter.report.vertices import vertex_tables
from graphfilter.runs.fit import Fit
from graphfilter.runs.measure import FitMetrics
from graphfilter.spectral import Density, Diagnosis, label_energy, spectral_density
from graphfilter.training import REGRESSION
from graphfilter.training.scores import Metric
from graphfilter.util.words import count, number


@dataclass(frozen=True, eq=False)
class Page:
    """What a page about one fit is made from.

    Attributes
    ----------
    fit : Fit
    conclusion : Conclusion
    metrics : mapping
        The content of ``metrics.json``.
    made : mapping
        How the run was made: command, seed, versions, checksum, origin.
    title : str
        Of the page; the graph's name where empty.
    """

    fit: Fit
    conclusion: Conclusion
    metrics: FitMetrics
    made: Mapping[str, Any]
    title: str = ""


def write_report(path: str | PathLike[str], page: Page) -> None:
    """Write the page of a fit atomically."""
    write_page(path, render_report(page))


def render_report(page: Page) -> str:
    """Return the page of a fit."""
    fit, metrics = page.fit, page.metrics
    graph, estimator = fit.graph, fit.estimator
    diagnosis = fit.diagnosis if isinstance(fit.diagnosis, Diagnosis) else None
    density = spectral_density(graph)
    shape = ""
    if estimator.filters_:
        curve = mean_response(estimator.filters_, estimator.filter_operator)
        shape = describe_shape(curve, density)
    decision = view_decision(fit, metrics["decision"]) if "decision" in metrics else None
    members = view_members(fit, page.conclusion.found)
    spread = None
    if fit.repeats is not None:
        spread = view_spread(fit.repeats, fit.task.metrics, page.conclusion.found.yardstick.key)
    there = {"needs": members is not None, "decision": decision is not None}
    sections = [name for name in fit.task.sections if there.get(name, True)]
    data = _plot_data(fit, density)
    data["decision"] = None if decision is None else decision.data
    return render_page(
        "report.html.j2",
        name=graph.name,
        page=page,
        fit=fit,
        sections=[(name, section_title(name, fit)) for name in sections],
        found=page.conclusion.found,
        size=describe_size(graph, fit),
        kind="" if diagnosis is None else diagnosis.kind.replace(" %", "\xa0%"),
        shape=shape,
        filters_used=_filters_used(fit),
        diagnosis=diagnosis,
        advice=fit.diagnosis.advice,
        degrees=_degrees(graph),
        n_isolated=int(np.count_nonzero(graph.degrees == 0)),
        classes=class_rows(fit) if fit.task.one_class else [],
        labels=label_rows(fit) if "labels" in sections else [],
        decision=decision,
        members=members,
        spread=spread,
        promised=fit.promised,
        scales=_scales(fit),
        tables=vertex_tables(fit),
        shown_metrics=_shown_metrics(fit),
        write=write_score,
        setting=_setting(fit),
        data=data,
        plotly=plotly_source(),
    )  # fmt: skip


def section_title(name: str, fit: Fit) -> str:
    """Return the title of a section of the page."""
    positive = "" if fit.decision is None else fit.decision.positive
    return {
        "needs": "What the graph needed",
        "filter": "The filter" if fit.estimator.filters_ else "Learning",
        "graph": "The graph",
        "classes": "The classes",
        "labels": "The labels",
        "numbers": "The numbers",
        "decision": f"When to predict “{positive}”",
        "vertices": "The vertices",
        "made": "How it was made",
    }[name]


def write_score(metric: Metric, value: float) -> str:
    """Write a score as a table has it."""
    return percent(value) if metric.share else number(value)


def describe_size(graph: Graph, fit: Fit | None = None) -> str:
    """Return how large a graph is, and what of it was fitted, in words.

    >>> describe_size(Graph.from_edges([[0, 1], [1, 2]]))
    '3 vertices, 2 edges, 0 features'
    """
    what = count(graph.n_classes, "class", "classes") if graph.n_classes else ""
    if fit is not None and not fit.task.one_class:
        what = f"predicting {count(len(fit.names), 'label')}"
        if fit.task is REGRESSION:
            numbers = ", ".join(repr(name) for name in fit.names)
            what = f"predicting {'the number' if len(fit.names) == 1 else 'the numbers'} {numbers}"
    sizes = (
        count(graph.n_vertices, "vertex", "vertices"),
        count(graph.n_edges, "edge"),
        count(graph.n_features, "feature"),
    )
    return ", ".join((*sizes, what) if what else sizes)


def _filters_used(fit: Fit) -> bool:
    """Return whether a filter that is drawn has a share in the answer."""
    estimator = fit.estimator
    return any(estimator.fitted_members_[i].weight > 0 for i in estimator.drawn_members_)


def _scales(fit: Fit) -> dict[str, str]:
    """Return in words on which scale each number was learned."""
    scales = fit.estimator.target_scales_
    return {name: scale.words for name, scale in zip(fit.names, scales, strict=False)}


def _shown_metrics(fit: Fit) -> dict[str, Metric]:
    """Return the scores of the task that some part has."""
    there = {key for scores in fit.scores.values() for key in scores}
    return {key: metric for key, metric in fit.task.metrics.items() if key in there}


def _plot_data(fit: Fit, density: Density) -> dict[str, Any]:
    estimator, graph = fit.estimator, fit.graph
    # What was fitted at once, such as trees, has no epochs to show.
    results = estimator.filter_results_ or [r for r in estimator.results_ if r.n_epochs]
    frequency = list(fit.plan.frequency.values())
    low = high = [None] * len(frequency)
    if graph.n_edges:
        own = fit.diagnosis
        found = own.label_frequency if isinstance(own, Diagnosis) else own.frequency
        low, high = plain(found.low), plain(found.high)
    filtered = None
    if estimator.filters_:
        filtered = filter_data(results, estimator.filters_, estimator.filter_operator)
        filtered |= {"density": plain(density.values), "bins": plain(density.centres)}
        filtered["energy"] = None
        if fit.task.one_class:
            energy = label_energy(graph)
            here = np.isfinite(energy.values).all(axis=1)
            filtered["energy"] = plain(energy.values[here].mean(axis=0))
    of_classes = fit.task.one_class
    judged = fit.judged
    return {
        "filter": filtered,
        "coefficients": coefficient_data(results[0]) if results else None,
        "training": training_data(results[0], fit.task) if results else None,
        "degrees": _degree_histogram(graph),
        "frequency": {
            "names": fit.names, "value": plain(frequency), "low": low, "high": high,
        },
        "confusion": confusion_data(fit) if of_classes else None,
        "calibration": calibration_data(fit.outputs[judged], fit.target.codes[judged])
        if of_classes
        else None,
        "scatter": scatter_data(fit) if fit.task is REGRESSION else None,
    }  # fmt: skip


def _degrees(graph: Graph) -> dict[str, float]:
    n_neighbours = np.diff(graph.indptr)
    return {
        "smallest": int(n_neighbours.min()),
        "median": float(np.median(n_neighbours)),
        "mean": float(n_neighbours.mean()),
        "largest": int(n_neighbours.max()),
    }


def _degree_histogram(graph: Graph) -> dict[str, Any]:
    """Count vertices by their number of neighbours, in bins that double: 0, 1, 2-3, 4-7, ..."""
    n_neighbours = np.diff(graph.indptr)
    bins = np.where(n_neighbours > 0, 1 + np.floor(np.log2(np.maximum(n_neighbours, 1))), 0)
    counts = np.bincount(bins.astype(int))
    names = ["0", "1", *(f"{2**b}–{2 ** (b + 1) - 1}" for b in range(1, len(counts)))]
    return {"names": names[: len(counts)], "counts": counts.tolist()}


def _setting(fit: Fit) -> list[tuple[str, str]]:
    shown = fit.estimator.settled_parameters()
    return [(name, str(value)) for name, value in shown.items() if name not in ("graph", "verbose")]
