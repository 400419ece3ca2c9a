"""The classes and the vertices: who is mistaken for whom, how sure, and which labels to doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.graph import Graph
from graphfilter.report.numbers import plain
from graphfilter.spectral import Diagnosis

MOST_VERTICES = 200
MOST_CLASSES = 40
N_BINS = 10


@dataclass(frozen=True)
class ClassRow:
    """One class: its size, its frequency, and how it was predicted on the scored vertices."""

    name: str
    n_labelled: int
    n_scored: int
    precision: float
    recall: float
    f1: float
    frequency: float
    range: str


@dataclass(frozen=True)
class VertexRow:
    """One vertex worth a look; ``given`` is empty where its label is not known."""

    number: int
    id: str
    part: str
    given: str
    predicted: str
    probability: float
    given_probability: float | None


def class_rows(
    graph: Graph, diagnosis: Diagnosis, truth: NDArray[np.int64], predicted: NDArray[np.int64]
) -> list[ClassRow]:
    """Score each class on its own; precision is NaN for one never predicted, recall untested."""
    # Slow to import, as is confusion_matrix below.
    from sklearn.metrics import precision_recall_fscore_support

    numbers = np.arange(graph.n_classes)
    scored: Any = precision_recall_fscore_support(
        truth, predicted, labels=numbers, zero_division=np.nan
    )
    precision, recall, f1, support = scored
    return [
        ClassRow(
            name=str(graph.classes[c]),
            n_labelled=list(diagnosis.class_counts.values())[c],
            n_scored=int(support[c]),
            precision=float(precision[c]),
            recall=float(recall[c]),
            f1=float(f1[c]),
            frequency=float(diagnosis.label_frequency.value[c]),
            range=diagnosis.ranges[c],
        )
        for c in numbers
    ]


def confusion_data(
    graph: Graph, truth: NDArray[np.int64], predicted: NDArray[np.int64]
) -> dict[str, Any]:
    """Return counts by given (rows) and predicted class, of the largest classes if many."""
    from sklearn.metrics import confusion_matrix

    counts = confusion_matrix(truth, predicted, labels=np.arange(graph.n_classes))
    order = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:MOST_CLASSES])
    return {
        "names": [str(graph.classes[c]) for c in order],
        "counts": counts[np.ix_(order, order)].tolist(),
        "left_out": graph.n_classes - len(order),
    }


def calibration_data(
    probabilities: NDArray[np.float64], truth: NDArray[np.int64]
) -> dict[str, Any]:
    """Return accuracy against confidence in ten equal bins; empty bins are left out."""
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == truth
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    count = np.bincount(bins, minlength=N_BINS)
    there = count > 0
    return {
        "confidence": plain(np.bincount(bins, confidence, N_BINS)[there] / count[there]),
        "accuracy": plain(np.bincount(bins, right, N_BINS)[there] / count[there]),
        "count": count[there].tolist(),
    }


def least_sure(
    graph: Graph, parts: NDArray[np.str_], probabilities: NDArray[np.float64]
) -> list[VertexRow]:
    """List the vertices with the least probable prediction: unlabelled, or else test ones."""
    assert graph.labels is not None
    kinds = (graph.labels < 0, parts == "test", parts == "val", np.full(len(parts), True))
    asked = next(np.flatnonzero(kind) for kind in kinds if kind.any())
    order = asked[np.argsort(probabilities[asked].max(axis=1), kind="stable")]
    return _rows(graph, parts, probabilities, order[:MOST_VERTICES])


def most_doubted(
    graph: Graph, parts: NDArray[np.str_], probabilities: NDArray[np.float64]
) -> list[VertexRow]:
    """List the labelled vertices whose own label the model finds least probable, and rejects.

    Labels that a model rejects though it was trained on them are often wrong (Northcutt et al.
    2021, Confident Learning).
    """
    assert graph.labels is not None
    known = np.flatnonzero(graph.labels >= 0)
    rejected = known[probabilities[known].argmax(axis=1) != graph.labels[known]]
    own = probabilities[rejected, graph.labels[rejected]]
    order = rejected[np.argsort(own, kind="stable")]
    return _rows(graph, parts, probabilities, order[:MOST_VERTICES])


def _rows(
    graph: Graph,
    parts: NDArray[np.str_],
    probabilities: NDArray[np.float64],
    vertices: NDArray[np.int64],
) -> list[VertexRow]:
    assert graph.labels is not None
    names = graph.vertex_names or range(graph.n_vertices)
    rows = []
    for v in vertices.tolist():
        label, best = int(graph.labels[v]), int(probabilities[v].argmax())
        rows.append(
            VertexRow(
                number=v,
                id=str(names[v]),
                part=str(parts[v]),
                given="" if label < 0 else str(graph.classes[label]),
                predicted=str(graph.classes[best]),
                probability=float(probabilities[v, best]),
                given_probability=None if label < 0 else float(probabilities[v, label]),
            )
        )
    return rows
