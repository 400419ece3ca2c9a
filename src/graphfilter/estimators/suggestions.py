"""Which label next: vertices that stand for those that no labelled vertex is like, with reasons.

Which label next: from a fitted estimator to the vertices whose label would teach most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.systems import Prepared
from graphfilter.training import REGRESSION
from graphfilter.util.errors import GraphError, check_count

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# Vertices drawn to stand for all, and candidates drawn to choose at most MOST_CHOSEN of them.
MOST_DRAWN = 1000
MOST_CHOSEN = 100


@dataclass(frozen=True)
class Suggestion:
    """A vertex to be labelled next.

    Attributes
    ----------
    vertex : int
    score : float
        How much nearer others come to a labelled vertex by it; 1 for the first.
    reason : str
        In words.
    """

    vertex: int
    score: float
    reason: str


def draw_some(vertices: Index, rng: np.random.Generator) -> Index:
    """Return as many vertices as are compared with each other, in order."""
    return np.sort(rng.permutation(vertices)[:MOST_DRAWN])


def suggest_vertices(
    columns: Callable[[Index], Array],
    labelled: Index,
    candidates: Index,
    n: int,
    *,
    others: Index,
    doubt: Array | None = None,
    rng: np.random.Generator,
) -> list[Suggestion]:
    r"""Return n candidates that bring others near to a labelled vertex (greedy k-medoids).

    The next one is the candidate v with the largest
    :math:`\sum_u (1 + h_u) \max(0, \min_{w \in L} d_{uw} - d_{uv})`, where L are the labelled
    vertices and those chosen before, d is the distance of columns, and h is how unsure the model
    is of u.

    Parameters
    ----------
    columns : callable
        From vertices to what tells them apart (m, k).
    candidates : int array
        The vertices without a label.
    others : int array
        u: some vertices that stand for all (:func:`draw_some`).
    doubt : array in [0, 1], optional
        h of these; 0 without it.
    """
    from scipy.spatial.distance import cdist
    from sklearn.metrics import pairwise_distances_argmin_min

    check_count("n", n, most=2**63)
    if not len(candidates):
        raise GraphError("there must be vertices without a label to suggest some; all have one.")
    # A model is often sure of vertices of a class that it has not seen yet: they count too.
    weights = np.ones(len(others)) if doubt is None else 1 + doubt
    places = columns(others)
    nearest = pairwise_distances_argmin_min(places, columns(labelled))[1].astype(np.float64)
    n = min(n, len(candidates))
    n_draws = -(-n // MOST_CHOSEN)
    chosen: list[tuple[int, float, str]] = []
    for part in np.array_split(rng.permutation(np.sort(candidates)), n_draws):
        drawn = draw_some(part, rng)
        distances = cdist(places, columns(drawn))
        left = np.ones(len(drawn), dtype=bool)
        for _ in range(min(-(-n // n_draws), n - len(chosen))):
            gains = weights @ np.maximum(nearest[:, None] - distances, 0)
            best = int(np.argmax(np.where(left, gains, -1)))
            nearer = distances[:, best] < nearest
            chosen.append((int(drawn[best]), float(gains[best]), _reason(nearer, doubt)))
            nearest = np.minimum(nearest, distances[:, best])
            left[best] = False
    most = max(gain for _, gain, _ in chosen) or 1.0
    return [Suggestion(vertex, gain / most, reason) for vertex, gain, reason in chosen]


def _reason(nearer: NDArray[np.bool_], doubt: Array | None) -> str:
    if not nearer.any():
        return "all vertices are as near to labelled ones; any other would do as well"
    text = f"would be the nearest labelled vertex of {nearer.mean():.1%} of all vertices"
    sure = "" if doubt is None else f"; the model is {1 - doubt[nearer].mean():.0%} sure of those"
    return text + sure


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
        p = estimator.answers_of(prepared, only=others).outputs()
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

    def mean_square(own: NDArray[np.float32]) -> np.float64:
        blocks = np.array_split(own, 1 + len(own) // AT_ONCE)
        return np.concatenate([np.square(b, dtype=np.float64).sum(axis=1) for b in blocks]).mean()

    lengths = [max(np.sqrt(mean_square(columns[:, p[0] : p[-1] + 1])), 1e-30) for p in parts]
    scale = np.repeat(lengths, [len(p) for p in parts])
    return lambda rows: columns[rows][:, kept] / scale
