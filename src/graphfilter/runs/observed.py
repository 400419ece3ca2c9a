"""What is seen of vertices and said of them, as columns that can be compared with later ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.spectral import rayleigh_quotient
from graphfilter.training import REGRESSION, Task

Index = NDArray[np.int64]

FEATURES, DEGREE, VARIATION, ANSWERS = "features", "degree", "variation", "answers"

# Vertices that are looked at, and bytes of their features: enough for shares to a percent.
MOST_VERTICES, MOST_BYTES = 50_000, 1 << 26
# Above this many stored entries times answers, their frequency is not computed.
MOST_FREQUENCY = 10**8


def sample(rows: Index, n_features: int, seed: int) -> Index:
    """Return at most so many of some vertices, in order."""
    most = int(np.clip(MOST_BYTES // (4 * max(n_features, 1)), 100, MOST_VERTICES))
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng((seed, 5)).choice(rows, most, replace=False))


def columns_of(
    graph: Graph,
    task: Task,
    outputs: NDArray[Any],
    answers: NDArray[Any],
    seen: Index,
    sampled: Index,
    *,
    n: int,
    deviation: Any,
) -> dict[str, Any]:
    """Return what is compared: of the vertices ``seen`` and of those ``said``, whose outputs are.

    ``answers`` are those of all vertices, of ``n`` names.
    """
    columns = {
        DEGREE: np.diff(graph.indptr)[seen, None],
        VARIATION: variation(graph, answers, sampled, deviation),
        ANSWERS: answer_columns(task, outputs, answers[sampled], n),
    }
    if graph.features is not None:
        columns[FEATURES] = graph.features[seen]
    return columns


def answer_columns(task: Task, outputs: NDArray[Any], answers: NDArray[Any], n: int) -> Any:
    """Return answers as columns (m, C): of classes which one, of labels which, or numbers."""
    if task.one_class:
        return np.eye(n)[answers]
    return outputs if task is REGRESSION else answers


def variation(graph: Graph, answers: NDArray[Any], rows: Index, deviation: Any = 1.0) -> Any:
    """Return how far the answers of neighbours differ from those of some vertices: (m, 1).

    Of classes and labels the share of neighbours with another one; of numbers the distance from
    their mean in deviations. Vertices without neighbours are left out.
    """
    degrees = np.diff(graph.indptr)[rows].astype(np.int64)
    rows, degrees = rows[degrees > 0], degrees[degrees > 0]
    if not len(rows):
        return np.zeros((0, 1))
    first = np.cumsum(degrees) - degrees
    within = np.arange(degrees.sum()) - np.repeat(first, degrees)
    neighbours = graph.indices[np.repeat(graph.indptr[rows].astype(np.int64), degrees) + within]
    own = np.repeat(np.arange(len(rows)), degrees)
    if answers.dtype.kind == "f":
        means = np.add.reduceat(answers[neighbours], first) / degrees[:, None]
        return (abs(answers[rows] - means) / deviation).mean(axis=1, keepdims=True)
    differs = answers[neighbours] != answers[rows][own]
    if differs.ndim == 2:
        differs = differs.mean(axis=1)
    return (np.add.reduceat(differs.astype(np.float64), first) / degrees)[:, None]


def answer_frequency(graph: Graph, task: Task, answers: NDArray[Any], n: int) -> float | None:
    """Return the mean graph frequency of the answers; None where it would take long."""
    if not graph.n_edges or len(graph.indices) * n > MOST_FREQUENCY:
        return None
    columns = (answers == c for c in range(n)) if task.one_class else answers.T
    found = []
    for column in columns:
        # As labels have it: plus and minus one half; numbers around their mean.
        numbers = np.asarray(column, dtype=np.float64)
        centre = numbers.mean() if task is REGRESSION else 0.5
        found.append(rayleigh_quotient(graph, numbers - centre))
    mean = float(np.nanmean(found)) if np.isfinite(found).any() else float("nan")
    return mean if np.isfinite(mean) else None


def signals_and_losses(
    task: Task, outputs: NDArray[Any], answers: NDArray[Any], truth: NDArray[Any] | None = None
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return what answers say of themselves, and what they lose where the truth is known.

    Of classes the probability of the answer, and whether it is wrong; of labels the mean of both;
    of each number the answer itself, and how far it is off.
    """
    nothing = np.zeros(0)
    if task is REGRESSION:
        return [
            (column, nothing if truth is None else abs(column - truth[:, t]))
            for t, column in enumerate(outputs.T)
        ]
    if task.one_class:
        sure = outputs[np.arange(len(answers)), answers]
        return [(sure, nothing if truth is None else (answers != truth).astype(np.float64))]
    sure = np.where(answers > 0, outputs, 1 - outputs).mean(axis=1)
    wrong = nothing if truth is None else (answers != (truth > 0.5)).mean(axis=1)
    return [(sure, wrong)]
