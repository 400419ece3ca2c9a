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

# The monitors of all tasks; each task has its own.
Monitor = Literal[
    "accuracy", "loss", "balanced_accuracy", "macro_f1", "roc_auc", "average_precision", "micro_f1",
    "r2",
]  # fmt: skip
MONITORS: tuple[str, ...] = get_args(Monitor)

# From outputs (m, R, C), targets, which vertices count (bool: m, R), class weights (C,) and the
# positive class of each run (R,) to scores (R,).
Score = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


def balanced_accuracy(
    logits: Tensor, truth: Tensor, chosen: Tensor, class_weight: Tensor, positive: Tensor
) -> Tensor:
    """Return the mean recall of the classes present, whatever their positive weights."""
    counts = _confusion(logits, truth, chosen)
    recall = counts.diagonal(dim1=1, dim2=2).double() / counts.sum(2).clamp(min=1)
    return _mean_of_present(recall, counts, class_weight)


def macro_f1(
    logits: Tensor, truth: Tensor, chosen: Tensor, class_weight: Tensor, positive: Tensor
) -> Tensor:
    r"""Return the mean over the classes present of :math:`2\,tp / (2\,tp + fp + fn)`."""
    counts = _confusion(logits, truth, chosen)
    weighted = class_weight.double()[:, None] * counts
    total = weighted.sum(1) + weighted.sum(2)
    f1 = 2 * weighted.diagonal(dim1=1, dim2=2) / torch.where(total > 0, total, 1.0)
    return _mean_of_present(f1, counts, class_weight)


def roc_auc(
    logits: Tensor, truth: Tensor, chosen: Tensor, class_weight: Tensor, positive: Tensor
) -> Tensor:
    """Return the share of pairs of the two classes in the right order; ties count half.

    Class weights cancel.
    """
    margin, second, other = _ranked(_margins(logits), (truth == 1)[None], chosen.T)
    first, last = (torch.searchsorted(margin, margin, right=right) for right in (False, True))
    below = _counts(other).gather(1, first) + _counts(other).gather(1, last)
    ordered = (second * below).sum(1).double()
    return ordered / (2 * second.sum(1) * other.sum(1))


def average_precision(
    logits: Tensor, truth: Tensor, chosen: Tensor, class_weight: Tensor, positive: Tensor
) -> Tensor:
    r"""Return :math:`\sum_n (R_n - R_{n-1}) P_n` over the distinct margins n.

    Each vertex of the class looked for adds the precision among those that score at least as high
    as it does.
    """
    margins = torch.where(positive[:, None] == 1, _margins(logits), -_margins(logits))
    ranked = _ranked(margins, truth[None] == positive[:, None], chosen.T)
    weight = class_weight.double()
    return _average_precision(*ranked, weight[positive, None], weight[1 - positive, None])


def labels_macro_f1(
    outputs: Tensor, truth: Tensor, chosen: Tensor, weight: Tensor, positive: Tensor
) -> Tensor:
    """Return the mean F1 of the labels that some vertex has; truth is 0 or 1 (m, L)."""
    true, said, counted = truth[:, None] > 0, outputs > 0, chosen[..., None]
    right, total, answered = ((each & counted).sum(0) for each in (true & said, true, said))
    f1 = 2 * right.double() / (total + answered).clamp(min=1)
    return (f1 * (total > 0)).sum(1) / (total > 0).sum(1)


def labels_average_precision(
    outputs: Tensor, truth: Tensor, chosen: Tensor, weight: Tensor, positive: Tensor
) -> Tensor:
    """Return the mean average precision of the labels that some vertex has."""
    n_runs, n_labels = outputs.shape[1:]
    # One ranking for each run and label.
    margin = outputs.double().permute(1, 2, 0).flatten(0, 1)
    true = (truth.T > 0).repeat(n_runs, 1)
    counted = chosen.T.repeat_interleave(n_labels, 0, output_size=n_runs * n_labels)
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
