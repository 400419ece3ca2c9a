"""Correct and smooth (Huang et al. 2021): spread a model's errors, then its answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.splits import Split
from graphfilter.util.errors import GraphError

# From the authors' code (CUAI/CorrectAndSmooth: outcome_correlation.py).
STEPS = 50
MOST_SCALE = 1000.0


def correct(
    graph: Graph, split: Split, probabilities: NDArray[np.float64], *, alpha: float
) -> NDArray[np.float64]:
    r"""Return the probabilities plus the errors that training vertices let expect.

    .. math:: E \leftarrow (1 - \alpha) E_0 + \alpha \hat A E, \qquad
              Z = P + \frac{\sigma}{\lVert E_v \rVert_1} E

    with :math:`E_0 = Y - P` on training vertices and 0 elsewhere, and :math:`\sigma` the mean of
    :math:`\lVert E_0 \rVert_1` there: the authors' *autoscale*.
    """
    known = _known(graph, split)
    start = np.zeros_like(probabilities)
    start[split.train] = known - probabilities[split.train]
    errors = _spread(graph, start, alpha, -1.0)
    lengths = np.abs(errors).sum(axis=1)
    mean = np.abs(start).sum() / len(split.train)
    scale = np.divide(mean, lengths, out=np.ones_like(lengths), where=lengths > 0)
    scale[scale > MOST_SCALE] = 1.0
    return probabilities + scale[:, None] * errors


def smooth(
    graph: Graph, split: Split, scores: NDArray[np.float64], *, alpha: float
) -> NDArray[np.float64]:
    r"""Return class probabilities from scores, with the training labels in their place, spread.

    .. math:: G \leftarrow (1 - \alpha) G_0 + \alpha \hat A G

    with :math:`G_0` the labels of training vertices and the scores of all others.
    """
    start = scores.copy()
    start[split.train] = _known(graph, split)
    spread = np.maximum(_spread(graph, start, alpha, 0.0), 1e-9)
    return spread / spread.sum(axis=1, keepdims=True)


def _known(graph: Graph, split: Split) -> NDArray[np.float64]:
    if graph.labels is None or not len(split.train):
        raise GraphError("correct and smooth must have labelled training vertices; got none.")
    return np.eye(graph.n_classes)[graph.labels[split.train]]


def _spread(
    graph: Graph, start: NDArray[np.float64], alpha: float, least: float
) -> NDArray[np.float64]:
    """Mix with the neighbours, as often as the authors do; entries stay in [least, 1]."""
    roots = np.sqrt(graph.degrees)
    scale = np.divide(1, roots, out=np.zeros_like(roots), where=roots > 0)[:, None]
    adjacency, spread = graph.adjacency, start
    for _ in range(STEPS):
        mixed = (1 - alpha) * start + alpha * (scale * (adjacency @ (scale * spread)))
        spread = np.clip(mixed, least, 1.0)
    return spread
