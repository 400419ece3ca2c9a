"""The report of a fit: one HTML file that holds all it needs and asks the network for nothing.

Each section is a function that returns what its part of the template shows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphfilter.data.graph import Graph
from graphfilter.models import ChannelNetwork
from graphfilter.operators.kinds import Channels
from graphfilter.report.classes import (
    classes_section,
    decision_section,
    labels_section,
    numbers_section,
)
from graphfilter.report.filter import filter_section
from graphfilter.report.html import percent, plain, plotly_source, render_page, write_page
from graphfilter.report.vertices import vertices_section
from graphfilter.runs.comparison import compare_members
from graphfilter.runs.conclusion import describe_spread
from graphfilter.runs.fit import Fit
from graphfilter.runs.folder import FitSummary
from graphfilter.runs.layout import CHANNELS_FILE, FILTER_FILE, REPORT_FILE
from graphfilter.runs.worklist import make_worklists
from graphfilter.spectral import Diagnosis, spectral_density
from graphfilter.systems.outside import origin_of
from graphfilter.training import REGRESSION
from graphfilter.util.words import count, number


def draw_run(summary: FitSummary) -> None:
    """Draw the pictures and the page of a fit into its folder."""
    from graphfilter.report.pictures import draw_channels, draw_filter, save_figure

    fit, folder = summary.fit, summary.folder
    estimator, name = fit.estimator, fit.plan.graph.name
    if estimator.filters_:
        comparison = summary.conclusion.comparison
        view = estimator.filter_view(
            fit.plan.frequency,
            title=f"{name}: the learned filter",
            corner=f"{comparison.part} {comparison.yardstick.name} {comparison.ours.shown}",
        )
        save_figure(draw_filter(view), folder / FILTER_FILE)
    if shares := {one["name"]: one["share"] for one in summary.metrics.get("channels", ())}:
        members = [m for m in estimator.members_ if isinstance(m, ChannelNetwork)]
        operator = estimator.prepared_.operator(estimator.system_.operator)
        assert isinstance(operator, Channels)
        filters = {channel: [m.learned_filters()[channel] for m in members] for channel in shares}
        lowest = {channel: operator.part(channel).interval[0] for channel in shares}
        title = f"{name}: the filter of each edge type, and its share in the prediction"
        save_figure(draw_channels(filters, shares, lowest, title), folder / CHANNELS_FILE)
    write_page(folder / REPORT_FILE, render_report(summary))


def render_report(summary: FitSummary) -> str:
    """Return the page of a fit."""
    fit, metrics = summary.fit, summary.metrics
    density = spectral_density(fit.plan.graph)
    lists = make_worklists(fit)
    contents: dict[str, Any] = {
        "answer": answer_section(summary),
        "needs": compare_members(fit, summary.conclusion.comparison),
        "filter": filter_section(fit, density),
        "graph": graph_section(fit),
        "classes": classes_section(fit) if fit.task.one_class else None,
        "labels": labels_section(fit) if "labels" in fit.task.sections else None,
        "numbers": numbers_section(fit) if fit.task is REGRESSION else None,
        "decision": decision_section(fit, metrics.get("decision")),
        "vertices": vertices_section(fit, lists),
        "made": {"setting": _setting(fit)},
    }
    # What plots.js draws.
    data: dict[str, Any] = dict.fromkeys(PLOTS)
    for content in contents.values():
        data |= (content or {}).get("data", {})
    return render_page(
        "report.html.j2",
        name=fit.plan.graph.name,
        summary=summary,
        fit=fit,
        sections=[(s, section_title(s, fit)) for s in fit.task.sections if contents[s] is not None],
        size=describe_size(fit.plan.graph, fit),
        data=data,
        plotly=plotly_source(),
        **contents,
    )


PLOTS = (
    "filter", "coefficients", "training", "degrees", "frequency", "confusion", "calibration",
    "scatter", "decision",
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


def answer_section(summary: FitSummary) -> dict[str, Any]:
    """Return the scores of every part, written out, and their spread over repeated splits."""
    fit, comparison = summary.fit, summary.conclusion.comparison
    rows = []
    for key, metric in fit.task.metrics.items():
        if any(key in scores for scores in fit.scores.values()):
            write = percent if metric.share else number
            cells = [write(s[key]) if key in s else "" for s in fit.scores.values()]
            rows.append({"name": metric.name, "cells": cells})
    spread = None
    if fit.repeats is not None:
        spread = describe_spread(fit.repeats, fit.task.metrics, comparison.yardstick.key)
    return {"rows": rows, "spread": spread}


def graph_section(fit: Fit) -> dict[str, Any]:
    """Return the diagnosis, the degrees, and the frequency of every class, label or number."""
    graph, diagnosis, names = fit.plan.graph, fit.plan.diagnosis, fit.names
    of_classes = isinstance(diagnosis, Diagnosis)
    n_neighbours = np.diff(graph.indptr)
    # Bins that double: 0, 1, 2-3, 4-7, ...
    bins = np.where(n_neighbours > 0, 1 + np.floor(np.log2(np.maximum(n_neighbours, 1))), 0)
    counts = np.bincount(bins.astype(int))
    titles = ["0", "1", *(f"{2**b}–{2 ** (b + 1) - 1}" for b in range(1, len(counts)))]
    low = high = [None] * len(names)
    if graph.n_edges:
        estimate = diagnosis.label_frequency if of_classes else diagnosis.frequency
        low, high = plain(estimate.low), plain(estimate.high)
    value = plain(list(fit.plan.frequency.values()))
    return {
        "kind": diagnosis.kind.replace(" %", "\xa0%") if of_classes else "",
        "diagnosis": diagnosis if of_classes else None,
        "advice": diagnosis.advice,
        "n_isolated": int(np.count_nonzero(graph.degrees == 0)),
        "degrees": {
            "smallest": int(n_neighbours.min()),
            "median": float(np.median(n_neighbours)),
            "mean": float(n_neighbours.mean()),
            "largest": int(n_neighbours.max()),
        },
        "data": {
            "degrees": {"names": titles[: len(counts)], "counts": counts.tolist()},
            "frequency": {"names": names, "value": value, "low": low, "high": high},
        },
    }


def _setting(fit: Fit) -> list[tuple[str, str]]:
    shown = fit.estimator.settled_parameters()
    if not isinstance(shown.get("model", ""), str):
        shown["model"] = origin_of(fit.estimator.system_) or fit.estimator.system_.name
    return [(name, str(value)) for name, value in shown.items() if name not in ("graph", "verbose")]
