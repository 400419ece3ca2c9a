"""Scores: how good predicted probabilities, numbers and labels are, of a fit and of an epoch.

The scores of an epoch, which may choose the best weights, are computed for R runs side by side,
inside what a GPU captures: each is tensor operations that do not wait for the device. Vertices are
counted in whole numbers, so that equal answers give equal scores, on every device and in every
order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.splits import Split

__all__ = ["MONITORS", "Monitor"]

# The monitors of all tasks; each task has its own.
Monitor = Literal[
    "accuracy", "loss", "balanced_accuracy", "macro_f1", "roc_auc", "average_precision", "micro_f1",
    "r2",
]  # fmt: skip
MONITORS: tuple[str, ...] = get_args(Monitor)


class Scored(NamedTuple):
    """What a score of R runs is computed from.

    Shapes
    ------
    outputs : (m, R, C);  truth : targets (m, ...);  chosen : which vertices count, bool (m, R)
    weight : of classes (C,);  positive : the class that is looked for (R,)
    """

    outputs: Tensor
    truth: Tensor
    chosen: Tensor
    weight: Tensor
    positive: Tensor


# To scores (R,).
Score = Callable[[Scored], Tensor]


def balanced_accuracy(of: Scored) -> Tensor:
    """Return the mean recall of the classes present, whatever their positive weights."""
    counts = _confusion(of)
    recall = counts.diagonal(dim1=1, dim2=2).double() / counts.sum(2).clamp(min=1)
    return _mean_of_present(recall, counts, of.weight)


def macro_f1(of: Scored) -> Tensor:
    r"""Return the mean over the classes present of :math:`2\,tp / (2\,tp + fp + fn)`."""
    counts = _confusion(of)
    weighted = of.weight.double()[:, None] * counts
    total = weighted.sum(1) + weighted.sum(2)
    f1 = 2 * weighted.diagonal(dim1=1, dim2=2) / torch.where(total > 0, total, 1.0)
    return _mean_of_present(f1, counts, of.weight)


def roc_auc(of: Scored) -> Tensor:
    """Return the share of pairs of the two classes in the right order; ties count half.

    Class weights cancel.
    """
    margin, second, other = _ranked(_margins(of.outputs), (of.truth == 1)[None], of.chosen.T)
    first, last = (torch.searchsorted(margin, margin, right=right) for right in (False, True))
    below = _counts(other).gather(1, first) + _counts(other).gather(1, last)
    ordered = (second * below).sum(1).double()
    return ordered / (2 * second.sum(1) * other.sum(1))


def average_precision(of: Scored) -> Tensor:
    r"""Return :math:`\sum_n (R_n - R_{n-1}) P_n` over the distinct margins n.

    Each vertex of the class looked for adds the precision among those that score at least as high
    as it does.
    """
    margins, positive, weight = _margins(of.outputs), of.positive, of.weight.double()
    margins = torch.where(positive[:, None] == 1, margins, -margins)
    ranked = _ranked(margins, of.truth[None] == positive[:, None], of.chosen.T)
    return _average_precision(*ranked, weight[positive, None], weight[1 - positive, None])


def labels_macro_f1(of: Scored) -> Tensor:
    """Return the mean F1 of the labels that some vertex has; truth is 0 or 1 (m, L)."""
    true, said, counted = of.truth[:, None] > 0, of.outputs > 0, of.chosen[..., None]
    right, total, answered = ((each & counted).sum(0) for each in (true & said, true, said))
    f1 = 2 * right.double() / (total + answered).clamp(min=1)
    return (f1 * (total > 0)).sum(1) / (total > 0).sum(1)


def labels_average_precision(of: Scored) -> Tensor:
    """Return the mean average precision of the labels that some vertex has."""
    n_runs, n_labels = of.outputs.shape[1:]
    # One ranking for each run and label.
    margin = of.outputs.double().permute(1, 2, 0).flatten(0, 1)
    true = (of.truth.T > 0).repeat(n_runs, 1)
    counted = of.chosen.T.repeat_interleave(n_labels, 0, output_size=n_runs * n_labels)
    margin, has, has_not = _ranked(margin, true, counted)
    precision = _average_precision(margin, has, has_not)
    present = has.sum(1) > 0
    found = torch.where(present, precision, 0.0).view(n_runs, n_labels).sum(1)
    return found / present.view(n_runs, n_labels).sum(1)


OF_TWO_CLASSES: dict[str, Score] = {"roc_auc": roc_auc, "average_precision": average_precision}
OF_CLASSES: dict[str, Score] = {
    "balanced_accuracy": balanced_accuracy, "macro_f1": macro_f1, **OF_TWO_CLASSES,
}  # fmt: skip
OF_LABELS: dict[str, Score] = {
    "macro_f1": labels_macro_f1, "average_precision": labels_average_precision,
}  # fmt: skip


def _confusion(of: Scored) -> Tensor:
    """Count the vertices by run, class and answer: (R, C, C)."""
    n_runs, n_classes = of.outputs.shape[1:]
    cell = of.truth[:, None] * n_classes + of.outputs.argmax(2)
    counts = torch.zeros(n_runs, n_classes**2, dtype=torch.int64, device=cell.device)
    counts.scatter_add_(1, cell.T, of.chosen.T.long())
    return counts.view(n_runs, n_classes, n_classes)


def _mean_of_present(scores: Tensor, counts: Tensor, class_weight: Tensor) -> Tensor:
    """Average scores (R, C) over the classes that have vertices and a weight."""
    present = (counts.sum(2) > 0) & (class_weight > 0)
    return (scores * present).sum(1) / present.sum(1)


def _margins(logits: Tensor) -> Tensor:
    """Return by how much class 1 is ahead: (R, m)."""
    return (logits[..., 1].double() - logits[..., 0].double()).T


def _ranked(margin: Tensor, true: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sort rows by margin; return margins, and which of the true and the others count."""
    margin, order = margin.contiguous().sort(dim=1)
    true = true.expand_as(order).gather(1, order)
    counted = chosen.gather(1, order)
    return margin, (counted & true).long(), (counted & ~true).long()


