"""When vertices are too many to compare with each other."""

from __future__ import annotations

import numpy as np

from graphfilter.graph import Graph

# The most training vertices to compare with all vertices, and the most common neighbours.
MOST_COMPARED, MOST_SHARED = 50_000, 10**9


def too_many_to_compare(graph: Graph, n_train: int) -> str | None:
    """Return why training vertices are not compared with all others by whom they link to."""
    if n_train > MOST_COMPARED:
        return f"{n_train:,} labels are too many to compare (at most {MOST_COMPARED:,})"
    # Neighbours, not graph.degrees, which are sums of weights: amounts may be large.
    if np.square(np.diff(graph.indptr), dtype=np.float64).sum() > MOST_SHARED:
        return "there are too many pairs of vertices with a common neighbour"
    return None
