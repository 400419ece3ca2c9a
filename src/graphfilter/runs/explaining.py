"""Explaining the vertices of a run, and suggesting which to label next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from graphfilter.data.graph import Graph
from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.explanation import (
    Explanation,
    class_number,
    explain_vertices,
    find_vertex,
)
from graphfilter.estimators.suggestions import Suggestion, suggest_labels
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.runs.fit import answers_of
from graphfilter.runs.layout import PREDICTIONS_FILE
from graphfilter.runs.loading import NEW, UNKNOWN, RunDescription, parts_in_run
from graphfilter.runs.plan import with_features
from graphfilter.runs.predict import as_fitted, predict_graph
from graphfilter.util.errors import ConfigError, GraphError
from graphfilter.util.words import count


def explain_run(
    classifier: VertexEstimator,
    run: RunDescription,
    graph: Graph,
    vertices: Sequence[str],
    *,
    against: str | None = None,
    output: str | None = None,
    most: int = 10,
) -> tuple[list[Explanation], tuple[str, ...]]:
    """Explain the vertices of these ids; return notes too.

    ``against`` is the class to compare with; ``output`` the label or number of several.
    """
    of_classes = isinstance(classifier, VertexClassifier) and classifier.task_.one_class
    if against is not None and not of_classes:
        raise ConfigError(
            "`against` compares classes; this run predicts something else. Name what to explain "
            "with `output`, or leave it out."
        )
    if output is not None and of_classes:
        raise ConfigError("`output` is one of several labels or numbers; this run has classes.")
    numbers = [find_vertex(graph, vertex) for vertex in vertices]
    probabilities = predict_graph(classifier, run, graph)
    target = with_features(graph)[0]
    notes: tuple[str, ...] = ()
    if run.decision is not None:
        name, least = run.decision.positive, run.decision.threshold
        odds = f", log-odds {run.decision.log_odds}" if run.decision.log_odds else ""
        notes = (f"{name} is predicted from a probability of {least:.3g}{odds}.",)
    if target.checksum() != run.data_checksum:
        text = "this is not the graph of the fit: the model is explained on the given graph."
        notes = (*notes, text)
    prepared = classifier.prepare(target)
    if not of_classes:
        found = explain_vertices(
            classifier, prepared, probabilities, numbers, output=output, most=most
        )
        return found, notes
    assert isinstance(classifier, VertexClassifier)
    other = None if against is None else class_number(classifier, against)
    names = [str(name) for name in classifier.classes_]
    answered = answers_of(classifier.task_, probabilities, names, run.decision)[numbers]
    found = explain_vertices(
        classifier, prepared, probabilities, numbers, answered=answered.tolist(),
        against=[other] * len(numbers), most=most,
    )  # fmt: skip
    return found, notes


def suggest_run(
    folder: Path, estimator: VertexEstimator, run: RunDescription, graph: Graph, n: int
) -> list[Suggestion]:
    """Return the vertices without a label whose label would teach the model of a run most."""
    target = as_fitted(estimator, run, graph)
    parts = parts_in_run(folder, graph)
    if (parts == UNKNOWN).any():
        raise GraphError(
            f"{PREDICTIONS_FILE} of the run must be as fit wrote it: it says which vertices have "
            "a label. Fit again."
        )
    if n_new := int((parts == NEW).sum()):
        raise GraphError(
            f"the graph must be the one of the run; {count(n_new, 'vertex is', 'vertices are')} "
            "not in it. Fit again with them, and no label."
        )
    labelled = np.flatnonzero(np.isin(parts, ("train", "val")))
    unlabelled = np.flatnonzero(parts == "unlabelled")
    return suggest_labels(estimator, target, labelled, unlabelled, n, run.seed)
