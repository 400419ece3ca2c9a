"""The rounds of boosting, with trees that grow in compiled code."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphfilter.models.fitted import Weight
from graphfilter.operators import Grown, TreeGrower


def boost(
    model: Any, columns: NDArray[Any], targets: NDArray[Any], weight: Weight, n_rounds: int
) -> None:
    """Give a model of scikit-learn's that was fitted for one round all its rounds.

    Its bins, loss and start stay as they are, and its trees are those that it would have grown,
    with the rounds of all classes in one call: between the steps of its own trees, which are ten
    thousands, its threads wait for each other and for Python's.
    """
    mapper, loss = model._bin_mapper, model._loss
    binned, n_bins = mapper.transform(columns.astype(np.float64)), mapper.n_bins_non_missing_
    grower = TreeGrower(binned, n_bins, model.l2_regularization, model.learning_rate)
    wanted = targets.astype(np.float64)
    if hasattr(model, "classes_"):
        wanted = np.searchsorted(model.classes_, targets).astype(np.float64)
    start = np.ravel(model._baseline_prediction)
    raw = np.repeat(start[:, None], len(wanted), axis=1)
    gradients, hessians = (np.ones(raw.shape, dtype=np.float32) for _ in range(2))
    # As scikit-learn's losses take them: a row per vertex, and no second axis of one output.
    seen = [part.T if len(part) > 1 else part[0] for part in (raw, gradients, hessians)]
    given = {"y_true": wanted, "raw_prediction": seen[0], "sample_weight": weight}
    thresholds = np.full((len(n_bins), 256), np.inf)
    for column, own in enumerate(mapper.bin_thresholds_):
        thresholds[column, : len(own)] = own
    model._predictors = []
    for _ in range(n_rounds):
        if loss.constant_hessian:
            loss.gradient(**given, gradient_out=seen[1])
        else:
            loss.gradient_hessian(**given, gradient_out=seen[1], hessian_out=seen[2])
        grown = grower.grow(*(torch.from_numpy(part) for part in (gradients, hessians, raw)))
        model._predictors.append([_tree(grown, t, thresholds) for t in range(len(raw))])


def _tree(grown: Grown, number: int, thresholds: NDArray[np.float64]) -> Any:
    """Return a tree with the fields that scikit-learn's have."""
    size = grown.sizes[number]
    feature, bins, left, right, missing_left = grown.nodes[number, :size].T
    nodes = {
        "num_threshold": np.where(left < 0, 0.0, thresholds[feature, bins]),
        "feature_idx": feature,
        "left": left,
        "right": right,
        "missing_go_to_left": missing_left,
        "is_leaf": left < 0,
        "value": grown.values[number, :size],
    }
    return SimpleNamespace(nodes=nodes)
