"""How good predicted numbers are, and predicted labels where a vertex may have several."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.metrics.scores import Metric

Values = NDArray[np.float64]

# The first of each is the one to judge by.
NUMBER_METRICS = {
    "r2": Metric("R²", share=False),
    "rmse": Metric("RMSE", lower_is_better=True, share=False),
    "mae": Metric("mean absolute error", lower_is_better=True, share=False),
}
LABEL_METRICS = {
    "micro_f1": Metric("micro F1"),
    "macro_f1": Metric("macro F1"),
    "average_precision": Metric("macro average precision"),
    "micro_average_precision": Metric("micro average precision"),
    "ranking_loss": Metric("ranking loss", lower_is_better=True, share=False),
    "log_loss": Metric("log loss", lower_is_better=True, share=False),
    "all_right": Metric("all labels right"),
}


def score_numbers(predicted: Values, truth: Values) -> dict[str, Any]:
    r"""Return the root mean squared and the mean absolute error, and R² of two vertices or more.

    Of several numbers per vertex, (n, T), each is the mean over them.

    >>> score_numbers(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 6.0]))["mae"]
    1.0
    """
    error = predicted - truth
    spread = np.square(truth - truth.mean(axis=0)).sum(axis=0)
    scores: dict[str, Any] = {"n_vertices": len(truth)}
    if (spread > 0).all():
        scores["r2"] = float((1 - np.square(error).sum(axis=0) / spread).mean())
    scores["rmse"] = float(np.sqrt(np.square(error).mean(axis=0)).mean())
    scores["mae"] = float(np.abs(error).mean())
    return scores


def score_labels(probabilities: Values, truth: Values) -> dict[str, Any]:
    """Return F1, average precision and log loss of labels (n, L), each answered from one half.

    Macro F1 and average precision are means over the labels that some vertex has.
    """
    # Slow to import, and used once per run.
    from sklearn.metrics import average_precision_score, f1_score, label_ranking_loss

    true, outputs = truth > 0.5, probabilities > 0.5
    present = true.any(axis=0)
    clipped = np.clip(probabilities, 1e-15, 1 - 1e-15)
    scores: dict[str, Any] = {
        "n_vertices": len(truth),
        "micro_f1": float(f1_score(true, outputs, average="micro", zero_division=0)),
        "ranking_loss": float(label_ranking_loss(true, probabilities)),
        "log_loss": float(-np.where(true, np.log(clipped), np.log1p(-clipped)).mean()),
        "all_right": float((true == outputs).all(axis=1).mean()),
    }
    if present.any():
        every = average_precision_score(true, probabilities, average="micro")
        scores["micro_average_precision"] = float(every)
        of = {"average": "macro"}
        true, outputs = true[:, present], outputs[:, present]
        scores["macro_f1"] = float(f1_score(true, outputs, zero_division=0, **of))
        ranked = average_precision_score(true, probabilities[:, present], **of)
        scores["average_precision"] = float(ranked)
    return scores
