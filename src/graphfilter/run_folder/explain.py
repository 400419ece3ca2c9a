"""Explaining vertices with the model of a finished run."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.explaining import class_number, explain_graph, find_vertex
from graphfilter.explain import Explanation
from graphfilter.graph import Graph
from graphfilter.run_folder.description import RunDescription
from graphfilter.run_folder.plan import with_features
from graphfilter.run_folder.predict import predict_graph
from graphfilter.run_folder.predictions import predicted_classes


def explain_run(
    classifier: VertexClassifier,
    run: RunDescription,
    graph: Graph,
    vertices: Sequence[str],
    *,
    against: str | None = None,
    most: int = 10,
) -> tuple[list[Explanation], tuple[str, ...]]:
    """Explain the vertices of these ids; return notes too."""
    numbers = [find_vertex(graph, vertex) for vertex in vertices]
    probabilities = predict_graph(classifier, run, graph)
    target = with_features(graph)[0]
    notes: tuple[str, ...] = ()
    if run.decision is not None:
        name, least = run.decision.positive, run.decision.threshold
        notes = (f"{name} is answered from a probability of {least:.3g}{_log_odds(least)}.",)
    if target.checksum() != run.data_checksum:
        said = "this is not the graph of the fit: the model is explained on the one given."
        notes = (*notes, said)
    prepared = classifier.prepare(target)
    other = None if against is None else class_number(classifier, against)
    answered = predicted_classes(probabilities, classifier.classes_, run.decision)[numbers]
    found = explain_graph(
        classifier, prepared, probabilities, numbers, answered=answered.tolist(),
        against=[other] * len(numbers), most=most,
    )  # fmt: skip
    return found, notes


def _log_odds(probability: float) -> str:
    return f", log-odds {log(probability / (1 - probability)):+.2f}" if 0 < probability < 1 else ""
