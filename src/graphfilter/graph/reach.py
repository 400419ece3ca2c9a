"""How far a few steps lead in a graph."""

from __future__ import annotations

import numpy as np

from graphfilter.graph.arrays import GraphArrays

# Vertices to start from, and the share of the graph that counts as having come far.
N_STARTS, FAR = 9, 0.1


def is_wide(graph: GraphArrays, n_steps: int) -> bool:
    """Return whether so many steps from a vertex lead to a small part of the graph only.

    So it is of grids, meshes and roads; in most other graphs a few steps lead nearly everywhere. It
    is wide if most of a few vertices drawn at random reach neither a tenth of all vertices nor all
    that they are connected to.

    Examples
    --------
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([(i, i + 1) for i in range(199)])
    >>> is_wide(path, 6), is_wide(path, 30)
    (True, False)
    """
    rng = np.random.default_rng(0)
    starts = rng.integers(graph.n_vertices, size=N_STARTS)
    return 2 * sum(_stays_near(graph, start, n_steps) for start in starts.tolist()) > N_STARTS


def _stays_near(graph: GraphArrays, start: int, n_steps: int) -> bool:
    reached = np.zeros(graph.n_vertices, dtype=bool)
    reached[start], n_reached = True, 1
    last = np.array([start])
    for _ in range(n_steps):
        ends = [graph.indices[graph.indptr[v] : graph.indptr[v + 1]] for v in last.tolist()]
        found = np.unique(np.concatenate(ends)) if ends else last[:0]
        last = found[~reached[found]]
        reached[last] = True
        n_reached += len(last)
        if not len(last) or n_reached >= FAR * graph.n_vertices:
            return False
    return True