def _average_precision(
    margin: Tensor,
    positive: Tensor,
    negative: Tensor,
    own_weight: Tensor | float = 1.0,
    other_weight: Tensor | float = 1.0,
) -> Tensor:
    first = torch.searchsorted(margin, margin)
    right, wrong = (
        each.sum(1, keepdim=True) - _counts(each).gather(1, first) for each in (positive, negative)
    )
    right, wrong = own_weight * right.double(), other_weight * wrong.double()
    total = right + wrong
    precision = right / torch.where(total > 0, total, 1.0)
    return (positive * precision).sum(1) / positive.sum(1)


def _counts(marked: Tensor) -> Tensor:
    """Count the marked ones before each place, and before the end: (K, m + 1)."""
    return torch.nn.functional.pad(marked.cumsum(1), (1, 0))


@dataclass(frozen=True)
class Metric:
    """How a metric is written and compared: ``share`` is one from 0 to 1, shown in percent.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.metrics.METRICS["log_loss"].lower_is_better
    True
    """

    name: str
    lower_is_better: bool = False
    share: bool = True


METRICS = {
    "accuracy": Metric("accuracy"),
    "balanced_accuracy": Metric("balanced accuracy"),
    "macro_f1": Metric("macro F1"),
    "roc_auc": Metric("ROC AUC"),
    "average_precision": Metric("average precision"),
    "log_loss": Metric("log loss", lower_is_better=True, share=False),
    "calibration_error": Metric("calibration error", lower_is_better=True),
}


# A class of two that is rarer than this among the training vertices asks for other scores.
RARE = 0.2


def looked_for(labels: NDArray[np.int64], n_classes: int = 2) -> int:
    """Return the class of two that is looked for where nobody says which: the rarer one.

    ``labels`` are those of the training vertices; of equally many, the second.

    Examples
    --------
    >>> looked_for(np.array([0, 1, 1, 1])), looked_for(np.array([0, 1]))
    (0, 1)
    """
    counts = np.bincount(labels[labels >= 0], minlength=n_classes)
    return 0 if n_classes == 2 and counts[0] < counts[1] else 1


def is_rare(labels: NDArray[np.int64], n_classes: int) -> bool:
    """Return whether one of two classes has less than a fifth of the training vertices.

    >>> is_rare(np.array([0] * 9 + [1]), 2), is_rare(np.array([0, 1]), 2)
    (True, False)
    """
    counts = np.bincount(labels[labels >= 0], minlength=n_classes)
    return n_classes == 2 and bool(0 < counts.min() < RARE * counts.sum())


def score_parts(
    probabilities: NDArray[np.float64],
    labels: NDArray[np.int64],
    split: Split,
    *,
    predicted: NDArray[np.int64] | None = None,
    positive: int | None = None,
) -> dict[str, dict[str, Any]]:
    """Score the training, validation and test vertices apart; empty parts are left out.

    ``predicted`` and ``positive`` as in :func:`score`; the class looked for is otherwise the one
    that is rarer among the training vertices.

    Examples
    --------
    >>> import numpy as np
    >>> import graphfilter as gf
    >>> probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]])
    >>> split = gf.Split(train=[0], val=[1], test=[2])
    >>> parts = gf.metrics.score_parts(probabilities, np.array([0, 1, 0]), split)
    >>> {part: scores["accuracy"] for part, scores in parts.items()}
    {'train': 1.0, 'val': 1.0, 'test': 0.0}
    """
    if positive is None:
        positive = looked_for(labels[split.train], probabilities.shape[1])
    scores = {}
    for part in ("train", "val", "test"):
        index = getattr(split, part)
        index = index[labels[index] >= 0]
        if len(index):
            answers = None if predicted is None else predicted[index]
            scores[part] = score(
                probabilities[index], labels[index], predicted=answers, positive=positive
            )
    return scores


