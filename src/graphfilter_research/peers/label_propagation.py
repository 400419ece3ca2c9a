"""Label propagation: the labels alone, spread over the graph (Zhou et al. 2004)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.splits import Split
from graphfilter.util.errors import GraphError


def propagate_labels(graph: Graph, split: Split, *, alpha: float = 0.9) -> NDArray[np.float64]:
    r"""Return class probabilities (n, n_classes) from the training labels and the edges only.

    scikit-learn's ``LabelSpreading``, with the graph's adjacency for its kernel over the vertex
    numbers: the features play no part. It iterates to

    .. math:: F = (1 - \alpha) (I - \alpha \hat A)^{-1} Y, \qquad
              \hat A = D^{-1/2} A D^{-1/2}

    (*Learning with Local and Global Consistency*, NeurIPS 2004), each row then scaled to sum
    to 1. Vertices that no training vertex can reach get the class shares of the training part.

    Parameters
    ----------
    alpha : float
        How much a vertex takes from its neighbours, in (0, 1).

    Examples
    --------
    >>> import graphfilter as gf
    >>> from graphfilter_research import peers
    >>> g = gf.load_dataset("karate")
    >>> split = gf.splits.stratified(g.labels, seed=0)
    >>> peers.propagate_labels(g, split).shape
    (34, 2)
    """
    from sklearn.semi_supervised import LabelSpreading

    if graph.labels is None or not len(split.train):
        raise GraphError("label propagation must have labelled training vertices; got none.")
    known = np.full(graph.n_vertices, -1)
    known[split.train] = graph.labels[split.train]
    adjacency = graph.adjacency
    spreading = LabelSpreading(
        kernel=lambda _x, _y: adjacency, alpha=alpha, max_iter=1000, tol=1e-6
    )
    spreading.fit(np.arange(graph.n_vertices)[:, None], known)
    probabilities = np.zeros((graph.n_vertices, graph.n_classes))
    probabilities[:, spreading.classes_] = spreading.label_distributions_
    unreached = probabilities.sum(axis=1) == 0
    shares = np.bincount(known[split.train], minlength=graph.n_classes) / len(split.train)
    probabilities[unreached] = shares
    return probabilities
