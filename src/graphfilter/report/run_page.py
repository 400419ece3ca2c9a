"""The report of a run: one HTML file that holds all it needs and asks the network for nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.graph import Graph
from graphfilter.report.classes import (
    MOST_VERTICES,
    calibration_data,
    class_rows,
    confusion_data,
    least_sure,
    most_doubted,
)
from graphfilter.report.conclusion import Baseline, Conclusion, conclude
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
from graphfilter.report.numbers import plain
from graphfilter.report.spread import view_spread
from graphfilter.report.whys import explain_rows
from graphfilter.spectral import Diagnosis, diagnose, label_energy, spectral_density
from graphfilter.splits import Split
from graphfilter.wording import count


@dataclass(frozen=True, eq=False)
class RunFacts:
    """What a page about one run is made from.

    Attributes
    ----------
    classifier : VertexClassifier
        Fitted.
    graph : Graph
    split : Split
    parts : str array (n,)
        The part of each vertex, in words.
    probabilities : float array (n, n_classes)
    metrics : mapping
        The content of ``metrics.json``.
    notes : sequence of str
        What was cleaned, guessed and drawn.
    made : mapping
        How the run was made: command, seed, versions, checksum, origin.
    baselines : sequence of Baseline
        Empty where they were not requested.
    title : str
        Of the page; the graph's name where empty.
    """

    classifier: VertexClassifier
    graph: Graph
    split: Split
    parts: NDArray[np.str_]
    probabilities: NDArray[np.float64]
    metrics: Mapping[str, Any]
    notes: Sequence[str]
    made: Mapping[str, Any]
    baselines: Sequence[Baseline] = ()
    title: str = ""

    @property
    def operator(self) -> str:
        """The kind of operator that the classifier filters with."""
        return self.classifier.filter_operator

    @property
    def part(self) -> str:
        """The part that is scored: test, or validation or training where there is no other."""
        return next(p for p in ("test", "val", "train") if p in self.metrics["scores"])

    @property
    def scored(self) -> NDArray[np.int64]:
        """The labelled vertices of that part."""
        assert self.graph.labels is not None
        index = getattr(self.split, self.part)
        return index[self.graph.labels[index] >= 0]


def write_report(path: str | PathLike[str], facts: RunFacts) -> None:
    """Write the page of a run atomically."""
    write_page(path, render_report(facts))


def conclude_run(facts: RunFacts) -> Conclusion:
    """Return what the top of the page says."""
    graph, scored = facts.graph, facts.scored
    assert graph.labels is not None
    return conclude(
        facts.part,
        graph.labels[scored],
        facts.probabilities[scored].argmax(axis=1),
        graph.labels[facts.split.train],
        [(baseline, baseline.predicted[scored]) for baseline in facts.baselines],
        has_edges=graph.n_edges > 0,
        system=""
        if isinstance(facts.classifier, SGFClassifier)
        else facts.classifier.system_.title,
    )


def render_report(facts: RunFacts) -> str:
    """Return the page of a run."""
    graph = facts.graph
    assert graph.labels is not None
    part, scored = facts.part, facts.scored
    truth, probabilities = graph.labels[scored], facts.probabilities[scored]
    predicted = probabilities.argmax(axis=1)
    diagnosis = diagnose(graph)
    density = spectral_density(graph)
    data = _plot_data(facts, diagnosis)
    filters, operator, shape = facts.classifier.filters_, facts.operator, ""
    if filters:
        shape = describe_shape(mean_response(filters, operator), density)
        data["filter"] |= {"density": plain(density.values), "bins": plain(density.centres)}
    data["confusion"] = confusion_data(graph, truth, predicted)
    data["calibration"] = calibration_data(probabilities, truth)
    decision = None
    if "decision" in facts.metrics:
        decision = view_decision(
            facts.metrics["decision"], part, probabilities, truth, graph.classes
        )
    data["decision"] = None if decision is None else decision.data
    unsure = least_sure(graph, facts.parts, facts.probabilities)
    doubted = most_doubted(graph, facts.parts, facts.probabilities)
    explain = partial(explain_rows, facts.classifier, graph, facts.probabilities)
    return render_page(
        "report.html.j2",
        name=graph.name,
        facts=facts,
        conclusion=conclude_run(facts),
        size=describe_size(graph),
        kind=diagnosis.kind.replace(" %", "\xa0%"),
        shape=shape,
        diagnosis=diagnosis,
        degrees=_degrees(graph),
        classes=class_rows(graph, diagnosis, truth, predicted),
        decision=decision,
        members=view_members(facts.classifier, part, scored, truth, predicted),
        spread=view_spread(facts.metrics["repeats"]) if "repeats" in facts.metrics else None,
        unsure=unsure,
        why_unsure=explain(unsure),
        doubted=doubted,
        why_doubted=explain(doubted, against_given=True),
        most_vertices=MOST_VERTICES,
        setting=_setting(facts.classifier),
        data=data,
        plotly=plotly_source(),
    )  # fmt: skip


def _plot_data(facts: RunFacts, diagnosis: Diagnosis) -> dict[str, Any]:
    classifier, graph = facts.classifier, facts.graph
    # What was fitted at once, such as trees, has no epochs to show.
    results = classifier.filter_results_ or [r for r in classifier.results_ if r.n_epochs]
    frequency = diagnosis.label_frequency
    energy = label_energy(graph)
    filtered = None
    if classifier.filters_:
        filtered = filter_data(results, classifier.filters_, facts.operator)
        here = np.isfinite(energy.values).all(axis=1)
        filtered["energy"] = plain(energy.values[here].mean(axis=0))
    names = [str(c) for c in graph.classes]
    return {
        "filter": filtered,
        "coefficients": coefficient_data(results[0]) if results else None,
        "training": training_data(results[0]) if results else None,
        "degrees": _degree_histogram(graph),
        "frequency": {
            "names": names,
            "value": plain(frequency.value),
            "low": plain(frequency.low),
            "high": plain(frequency.high),
        },
    }


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


def _setting(classifier: VertexClassifier) -> list[tuple[str, str]]:
    shown = classifier.get_params(deep=False)
    for name in ("graph", "verbose"):
        del shown[name]
    return [(name, str(value)) for name, value in shown.items()]


def describe_size(graph: Graph) -> str:
    """Return how large a graph is, in words.

    >>> describe_size(Graph.from_edges([[0, 1], [1, 2]]))
    '3 vertices, 2 edges, 0 features, 0 classes'
    """
    return ", ".join(
        (
            count(graph.n_vertices, "vertex", "vertices"),
            count(graph.n_edges, "edge"),
            count(graph.n_features, "feature"),
            count(graph.n_classes, "class", "classes"),
        )
    )
