"""Using a finished run on a graph: predicting and explaining its vertices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import ConfigError, GraphError
from graphfilter.estimators import (
    VertexClassifier,
    VertexEstimator,
    class_number,
    explain_graph,
    explain_output,
    find_vertex,
)
from graphfilter.explain import Explanation
from graphfilter.fits import answers_of, with_features
from graphfilter.graph import Graph
from graphfilter.inputs import Known
from graphfilter.run_folder.description import RunDescription


def predict_graph(
    estimator: VertexEstimator,
    run: RunDescription,
    graph: Graph,
    only: NDArray[np.int64] | None = None,
    known: Known | None = None,
) -> NDArray[np.float64]:
    """Return the outputs of the model of a run for another graph (n, C): probabilities, or numbers.

    ``only`` are the vertices to answer for; all unless given. ``known`` are those that were there
    in the fit; found by their ids unless given.
    """
    target = as_fitted(estimator, run, graph)
    return estimator.answers(graph=target, only=only, known=known)


def as_fitted(estimator: VertexEstimator, run: RunDescription, graph: Graph) -> Graph:
    """Return a graph with features as the model was fitted with, or raise."""
    if not run.vertex_features:
        if with_features(graph)[0].checksum() != run.data_checksum:
            raise GraphError(
                "this model was fitted without vertex features, on the identity of each "
                "vertex: it can predict only the graph it was fitted on."
            )
        graph, _ = with_features(graph)
    if graph.features is None:
        raise GraphError("the vertices have no features, but the model was fitted with some.")
    if graph.n_features != estimator.n_features_in_:
        raise GraphError(
            f"the model was fitted on {estimator.n_features_in_} features; "
            f"this graph has {graph.n_features}."
        )
    return graph


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
        found = explain_output(classifier, prepared, probabilities, numbers, output, most=most)
        return found, notes
    assert isinstance(classifier, VertexClassifier)
    other = None if against is None else class_number(classifier, against)
    names = [str(name) for name in classifier.classes_]
    answered = answers_of(classifier.task_, probabilities, names, run.decision)[numbers]
    found = explain_graph(
        classifier, prepared, probabilities, numbers, answered=answered.tolist(),
        against=[other] * len(numbers), most=most,
    )  # fmt: skip
    return found, notes
