"""Labels spread over the graph: propagation (Zhou et al. 2004), C&S (Huang et al. 2021)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.filters import IdentityFilterConfig
from graphfilter.models import FilterNetworkConfig
from graphfilter.splits import Split
from graphfilter.systems.networks import Request, train_networks
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.system import PAPER, System
from graphfilter.training.scores import Scored, roc_auc
from graphfilter.util.errors import GraphError
from graphfilter.util.machine import pick_device


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


# How much is taken from neighbours, of which validation chooses: the authors search (0, 1).
ALPHAS = (0.2, 0.5, 0.8, 0.95)
MLP = System(
    "perceptron",
    "MLP",
    FilterNetworkConfig(dropout=0.5, filter=IdentityFilterConfig(), encoder_layers=2),
    config=replace(PAPER, learning_rate=0.01, patience=100),
    setting="own",
)


def correct_and_smooth_mlp(
    graph: Graph, split: Split, *, max_epochs: int | None = None
) -> NDArray[np.float64]:
    """Return class probabilities of a perceptron on the features, corrected and smoothed.

    *Combining Label Propagation and Simple Models Out-performs Graph Neural Networks* (ICLR 2021).
    The two rates of propagation are those of the best validation score, accuracy or of two classes
    ROC AUC; only training labels are spread. Weights are drawn from seed 0.

    Examples
    --------
    >>> import graphfilter as gf
    >>> from graphfilter_research.peers.label_propagation import correct_and_smooth_mlp
    >>> g = gf.load_dataset("karate")
    >>> split = gf.splits.stratified(g.labels, seed=0)
    >>> correct_and_smooth_mlp(g, split, max_epochs=5).shape
    (34, 2)
    """
    prepared = Prepared.of(graph, device=pick_device("auto"))
    (outcome,) = train_networks(Request(prepared, MLP.limited(max_epochs), [split], [0]))
    base = outcome.probabilities
    corrected = {alpha: correct(graph, split, base, alpha=alpha) for alpha in ALPHAS}
    answers = [
        smooth(graph, split, corrected[first], alpha=second)
        for first, second in product(ALPHAS, repeat=2)
    ]
    if not len(split.val):
        return answers[0]
    truth = prepared.labels[split.val]
    scores = [_score(answer[split.val], truth) for answer in answers]
    return answers[int(np.argmax(scores))]


def _score(answers: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    """Return the accuracy of class probabilities (m, C), or of two classes the ROC AUC."""
    if answers.shape[1] != 2 or len(np.unique(truth)) < 2:
        return float((answers.argmax(axis=1) == truth).mean())
    chosen = torch.ones(len(truth), 1, dtype=torch.bool)
    second = torch.ones(1, dtype=torch.int64)
    outputs, known = torch.from_numpy(answers)[:, None], torch.from_numpy(truth)
    return float(roc_auc(Scored(outputs, known, chosen, torch.ones(2), second)))
