"""Scores averaged over neighbours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.graph import Graph

Average = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def neighbour_average(graph: Graph) -> Average:
    """Return what takes columns (n, C) to their averages over neighbours.

    A vertex without edges keeps its own.

    >>> import graphfilter as gf
    >>> path = gf.Graph.from_edges([[0, 1], [1, 2]], 4)
    >>> neighbour_average(path)(np.array([[1.0], [0.0], [3.0], [5.0]])).ravel().tolist()
    [0.0, 2.0, 0.0, 5.0]
    """
    adjacency = sp.csr_array(graph.adjacency)
    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.float64)
    alone = degrees == 0

    def average(columns: NDArray[np.float64]) -> NDArray[np.float64]:
        means = (adjacency @ columns) / np.where(alone, 1.0, degrees)[:, None]
        return np.where(alone[:, None], columns, means)

    return average
