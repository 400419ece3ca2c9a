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
from graphfilter.estimators.members import has_folds
from graphfilter.report import classes
from graphfilter.report.cases import cases_section, columns_section
from graphfilter.report.filter import filter_section, learning_data
from graphfilter.report.html import percent, plain, plotly_source, render_page, write_page
from graphfilter.report.pictures import draw_channels, draw_filter, save_figure
from graphfilter.runs.drift import Drift
from graphfilter.runs.findings import PageContent
from graphfilter.runs.fit import Fit
from graphfilter.runs.folder import FitSummary
from graphfilter.runs.loading import CHANNELS_FILE, FILTER_FILE, REPORT_FILE
from graphfilter.runs.predict import Prediction
from graphfilter.spectral import Diagnosis
from graphfilter.training import MULTILABEL, REGRESSION
from graphfilter.util.words import Noun, count, number
from graphfilter.version import __version__


def draw_run(summary: FitSummary) -> None:
    """Draw the pictures and the page of a fit into its folder."""
    folder, name = summary.folder, summary.fit.plan.graph.name
    content = _content(summary)
    if content.filter is not None and content.filter.is_used:
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
    """Return the page of a fit: one story, in the order of its sections."""
    fit, metrics, content = summary.fit, summary.metrics, _content(summary)
    noun, decision, reasons = fit.plan.noun, metrics.get("decision"), content.reasons
    columns = columns_section(reasons)
    has_edges, one_class = fit.plan.graph.n_edges > 0, fit.task.one_class
    # What each shows, and what it is called; without content it is left out.
    sections: dict[str, tuple[Any, str]] = {
        "answer": (metrics["headline"], "The answer"),
        "cases": (
            cases_section(fit, content.lists, reasons), f"{noun.many.capitalize()} to look at",
        ),
        "columns": (columns, "The columns"),
        "classes": (classes.classes_section(fit) if one_class else None, "The classes"),
        "labels": (classes.labels_section(fit) if fit.task is MULTILABEL else None, "The labels"),
        "numbers": (
            classes.numbers_section(fit) if fit.task is REGRESSION else None, "The numbers",
        ),
        "map": (classes.map_section(fit), "The map"),
        "decision": (classes.decision_section(fit, decision), "When to say yes"),
        "graph": (graph_section(summary) if has_edges else None, "The connections"),
        "filter": (filter_section(summary) if has_edges else None, "The filter"),
        "made": ({"setting": content.settings}, "How it was made"),
        "research": (research_section(summary), "For researchers"),
    }  # fmt: skip
    if fit.decision is not None:
        sections["decision"] = sections["decision"][0], f"When to say “{fit.decision.positive}”"
    # What plots.js draws.
    data: dict[str, Any] = dict.fromkeys(PLOTS)
    for section, _ in sections.values():
        data |= (section or {}).get("data", {})
    return render_page(
        "report.html.j2",
        name=fit.plan.graph.name,
        summary=summary,
        fit=fit,
        noun=noun,
        titles={name: title for name, (_, title) in sections.items()},
        sections=[(name, title) for name, (shown, title) in sections.items() if shown][1:],
        size=describe_size(fit.plan.graph, noun, fit),
        in_folds=has_folds(fit.estimator.held_),
        data=data | {"noun": noun.many},
        plotly=plotly_source(),
        **{name: section for name, (section, _) in sections.items()},
    )


PLOTS = (
    "filter", "coefficients", "training", "degrees", "frequency", "confusion", "calibration",
    "scatter", "decision", "map",
)  # fmt: skip


def describe_size(graph: Graph, noun: Noun | None = None, fit: Fit | None = None) -> str:
    """Return how large a graph is, and what of it was fitted, in words.

    >>> describe_size(Graph.from_edges([[0, 1], [1, 2]]))
    '3 vertices, 2 connections'
    """
    what = count(graph.n_classes, "class", "classes") if graph.n_classes else ""
    if fit is not None and not fit.task.one_class:
        what = f"predicting {count(len(fit.names), 'label')}"
        if fit.task is REGRESSION:
            what = f"predicting {', '.join(fit.names)}"
    sizes = [(noun or Noun()).count(graph.n_vertices)]
    sizes += [count(graph.n_edges, "connection")] if graph.n_edges else []
    return ", ".join([*sizes, what] if what else sizes)


def graph_section(summary: FitSummary) -> dict[str, Any]:
    """Return what connections do for the answer, who is alike, and how many each has."""
    fit = summary.fit
    graph = fit.plan.graph
    n_neighbours = np.diff(graph.indptr)
    # Bins that double: 0, 1, 2-3, 4-7, ...
    bins = np.where(n_neighbours > 0, 1 + np.floor(np.log2(np.maximum(n_neighbours, 1))), 0)
    counts = np.bincount(bins.astype(int))
    titles = ["0", "1", *(f"{2**b}–{2 ** (b + 1) - 1}" for b in range(1, len(counts)))]
    return {
        "agreement": _content(summary).agreement,
        "n_isolated": int(np.count_nonzero(graph.degrees == 0)),
        "degrees": {
            "smallest": int(n_neighbours.min()), "median": float(np.median(n_neighbours)),
            "mean": float(n_neighbours.mean()), "largest": int(n_neighbours.max()),
        },
        "data": {"degrees": {"names": titles[: len(counts)], "counts": counts.tolist()}},
    }  # fmt: skip


def research_section(summary: FitSummary) -> dict[str, Any]:
    """Return all scores, the diagnosis, frequencies, and how the first network learned."""
    fit, content = summary.fit, _content(summary)
    rows = []
    for key, metric in fit.task.metrics.items():
        if any(key in scores for scores in fit.scores.values()):
            write = percent if metric.share else number
            cells = [write(s[key]) if key in s else "" for s in fit.scores.values()]
            rows.append({"name": metric.name, "cells": cells})
    diagnosis, names = fit.plan.diagnosis, fit.names
    of_classes = isinstance(diagnosis, Diagnosis)
    low = high = [None] * len(names)
    if fit.plan.graph.n_edges:
        estimate = diagnosis.label_frequency if of_classes else diagnosis.frequency
        low, high = plain(estimate.low), plain(estimate.high)
    value = plain(list(fit.plan.frequency.values()))
    return {
        "kind": (diagnosis.kind if of_classes else diagnosis.advice).replace(" %", "\xa0%"),
        "diagnosis": diagnosis if of_classes else None,
        "ranges": diagnosis.ranges,
        "rows": rows,
        "data": {
            "frequency": {"names": names, "value": value, "low": low, "high": high},
            **learning_data(content, fit.task),
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
    noun = Noun.found(prediction.run.noun, None)
    page = {
        "name": prediction.whole.name, "size": describe_size(prediction.whole, noun),
        "drift": drift, "parts": prediction.count_parts(), "used": used, "known": known,
        "parts_said": prediction.describe_parts(), "most": MOST_ROWS,
        "coverage": prediction.describe_coverage(),
        "made": [
            ("Answers", str(out)),
            ("Run", str(folder)),
            ("Model", prediction.estimator.system_.title),
            (words.get(prediction.estimator.task_.name, "Numbers"), names),
            ("Fitted by", prediction.run.command or "no command"),
            ("Predicted by", f"graphfilter {__version__}"),
        ],
    }  # fmt: skip
    write_page(path, render_page("prediction.html.j2", page=page, noun=noun))
