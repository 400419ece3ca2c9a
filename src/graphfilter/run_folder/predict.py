"""Using a finished run: its model, and how its tables were read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import GraphError, ModelFileError
from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.saving import CONFIG_FILE
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.graph import Graph
from graphfilter.run_folder.description import RunDescription
from graphfilter.run_folder.layout import checkpoints
from graphfilter.run_folder.model import load_classifier
from graphfilter.run_folder.plan import with_features
from graphfilter.storage import convert, read_checked_json
from graphfilter.tables.encoding import TableEncoder


def load_run(folder: str | Path) -> tuple[VertexClassifier, RunDescription, TableEncoder | None]:
    """Load the classifier of a run folder, what is known of the run, and how to read its tables."""
    if checkpoints(folder) and not (Path(folder) / CONFIG_FILE).exists():
        raise ModelFileError(f"{folder}: an unfinished run; end it with graphfilter fit --resume.")
    return load_classifier(folder), *read_description(folder)


def read_description(folder: str | Path) -> tuple[RunDescription, TableEncoder | None]:
    """Read what is known of a run, and how to read its tables."""
    content = read_checked_json(Path(folder) / CONFIG_FILE).get("run")
    if content is None:
        raise ModelFileError(f"{folder}: holds a model but no run; make one with graphfilter fit.")
    try:
        run = convert(RunDescription, content)
    except TypeError as error:
        problem = f"does not describe a run ({error}); fit again."
        raise ModelFileError(f"{Path(folder) / CONFIG_FILE}: {problem}") from None
    encoder = None if run.encoder is None else TableEncoder.from_dict(run.encoder)
    return run, encoder


def predict_graph(
    classifier: VertexClassifier, run: RunDescription, graph: Graph
) -> NDArray[np.float64]:
    """Return class probabilities for the vertices of another graph."""
    return classifier.predict_proba(graph=as_fitted(classifier, run, graph))


def as_fitted(classifier: VertexEstimator, run: RunDescription, graph: Graph) -> Graph:
    """Return a graph with features as the model was fitted with, or raise."""
    if not run.vertex_features:
        if with_features(graph)[0].checksum() != run.data_checksum:
            raise GraphError(
                "this model was fitted without vertex features, on the identity of each vertex: "
                "it can predict the graph it was fitted on, and no other."
            )
        graph, _ = with_features(graph)
    if graph.features is None:
        raise GraphError("the vertices have no features, but the model was fitted with some.")
    if graph.n_features != classifier.n_features_in_:
        raise GraphError(
            f"the model was fitted on {classifier.n_features_in_} features; "
            f"this graph has {graph.n_features}."
        )
    return graph
