"""How good predicted probabilities are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.splits import Split


def score_parts(
    probabilities: NDArray[np.float64], labels: NDArray[np.int64], split: Split
) -> dict[str, dict[str, Any]]:
    """Score the training, validation and test vertices apart; empty parts are left out."""
    scores = {}
    for part in ("train", "val", "test"):
        index = getattr(split, part)
        index = index[labels[index] >= 0]
        if len(index):
            scores[part] = score(probabilities[index], labels[index])
    return scores


def score(probabilities: NDArray[np.float64], labels: NDArray[np.int64]) -> dict[str, Any]:
    """Return accuracy, macro-F1 over the classes present, log loss and calibration error."""
    # Slow to import, and used once a run.
    from sklearn.metrics import accuracy_score, f1_score, log_loss

    predicted = probabilities.argmax(axis=1)
    classes = np.arange(probabilities.shape[1])
    # Probabilities of exactly 0 would make the log loss infinite; sklearn clips them.
    normalised = probabilities / probabilities.sum(axis=1, keepdims=True)
    return {
        "n_vertices": len(labels),
        "accuracy": float(accuracy_score(labels, predicted)),
        "macro_f1": float(
            f1_score(labels, predicted, labels=np.unique(labels), average="macro", zero_division=0)
        ),
        "log_loss": float(log_loss(labels, normalised, labels=classes)),
        "calibration_error": calibration_error(probabilities, labels),
    }


def calibration_error(
    probabilities: NDArray[np.float64], labels: NDArray[np.int64], n_bins: int = 10
) -> float:
    r"""Return the expected calibration error of the predicted class (Guo et al. 2017).

    .. math:: \mathrm{ECE} = \sum_b \frac{|b|}{n}\,
              \bigl|\mathrm{accuracy}(b) - \mathrm{confidence}(b)\bigr|

    over equal bins b of the confidence.

    >>> always_right = np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> calibration_error(always_right, np.array([0, 0]))
    0.0
    >>> calibration_error(always_right, np.array([0, 1]))
    0.5
    """
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(bins, weights=right - confidence, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(labels))
