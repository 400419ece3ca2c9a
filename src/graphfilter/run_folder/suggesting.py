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
from graphfilter.run_folder.parts import NEW, UNKNOWN, parts_in_run
from graphfilter.run_folder.using import as_fitted
from graphfilter.wording import count

# The parts of a run that a model learned from.
LEARNED = ("train", "val")


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
    labelled, unlabelled = np.isin(parts, LEARNED), parts == "unlabelled"
    return suggest_labels(
        estimator, target, np.flatnonzero(labelled), np.flatnonzero(unlabelled), n, run.seed
    )
