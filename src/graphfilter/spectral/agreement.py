"""Homophily: how often neighbours carry the same label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import check_name
from graphfilter.graph import Graph
from graphfilter.spectral.rayleigh import check_labels

KINDS = ("edge", "vertex", "adjusted")


def homophily(graph: Graph, kind: str = "edge") -> float:
    r"""Return how much neighbours agree in label.

    Only edges between two labelled vertices are counted; a weighted edge counts by its weight.
    NaN where there is no such edge, or, for *adjusted*, only one class on them.

    Parameters
    ----------
    graph : Graph
    kind : {"edge", "vertex", "adjusted"}
        *edge*: the share h of edges whose ends agree. *vertex*: the share of agreeing neighbours,
        averaged over vertices that have any (Pei et al. 2020). *adjusted*: the edge homophily
        against that expected from the classes' degrees :math:`D_k` alone (Platonov et al. 2023),

        .. math:: \frac{h - \sum_k D_k^2 / (2|E|)^2}{1 - \sum_k D_k^2 / (2|E|)^2},

        1 where all neighbours agree and about 0 where labels do not follow the edges, whatever
        the number of classes and their sizes.

    Examples
    --------
    >>> path = Graph.from_edges([[0, 1], [1, 2], [2, 3]], labels=["a", "a", "b", "b"])
    >>> [round(homophily(path, kind), 3) for kind in ("edge", "vertex", "adjusted")]
    [0.667, 0.75, 0.333]
    """
    check_name("homophily", kind, KINDS)
    labels = check_labels(graph)
    rows = np.repeat(np.arange(graph.n_vertices), np.diff(graph.indptr))
    known = (labels[rows] >= 0) & (labels[graph.indices] >= 0)
    rows, columns = rows[known], graph.indices[known]
    weights = np.ones(len(rows)) if graph.weights is None else graph.weights[known].astype(float)
    agree = weights * (labels[rows] == labels[columns])
    total = weights.sum()
    if total == 0:
        return float("nan")
    if kind == "vertex":
        return _vertex_homophily(rows, weights, agree, graph.n_vertices)
    edge = float(agree.sum() / total)
    if kind == "edge":
        return edge
    shares = np.bincount(labels[rows], weights=weights) / total
    by_chance = float(np.sum(shares**2))
    if np.count_nonzero(shares) < 2:
        return float("nan")
    return (edge - by_chance) / (1 - by_chance)


def _vertex_homophily(
    rows: NDArray[np.int64], weights: NDArray[np.float64], agree: NDArray[np.float64], n: int
) -> float:
    total = np.bincount(rows, weights=weights, minlength=n)
    agreeing = np.bincount(rows, weights=agree, minlength=n)
    return float(np.mean(agreeing[total > 0] / total[total > 0]))
