"""Which label next, for a finished run."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphfilter.errors import GraphError
from graphfilter.estimators import VertexEstimator, suggest_labels
from graphfilter.explain import Suggestion
from graphfilter.graph import Graph
from graphfilter.run_folder.description import RunDescription
from graphfilter.run_folder.layout import PREDICTIONS_FILE
from graphfilter.run_folder.using import as_fitted

# The parts of a run that a model learned from, and the others whose truth is known.
LEARNED = ("train", "val")
KNOWN = (*LEARNED, "test", "unused")


def suggest_run(
    folder: Path, estimator: VertexEstimator, run: RunDescription, graph: Graph, n: int
) -> list[Suggestion]:
    """Return the vertices without a label whose label would teach the model of a run most."""
    from pyarrow import csv

    target = as_fitted(estimator, run, graph)
    table = csv.read_csv(folder / PREDICTIONS_FILE)
    parts = np.array(table.column("part").to_pylist(), dtype=object)
    if len(parts) != target.n_vertices:
        raise GraphError(
            f"the graph must be the one of the run, with {len(parts):,} vertices; it has "
            f"{target.n_vertices:,}."
        )
    labelled, unknown = np.isin(parts, LEARNED), ~np.isin(parts, KNOWN)
    return suggest_labels(
        estimator, target, np.flatnonzero(labelled), np.flatnonzero(unknown), n, run.seed
    )
