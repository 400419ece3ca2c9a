"""Which vertices can have a label: all, or one side of a graph that joins two types of vertices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from graphfilter.graph import Graph
from graphfilter.wording import count

# Labels that lie on one side by chance would do so with probability 2^-k.
LEAST_EVIDENCE = 10
# The most features, vertices times columns, to compare.
MOST_COMPARED = 10**8


@dataclass(frozen=True, eq=False)
class Side:
    """The vertices that can have a label (bool: n), and a sentence where some cannot."""

    can: NDArray[np.bool_]
    note: str = ""


def labelled_side(graph: Graph, known: NDArray[np.bool_]) -> Side:
    """Find the side of a bipartite graph that has all the labels, as accounts beside devices.

    Where no cycle is odd, a connected part has two sides. If its labels all lie on one of them,
    each but the first says so with probability ½ by chance; with ten of them, over all parts, the
    other sides are taken to be vertices of a kind that is never labelled. Of parts without labels,
    those vertices are taken for it too that a feature tells apart: one that is the same on all
    vertices of that kind, and another on all labelled ones. The rest stay in.
    """
    n = graph.n_vertices
    everyone = Side(np.ones(n, dtype=bool))
    if known.all() or not known.any() or not graph.n_edges:
        return everyone
    # In the double cover (u, 0)-(v, 1), (u, 1)-(v, 0) the two sides of a part fall apart.
    adjacency = graph.adjacency
    cover = sp.block_array([[None, adjacency], [adjacency.T, None]], format="csr")
    component = connected_components(cover, directed=False)[1]
    own, opposite = component[:n], component[n:]
    labelled, n_labels = np.unique(own[known], return_counts=True)
    has_labels = np.zeros(component.max() + 1, dtype=bool)
    has_labels[labelled] = True
    never = has_labels[opposite] & ~has_labels[own]
    if not never.any():
        return everyone
    one_sided = np.isin(labelled, own[known & ~has_labels[opposite]])
    if int((n_labels[one_sided] - 1).sum()) < LEAST_EVIDENCE:
        return everyone
    told = _told_apart(graph, never, known)
    never |= told & ~has_labels[own]
    vertices = count(int(never.sum()), "vertex", "vertices")
    return Side(
        ~never,
        f"{vertices} on the side of the graph without any label are omitted from the lists of "
        "vertices.",
    )


def _told_apart(
    graph: Graph, never: NDArray[np.bool_], known: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return the vertices that have, of some feature, the one value of all that never are known."""
    x = graph.features
    if x is None or np.prod(x.shape) > MOST_COMPARED:
        return never
    columns = x.toarray() if sp.issparse(x) else np.asarray(x)
    kind, others = columns[never], columns[known]
    tells = (kind == kind[0]).all(axis=0) & (others != kind[0]).all(axis=0)
    return (columns[:, tells] == kind[0, tells]).all(axis=1) if tells.any() else never
