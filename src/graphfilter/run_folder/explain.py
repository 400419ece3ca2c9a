"""Explaining vertices with the model of a finished run."""

from __future__ import annotations

from collections.abc import Sequence

from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.explaining import class_number, explain_graph, find_vertex
from graphfilter.explain import Explanation
from graphfilter.graph import Graph
from graphfilter.run_folder.description import RunDescription
from graphfilter.run_folder.plan import with_features
from graphfilter.run_folder.predict import predict_graph


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
    notes = ()
    if target.checksum() != run.data_checksum:
        notes = ("this is not the graph of the fit: the model is explained on the one given.",)
    prepared = classifier.prepare(target)
    other = None if against is None else class_number(classifier, against)
    found = explain_graph(
        classifier, prepared, probabilities, numbers, against=[other] * len(numbers), most=most
    )
    return found, notes
