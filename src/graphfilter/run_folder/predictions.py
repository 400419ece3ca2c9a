"""``predictions.csv``: one row per vertex."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.graph import Graph
from graphfilter.metrics.thresholds import Decision
from graphfilter.splits import Split
from graphfilter.storage import atomic_file

UNLABELLED = "unlabelled"
UNUSED = "unused"


def write_predictions(
    path: str | PathLike[str],
    graph: Graph,
    classes: NDArray[Any],
    probabilities: NDArray[np.float64],
    split: Split | None = None,
    decision: Decision | None = None,
) -> None:
    """Write per vertex: id, predicted label, its probability, that of every class, and its part.

    The label is the most probable one, or that of the ``decision`` where there is one.
    """
    import pyarrow as pa
    from pyarrow import csv

    best = predicted_classes(probabilities, classes, decision)
    names = [str(c) for c in classes]
    ids = graph.vertex_names or range(graph.n_vertices)
    columns: dict[str, Any] = {
        "id": pa.array([str(name) for name in ids]),
        "predicted": pa.array([names[b] for b in best]),
        "probability": probabilities[np.arange(len(best)), best].round(6),
    }
    for c, name in enumerate(names):
        columns[f"p_{name}"] = probabilities[:, c].round(6)
    if split is not None:
        columns["part"] = pa.array(parts_of(graph, split).tolist())
    with atomic_file(path) as temporary:
        csv.write_csv(pa.table(columns), temporary)


def predicted_classes(
    probabilities: NDArray[np.float64], classes: NDArray[Any], decision: Decision | None
) -> NDArray[np.int64]:
    """Return the class number that is answered for each vertex."""
    if decision is None:
        return probabilities.argmax(axis=1)
    return decision.decide(probabilities, classes.tolist())


def parts_of(graph: Graph, split: Split) -> NDArray[np.str_]:
    """Name each vertex's part: train, val, test, unlabelled, or unused (labelled, in no part)."""
    part = split.part_of(graph.n_vertices).astype("<U10")
    unknown = np.ones(graph.n_vertices, bool) if graph.labels is None else graph.labels < 0
    part[(part == "") & unknown] = UNLABELLED
    part[part == ""] = UNUSED
    return part
