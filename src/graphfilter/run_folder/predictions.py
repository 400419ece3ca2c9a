"""``predictions.csv`` (or Parquet): one row per vertex."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.graph import Graph
from graphfilter.metrics.thresholds import Decision
from graphfilter.run_folder.row_table import text, write_rows
from graphfilter.splits import Split

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
    best = predicted_classes(probabilities, classes, decision)
    names = np.array([str(c) for c in classes], dtype=object)
    parts = None if split is None else parts_of(graph, split)

    def columns(rows: slice) -> dict[str, Any]:
        own, answer = probabilities[rows], best[rows]
        found: dict[str, Any] = {
            "predicted": text(names[answer]),
            "probability": own[np.arange(len(answer)), answer].round(6),
        }
        found |= {f"p_{name}": own[:, c].round(6) for c, name in enumerate(names)}
        return found if parts is None else found | {"part": text(parts[rows])}

    write_rows(path, graph, columns)


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
