"""The pages of a fit and of a prediction: one HTML file each, which asks the network for nothing.

Each section of the report is a function that returns what its part of the template shows. All that
is shown is in the finished :class:`~graphfilter.runs.folder.FitSummary`.
"""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from graphfilter.data.graph import Graph
from graphfilter.report import classes
from graphfilter.report.filter import filter_section
from graphfilter.report.html import percent, plain, plotly_source, render_page, write_page
from graphfilter.report.pictures import draw_channels, draw_filter, save_figure
from graphfilter.report.vertices import vertices_section
from graphfilter.runs.drift import Drift
from graphfilter.runs.findings import PageContent, describe_spread
from graphfilter.runs.fit import Fit
from graphfilter.runs.folder import FitSummary
from graphfilter.runs.loading import CHANNELS_FILE, FILTER_FILE, REPORT_FILE
from graphfilter.runs.predict import Prediction
from graphfilter.spectral import Diagnosis
from graphfilter.training import REGRESSION
from graphfilter.util.words import count, number
from graphfilter.version import __version__


def draw_run(summary: FitSummary) -> None:
    """Draw the pictures and the page of a fit into its folder."""
    folder, name = summary.folder, summary.fit.plan.graph.name
    content = _content(summary)
    if content.filter is not None:
        comparison = summary.conclusion.comparison
        view = replace(
            content.filter.view,
            label_frequency=summary.fit.plan.frequency,
            title=f"{name}: the learned filter",
            corner=f"{comparison.part} {comparison.yardstick.name} {comparison.ours.shown}",
        )
        save_figure(draw_filter(view), folder / FILTER_FILE)
    if content.channels:
        title = f"{name}: the filter of each edge type, and its share in the prediction"
        save_figure(draw_channels(content.channels, title), folder / CHANNELS_FILE)
    write_page(folder / REPORT_FILE, render_report(summary))


def _content(summary: FitSummary) -> PageContent:
    assert summary.content is not None, "made where a page is drawn"
    return summary.content


def render_report(summary: FitSummary) -> str:
    """Return the page of a fit."""
    fit, metrics, content = summary.fit, summary.metrics, _content(summary)
    contents: dict[str, Any] = {
        "answer": answer_section(summary),
        "needs": content.groups,
        "filter": filter_section(content, fit.task),
        "graph": graph_section(fit),
        "classes": classes.classes_section(fit) if fit.task.one_class else None,
        "labels": classes.labels_section(fit) if "labels" in fit.task.sections else None,
        "numbers": classes.numbers_section(fit) if fit.task is REGRESSION else None,
        "decision": classes.decision_section(fit, metrics.get("decision")),
        "vertices": vertices_section(fit, content.lists),
        "made": {"setting": content.settings},
    }
    # What plots.js draws.
    data: dict[str, Any] = dict.fromkeys(PLOTS)
    for section in contents.values():
        data |= (section or {}).get("data", {})
    titles = {
        "needs": "What the graph needed",
        "filter": "The filter" if content.filter else "Learning",
        "graph": "The graph",
        "classes": "The classes",
        "labels": "The labels",
        "numbers": "The numbers",
        "decision": f"When to predict “{fit.decision.positive if fit.decision else ''}”",
        "vertices": "The vertices",
        "made": "How it was made",
    }
    return render_page(
        "report.html.j2",
        name=fit.plan.graph.name,
        summary=summary,
        fit=fit,
        sections=[(name, titles[name]) for name in fit.task.sections if contents[name] is not None],
        size=describe_size(fit.plan.graph, fit),
        data=data,
        plotly=plotly_source(),
        **contents,
    )


PLOTS = (
    "filter", "coefficients", "training", "degrees", "frequency", "confusion", "calibration",
    "scatter", "decision",
)  # fmt: skip


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


# Rows of a table of a prediction; columns of words can be many.
MOST_ROWS = 40


def write_prediction_report(
    path: str | PathLike[str],
    prediction: Prediction,
    drift: Drift | None,
    *,
    folder: str | Path,
    out: str | Path,
    used: str,
    known: list[str],
) -> None:
    """Write the page of a prediction.

    Parameters
    ----------
    drift : Drift or None
        None of a run that keeps nothing to compare with.
    folder, out : path
        The run, and where the predictions are.
    used : str
        The graph that was used, in words.
    known : list of str
        How many predictions are right, where that is known.
    """
    names = ", ".join(prediction.names[:20]) + (", ..." if len(prediction.names) > 20 else "")
    words = {"classification": "Classes", "multilabel": "Labels"}
    page = {
        "name": prediction.whole.name,
        "size": describe_size(prediction.whole),
        "drift": drift,
        "parts": prediction.count_parts(),
        "parts_said": prediction.describe_parts(),
        "used": used,
        "known": known,
        "coverage": prediction.describe_coverage(),
        "most": MOST_ROWS,
        "made": [
            ("Answers", str(out)),
            ("Run", str(folder)),
            ("Model", prediction.estimator.system_.title),
            (words.get(prediction.estimator.task_.name, "Numbers"), names),
            ("Fitted by", prediction.run.command or "no command"),
            ("Predicted by", f"graphfilter {__version__}"),
        ],
    }
    write_page(path, render_page("prediction.html.j2", page=page))
