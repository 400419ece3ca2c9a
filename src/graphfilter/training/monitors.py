"""The validation scores that may choose the best weights, besides accuracy and loss.

Computed every epoch for R runs side by side, inside what a GPU captures: each is tensor operations
that do not wait for the device. Vertices are counted in whole numbers, so that equal answers give
equal scores, on every device and in every order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor

Monitor = Literal[
    "accuracy", "loss", "balanced_accuracy", "macro_f1", "roc_auc", "average_precision"
]
MONITORS: tuple[str, ...] = get_args(Monitor)
# Those that rank the vertices of two classes.
TWO_CLASSES = ("roc_auc", "average_precision")

# Of logits (m, R, C), labels (m,), which vertices count (bool: m, R) and class weights (C,): (R,).
Score = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def balanced_accuracy(
    logits: Tensor, truth: Tensor, chosen: Tensor, class_weight: Tensor
) -> Tensor:
    """Return the mean recall of the classes present, whatever their positive weights."""
    counts = _confusion(logits, truth, chosen)
    recall = counts.diagonal(dim1=1, dim2=2).double() / counts.sum(2).clamp(min=1)
    return _mean_of_present(recall, counts, class_weight)


def macro_f1(logits: Tensor, truth: Tensor, chosen: Tensor, class_weight: Tensor) -> Tensor:
    r"""Return the mean over the classes present of :math:`2\,tp / (2\,tp + fp + fn)`."""
    counts = _confusion(logits, truth, chosen)
    weighted = class_weight.double()[:, None] * counts
    total = weighted.sum(1) + weighted.sum(2)
    f1 = 2 * weighted.diagonal(dim1=1, dim2=2) / torch.where(total > 0, total, 1.0)
    return _mean_of_present(f1, counts, class_weight)


def roc_auc(logits: Tensor, truth: Tensor, chosen: Tensor, class_weight: Tensor) -> Tensor:
    """Return the share of pairs of the two classes in the right order; ties count half.

    Class weights cancel.
    """
    margin, positive, negative = _ranked(logits, truth, chosen)
    below, upto = _counts_at(margin, negative)
    ordered = (positive * (below + upto)).sum(1).double()
    return ordered / (2 * positive.sum(1) * negative.sum(1))


def average_precision(
    logits: Tensor, truth: Tensor, chosen: Tensor, class_weight: Tensor
) -> Tensor:
    r"""Return :math:`\sum_n (R_n - R_{n-1}) P_n` over the distinct margins n.

    Each vertex of class 1 adds the precision among those that score at least as high as it does.
    """
    margin, positive, negative = _ranked(logits, truth, chosen)
    weight = class_weight.double()
    right = weight[1] * (positive.sum(1, keepdim=True) - _counts_at(margin, positive)[0])
    wrong = weight[0] * (negative.sum(1, keepdim=True) - _counts_at(margin, negative)[0])
    total = right + wrong
    precision = right / torch.where(total > 0, total, 1.0)
    return (positive * precision).sum(1) / positive.sum(1)


SCORES: dict[str, Score] = {
    "balanced_accuracy": balanced_accuracy,
    "macro_f1": macro_f1,
    "roc_auc": roc_auc,
    "average_precision": average_precision,
}


def _confusion(logits: Tensor, truth: Tensor, chosen: Tensor) -> Tensor:
    """Count the vertices by run, class and answer: (R, C, C)."""
    n_runs, n_classes = logits.shape[1:]
    cell = truth[:, None] * n_classes + logits.argmax(2)
    counts = torch.zeros(n_runs, n_classes**2, dtype=torch.int64, device=logits.device)
    counts.scatter_add_(1, cell.T, chosen.T.long())
    return counts.view(n_runs, n_classes, n_classes)


def _mean_of_present(scores: Tensor, counts: Tensor, class_weight: Tensor) -> Tensor:
    """Average scores (R, C) over the classes that have vertices and a weight."""
    present = (counts.sum(2) > 0) & (class_weight > 0)
    return (scores * present).sum(1) / present.sum(1)


def _ranked(logits: Tensor, truth: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sort by margin; return margins and which vertices of class 1 and 0 count: (R, m) each."""
    margin, order = (logits[..., 1].double() - logits[..., 0].double()).T.contiguous().sort(dim=1)
    counted, positive = chosen.T.gather(1, order), truth[order] == 1
    return margin, (counted & positive).long(), (counted & ~positive).long()


def _counts_at(margin: Tensor, marked: Tensor) -> tuple[Tensor, Tensor]:
    """Count, for each of the sorted margins, the marked ones below it, and up to its ties."""
    total = torch.nn.functional.pad(marked.cumsum(1), (1, 0))
    first, last = (torch.searchsorted(margin, margin, right=right) for right in (False, True))
    return total.gather(1, first), total.gather(1, last)
