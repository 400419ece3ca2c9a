"""Known: which vertices of a graph are those of the graph that a model was fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphfilter.graph import Graph

# A new vertex is never trusted as one that was there: what members say of it is weighed at most as
# at this share of known neighbours.
MOST_OF_NEW = 0.9


@dataclass(frozen=True, eq=False)
class Known:
    """The vertices of a graph by their numbers in the fitted one.

    Where columns of a model stand for vertices, those of this graph's links that lead to known
    vertices have a column; the others have none.

    Attributes
    ----------
    numbers : int array (n,)
        The number that each vertex had in the fitted graph; -1 of a new one.
    n_fitted : int
        Vertices of the fitted graph.
    in_larger : float, optional
        Where this graph is a part of a larger one: the share of the fitted graph's vertices there.

    Examples
    --------
    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([[0, 1], [1, 2]])
    >>> known = Known(np.array([1, 0, -1]), 2)
    >>> known.columns(path.out_links()).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    >>> known.shares(path).tolist()
    [1.0, 1.0, 0.9]
    """

    numbers: NDArray[np.int64]
    n_fitted: int
    in_larger: float | None = None

    @classmethod
    def all_but(cls, n_vertices: int, new: ArrayLike) -> Self:
        """Return the vertices of the fitted graph itself, some of which count as new."""
        numbers = np.arange(n_vertices)
        numbers[np.asarray(new, dtype=np.int64)] = -1
        return cls(numbers, n_vertices)

    @cached_property
    def is_known(self) -> NDArray[np.bool_]:
        """Whether each vertex was there (n,)."""
        return self.numbers >= 0

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Whether each vertex of the fitted graph is in this one (n_fitted,)."""
        found = np.zeros(self.n_fitted, dtype=bool)
        found[self.numbers[self.is_known]] = True
        return found

    @property
    def share_present(self) -> float:
        """The share of the fitted graph's vertices that are in this one."""
        return float(self.present.mean()) if self.in_larger is None else self.in_larger

    def columns(self, links: sp.csr_array) -> sp.csr_array:
        """Return links (n, n) by the fitted graph's columns (n, n_fitted); the others are lost."""
        numbers = self.numbers[links.indices]
        kept = numbers >= 0
        indptr = np.concatenate([[0], np.cumsum(kept)])[links.indptr]
        shape = (links.shape[0], self.n_fitted)
        found = sp.csr_array((links.data[kept], numbers[kept], indptr), shape=shape)
        found.sort_indices()
        return found

    def degrees(self, graph: Graph) -> NDArray[np.float64]:
        """Return the degree of each vertex among those that are known (n,)."""
        if self.is_known.all():
            return graph.degrees
        return graph.adjacency @ self.is_known.astype(np.float64)

    def averaging(self, graph: Graph) -> tuple[sp.csr_array, NDArray[np.float64]]:
        """Return the adjacency that averages are taken over, and its degrees.

        Of the neighbours that are known, so that a known vertex has the averages it was fitted
        with; of all for a new one that has no such neighbour.
        """
        if self.is_known.all():
            return graph.adjacency, graph.degrees
        degrees = self.degrees(graph)
        alone = ~self.is_known & (degrees == 0)
        adjacency = graph.adjacency
        rows = np.repeat(np.arange(graph.n_vertices), np.diff(adjacency.indptr))
        adjacency.data *= self.is_known[adjacency.indices] | alone[rows]
        return adjacency, np.where(alone, graph.degrees, degrees)

    def shares(self, graph: Graph) -> NDArray[np.float64]:
        """Return how far what members know of vertices is to be trusted for each of them (n,).

        1 for a known vertex: all its links of the fit are there. The share of links to known
        vertices for a new one, at most ``MOST_OF_NEW``; 0 for any without such a link.
        """
        to_known, degrees = self.degrees(graph), graph.degrees
        share = np.minimum(to_known / np.where(degrees > 0, degrees, 1.0), MOST_OF_NEW)
        return np.where(self.is_known & (to_known > 0), 1.0, share)


def averaging(graph: Graph, known: Known | None = None) -> tuple[sp.csr_array, NDArray[np.float64]]:
    """Return :meth:`Known.averaging`; of the fitted graph, its adjacency and degrees."""
    return (graph.adjacency, graph.degrees) if known is None else known.averaging(graph)
