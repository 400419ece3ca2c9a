"""C&S on a perceptron, a method that is trained and propagated in one call."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from graphfilter.filters import IdentityFilterConfig
from graphfilter.graph import Graph
from graphfilter.metrics import score_parts
from graphfilter.models import FilterNetworkConfig
from graphfilter.models.peers.correct_and_smooth import correct, smooth
from graphfilter.runtime.devices import pick_device
from graphfilter.splits import Split
from graphfilter.systems.networks import train_networks
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.system import PAPER, System

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
    >>> from graphfilter.systems.correct_and_smooth import correct_and_smooth_mlp
    >>> g = gf.load_dataset("karate")
    >>> split = gf.splits.stratified(g.labels, seed=0)
    >>> correct_and_smooth_mlp(g, split, max_epochs=5).shape
    (34, 2)
    """
    prepared = Prepared.of(graph, device=pick_device("auto"))
    (outcome,) = train_networks(prepared, MLP.limited(max_epochs), [split], [0])
    base = outcome.probabilities
    corrected = {alpha: correct(graph, split, base, alpha=alpha) for alpha in ALPHAS}
    answers = [
        smooth(graph, split, corrected[first], alpha=second)
        for first, second in product(ALPHAS, repeat=2)
    ]
    if not len(split.val):
        return answers[0]
    metric = "roc_auc" if graph.n_classes == 2 else "accuracy"
    found = [score_parts(answer, prepared.labels, split)["val"] for answer in answers]
    scores = [score.get(metric, score["accuracy"]) for score in found]
    return answers[int(np.argmax(scores))]
