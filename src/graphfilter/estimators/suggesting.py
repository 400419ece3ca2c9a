"""Which label next: from a fitted estimator to the vertices whose label would teach most."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.member_answers import outputs_of
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.explain import Suggestion, draw_some, suggest_vertices
from graphfilter.graph import Graph
from graphfilter.systems import Prepared
from graphfilter.training import REGRESSION

Index = NDArray[np.int64]

# Rows whose squares are in memory at a time.
AT_ONCE = 1 << 16


def suggest_labels(
    estimator: VertexEstimator,
    graph: Graph,
    labelled: Index,
    candidates: Index,
    n: int,
    seed: int = 0,
) -> list[Suggestion]:
    """Return the n candidates whose label would teach a fitted estimator most.

    Parameters
    ----------
    graph : Graph
        With features, as the estimator was fitted.
    labelled : int array
        The vertices that it learned from.
    candidates : int array
        The vertices without a label.
    """
    prepared = estimator.prepare(graph)
    columns = _likeness(prepared)
    rng = np.random.default_rng((seed, 4))
    others, doubt = draw_some(np.arange(graph.n_vertices), rng), None
    if estimator.task_ is not REGRESSION:
        members, held = estimator.members_of(prepared), estimator.held_in(prepared)
        p = outputs_of(estimator, prepared, members, held, others)
        # A label that a vertex may have is a question of two answers.
        one_class = estimator.task_.one_class
        doubt = 1 - (p.max(axis=1) if one_class else np.maximum(p, 1 - p).mean(axis=1))
    return suggest_vertices(columns, labelled, candidates, n, others=others, doubt=doubt, rng=rng)


def _likeness(prepared: Prepared) -> Callable[[Index], NDArray[np.float64]]:
    """Return what gives columns in which vertices are near that have like features and places.

    Features, their averages over neighbours and over theirs, and places count the same.
    """
    seen = prepared.seen_as("places")
    columns = np.asarray(seen.graph.features)
    first_place = columns.shape[1] - seen.found["axes"].shape[1]
    width = (first_place - 1) // 3
    ends = [width, 2 * width, 3 * width, first_place]
    parts = np.split(np.arange(columns.shape[1]), ends)
    del parts[3]  # The degrees.
    kept = np.concatenate(parts)
    lengths = [max(np.sqrt(_mean_square(columns[:, p[0] : p[-1] + 1])), 1e-30) for p in parts]
    scale = np.repeat(lengths, [len(p) for p in parts])
    return lambda rows: columns[rows][:, kept] / scale


def _mean_square(columns: NDArray[np.float32]) -> np.float64:
    """Return the mean squared length of rows."""
    blocks = np.array_split(columns, 1 + len(columns) // AT_ONCE)
    sums = [np.square(block, dtype=np.float64).sum(axis=1) for block in blocks]
    return np.concatenate(sums).mean()
