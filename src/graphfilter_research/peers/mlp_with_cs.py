"""C&S on a perceptron, a method that is trained and propagated in one call."""

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
from graphfilter.training.monitors import roc_auc
from graphfilter.util.machine import pick_device
from graphfilter_research.peers.correct_and_smooth import correct, smooth

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
    >>> from graphfilter_research.peers.mlp_with_cs import correct_and_smooth_mlp
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
    ranked = roc_auc(
        torch.from_numpy(answers)[:, None], torch.from_numpy(truth), chosen, torch.ones(2), second
    )
    return float(ranked)
