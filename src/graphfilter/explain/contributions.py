"""What an explanation is made of, whichever way it was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.graph import Graph

# The vertex itself, its neighbours, theirs, one step more, and all that is farther away.
STEPS = ("own", "1", "2", "3", "farther")


@dataclass(frozen=True, eq=False)
class Contributions:
    """Numbers that add up to the score of one vertex.

    Attributes
    ----------
    base : float
        The score of an average position in the graph with average features everywhere.
    structure : float
        What the vertex's own position adds to it, with average features everywhere.
    steps : array (len(STEPS),)
        What the features add: its own, and those of the vertices at each distance.
    vertices : array (n,) or None
        What the features of every vertex add; None where that is not known one by one.
    own_features, other_features : array (d,) or None
        The same by feature: those of the vertex itself, and of all others.
    """

    base: float
    structure: float
    steps: NDArray[np.float64]
    vertices: NDArray[np.float64] | None = None
    own_features: NDArray[np.float64] | None = None
    other_features: NDArray[np.float64] | None = None

    @property
    def score(self) -> float:
        return self.base + self.structure + float(self.steps.sum())


def steps_from(graph: Graph, vertex: int) -> NDArray[np.int64]:
    """Return the distance of every vertex in steps, those beyond the last but one cut to the last.

    >>> steps_from(Graph.from_edges([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]), 0).tolist()
    [0, 1, 2, 3, 4, 4]
    """
    last = len(STEPS) - 1
    distance = np.full(graph.n_vertices, last, dtype=np.int64)
    distance[vertex] = 0
    reached: NDArray[Any] = np.array([vertex])
    for step in range(1, last):
        ends = [graph.indices[graph.indptr[u] : graph.indptr[u + 1]] for u in reached.tolist()]
        near = np.unique(np.concatenate(ends)) if ends else reached
        reached = near[distance[near] == last]
        distance[reached] = step
    return distance