def score(
    probabilities: NDArray[np.float64],
    labels: NDArray[np.int64],
    *,
    predicted: NDArray[np.int64] | None = None,
    positive: int | None = None,
) -> dict[str, Any]:
    """Return the number of vertices and every one of ``METRICS`` that is defined.

    Beside the calibration error is the one that right probabilities would show by chance.
    Balanced accuracy and macro F1 average over the classes present. ROC AUC and average precision
    are of two classes, and left out where only one is present.

    Parameters
    ----------
    predicted : array (n,), optional
        The class that is answered, where it is not the most probable one.
    positive : int, optional
        The class whose average precision it is; the rarer of the labels otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> import graphfilter as gf
    >>> probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]])
    >>> round(gf.metrics.score(probabilities, np.array([0, 1, 0]))["accuracy"], 3)
    0.667
    """
    # Slow to import, and used once per run.
    from sklearn.metrics import (
        accuracy_score,
        average_precision_score,
        f1_score,
        log_loss,
        recall_score,
        roc_auc_score,
    )

    predicted = probabilities.argmax(axis=1) if predicted is None else predicted
    classes = np.arange(probabilities.shape[1])
    present = np.unique(labels)
    over_present: dict[str, Any] = {"labels": present, "average": "macro", "zero_division": 0}
    # Probabilities of exactly 0 would make the log loss infinite; sklearn clips them.
    normalised = probabilities / probabilities.sum(axis=1, keepdims=True)
    scores = {
        "accuracy": accuracy_score(labels, predicted),
        # balanced_accuracy_score warns where a class is predicted that is not present.
        "balanced_accuracy": recall_score(labels, predicted, **over_present),
        "macro_f1": f1_score(labels, predicted, **over_present),
        "log_loss": log_loss(labels, normalised, labels=classes),
        "calibration_error": calibration_error(probabilities, labels),
        "calibration_by_chance": calibration_by_chance(probabilities),
    }
    if len(classes) == len(present) == 2:
        sought = looked_for(labels) if positive is None else positive
        of_it = labels == sought, probabilities[:, sought]
        scores["roc_auc"] = roc_auc_score(*of_it)
        scores["average_precision"] = average_precision_score(*of_it)
    return {"n_vertices": len(labels)} | {name: float(value) for name, value in scores.items()}


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
    gaps = np.bincount(_bins(confidence, n_bins), weights=right - confidence, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(labels))


def calibration_by_chance(probabilities: NDArray[np.float64], n_bins: int = 10) -> float:
    r"""Return the calibration error that these probabilities would show if they were right.

    A bin whose vertices are right with their probabilities p has a sum of gaps of variance
    :math:`v_b = \sum p (1 - p)`, so that, in the normal approximation,

    .. math:: E[\mathrm{ECE}] \approx \frac{1}{n} \sum_b \sqrt{2 v_b / \pi}

    It falls with the square root of the number of vertices: an error about as large says nothing.

    Examples
    --------
    >>> import numpy as np
    >>> import graphfilter as gf
    >>> sure = np.tile([0.9, 0.1], (100, 1))
    >>> round(gf.metrics.calibration_by_chance(sure), 3)
    0.024
    >>> round(gf.metrics.calibration_by_chance(np.tile(sure, (100, 1))), 4)
    0.0024
    """
    confidence = probabilities.max(axis=1)
    variance = np.bincount(
        _bins(confidence, n_bins), weights=confidence * (1 - confidence), minlength=n_bins
    )
    # Rows may add up to a little more than 1.
    return float(np.sqrt(2 / np.pi * variance.clip(0)).sum() / len(confidence))


def _bins(confidence: NDArray[np.float64], n_bins: int) -> NDArray[np.int64]:
    return np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)


Values = NDArray[np.float64]

# The first of each is the one to judge by.
NUMBER_METRICS = {
    "r2": Metric("R²", share=False),
    "rmse": Metric("RMSE", lower_is_better=True, share=False),
    "mae": Metric("mean absolute error", lower_is_better=True, share=False),
    "median_error": Metric("median absolute error", lower_is_better=True, share=False),
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
    r"""Return root mean squared, mean and median error, and R² of two vertices or more.

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
    scores["median_error"] = float(np.median(np.abs(error), axis=0).mean())
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
