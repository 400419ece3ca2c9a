"""The tasks: one class per vertex, any of several labels, numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import softplus

from graphfilter.errors import ConfigError, GraphError
from graphfilter.metrics import (
    LABEL_METRICS,
    METRICS,
    NUMBER_METRICS,
    looked_for,
    score,
    score_labels,
    score_numbers,
)
from graphfilter.training import monitors
from graphfilter.training.task import Outputs, Task

# Between the labels of one vertex, in a table.
SEPARATOR = ";"


class Classification(Task):
    """One class per vertex: softmax and cross entropy. Targets int64 (n,), -1 where unknown.

    Parameters
    ----------
    positive : int, optional
        The class of two that is looked for; the rarer of the training vertices otherwise.
    """

    name = "classification"
    one_class = True
    metrics = METRICS
    sections = ("needs", "filter", "graph", "classes", "decision", "vertices", "made")
    score_name = "accuracy"
    scores = monitors.OF_CLASSES

    def __init__(self, positive: int | None = None) -> None:
        self.positive = positive

    def __reduce__(self) -> str | tuple[Any, ...]:
        return super().__reduce__() if self.positive is None else (type(self), (self.positive,))

    def __repr__(self) -> str:
        return self.name if self.positive is None else f"{self.name} of {self.positive}"

    def sought(self, train: Tensor) -> int:
        return looked_for(train.cpu().numpy()) if self.positive is None else self.positive

    def decide(self, outputs: Outputs) -> NDArray[Any]:
        return outputs.argmax(axis=1)

    def measure(
        self, outputs: Outputs, truth: NDArray[Any], answers: NDArray[Any], positive: int = 1
    ) -> dict[str, Any]:
        return score(outputs, truth, predicted=answers, positive=positive)

    def columns(
        self, outputs: Outputs, answers: NDArray[Any], names: Sequence[str]
    ) -> dict[str, NDArray[Any]]:
        found = {
            "predicted": np.array(names, dtype=object)[answers],
            "probability": outputs[np.arange(len(answers)), answers].round(6),
        }
        return found | {f"p_{name}": outputs[:, c].round(6) for c, name in enumerate(names)}

    def known(self, targets: Tensor) -> Tensor:
        return targets >= 0

    def n_outputs(self, targets: Tensor) -> int:
        return int(targets.max()) + 1

    def aligned(self, targets: Tensor, n_runs: int) -> Tensor:
        return targets[:, None].expand(-1, n_runs).reshape(-1)

    def losses(self, outputs: Tensor, aligned: Tensor) -> Tensor:
        # Classes first: torch sums over long rows several times faster than over many short ones.
        by_class = outputs.reshape(len(aligned), -1).T.contiguous()
        losses = by_class.logsumexp(0) - by_class.gather(0, aligned[None])[0]
        return losses.view(-1, outputs.shape[1])

    def score(self, outputs: Tensor, aligned: Tensor, weights: Tensor) -> Tensor:
        right = (outputs.argmax(2).view(-1) == aligned).view(-1, outputs.shape[1])
        # In float64, so that counts are exact and equal accuracies compare as equal.
        sums = weights.sum(1, dtype=torch.float64)
        return (weights * right).sum(1, dtype=torch.float64) / sums

    def constant(self, targets: Tensor, n_outputs: int, class_weight: Tensor | None) -> Tensor:
        counts = self._counts(targets, n_outputs, class_weight)
        return torch.zeros(n_outputs, device=targets.device).index_fill(0, counts.argmax(), 1.0)

    def answers(self, outputs: Tensor) -> Tensor:
        return outputs.softmax(dim=-1)

    def vertex_weights(self, targets: Tensor, class_weight: Tensor | None) -> Tensor:
        if class_weight is None:
            return super().vertex_weights(targets, class_weight)
        # A vertex without a label is in no part; which weight it takes is never seen.
        return class_weight[targets.clamp(min=0)]

    def chance(self, train: Tensor, class_weight: Tensor | None) -> float:
        counts = self._counts(train, self.n_outputs(train), class_weight)
        return float(counts.max() / counts.sum())

    def check(self, monitor: str, val: Tensor, class_weight: Tensor | None) -> None:
        super().check(monitor, val, class_weight)
        if monitor not in monitors.OF_TWO_CLASSES or not len(val):
            return
        if (n_classes := self.n_outputs(val)) > 2:
            raise ConfigError(
                f"monitor {monitor!r} must be used with two classes; got {n_classes}. Monitor "
                "'balanced_accuracy' or 'macro_f1' instead."
            )
        if len(val.unique()) < 2:
            raise GraphError(
                f"the validation vertices must have both classes for monitor {monitor!r}; got "
                "one. Divide the vertices in another way, or monitor 'loss'."
            )

    def _counts(self, targets: Tensor, n_outputs: int, class_weight: Tensor | None) -> Tensor:
        counts = torch.bincount(targets, minlength=n_outputs).double()
        if class_weight is not None:
            counts *= class_weight[: len(counts)]
        return counts


class _Values(Task):
    """Several numbers per vertex: targets float (n, C), NaN in the rows of unknown vertices."""

    def known(self, targets: Tensor) -> Tensor:
        return ~targets.isnan().any(1)

    def n_outputs(self, targets: Tensor) -> int:
        return targets.shape[1]

    def aligned(self, targets: Tensor, n_runs: int) -> Tensor:
        return targets[:, None]

    def check(self, monitor: str, val: Tensor, class_weight: Tensor | None) -> None:
        super().check(monitor, val, class_weight)
        if class_weight is not None:
            raise ConfigError(f"class_weight must be None for {self.name}: it has no classes.")


class Multilabel(_Values):
    r"""Any of L labels per vertex: sigmoid, and binary cross entropy averaged over the labels.

    .. math:: \ell = \tfrac1L \sum_l \log(1 + e^{z_l}) - y_l z_l
    """

    name = "multilabel"
    metrics = LABEL_METRICS
    sections = ("needs", "filter", "graph", "labels", "vertices", "made")
    score_name = "micro_f1"
    scores = monitors.OF_LABELS

    def decide(self, outputs: Outputs) -> NDArray[Any]:
        return (outputs > 0.5).astype(np.int64)

    def measure(
        self, outputs: Outputs, truth: NDArray[Any], answers: NDArray[Any], positive: int = 1
    ) -> dict[str, Any]:
        return score_labels(outputs, truth)

    def columns(
        self, outputs: Outputs, answers: NDArray[Any], names: Sequence[str]
    ) -> dict[str, NDArray[Any]]:
        joined = [
            SEPARATOR.join(name for name, has in zip(names, row, strict=True) if has)
            for row in answers
        ]
        found: dict[str, NDArray[Any]] = {"predicted": np.array(joined, dtype=object)}
        return found | {f"p_{name}": outputs[:, c].round(6) for c, name in enumerate(names)}

    def losses(self, outputs: Tensor, aligned: Tensor) -> Tensor:
        return (softplus(outputs) - aligned * outputs).mean(2)

    def score(self, outputs: Tensor, aligned: Tensor, weights: Tensor) -> Tensor:
        own_outputs, true = (outputs > 0).double(), aligned.double()
        right, total = (own_outputs * true).sum(2), (own_outputs + true).sum(2)
        right, total = ((weights * each).sum(1) for each in (right, total))
        # Where nothing is said and nothing is true, the answer has found nothing.
        return 2 * right / torch.where(total > 0, total, 1.0)

    def constant(self, targets: Tensor, n_outputs: int, class_weight: Tensor | None) -> Tensor:
        return targets.mean(0) - 0.5

    def answers(self, outputs: Tensor) -> Tensor:
        return outputs.sigmoid()


class Regression(_Values):
    r"""Numbers per vertex: squared errors, averaged over the numbers of a vertex.

    The score is :math:`R^2 = 1 - \sum (z - y)^2 / \sum (y - \bar y)^2`, the mean over the numbers.
    """

    name = "regression"
    metrics = NUMBER_METRICS
    sections = ("needs", "filter", "graph", "numbers", "vertices", "made")
    score_name = "r2"

    def decide(self, outputs: Outputs) -> NDArray[Any]:
        return outputs

    def measure(
        self, outputs: Outputs, truth: NDArray[Any], answers: NDArray[Any], positive: int = 1
    ) -> dict[str, Any]:
        return score_numbers(outputs, truth)

    def columns(
        self, outputs: Outputs, answers: NDArray[Any], names: Sequence[str]
    ) -> dict[str, NDArray[Any]]:
        if len(names) == 1:
            return {"predicted": outputs[:, 0]}
        return {f"predicted_{name}": outputs[:, t] for t, name in enumerate(names)}

    def losses(self, outputs: Tensor, aligned: Tensor) -> Tensor:
        return (outputs - aligned).square().mean(2)

    def score(self, outputs: Tensor, aligned: Tensor, weights: Tensor) -> Tensor:
        weights, true = weights.double()[..., None], aligned.double()
        mean = (weights * true).sum(1, keepdim=True) / weights.sum(1, keepdim=True)
        error = (weights * (outputs.double() - true).square()).sum(1)
        spread = (weights * (true - mean).square()).sum(1)
        # As scikit-learn has it: of equal values there is nothing to explain.
        return torch.where(spread > 0, 1 - error / spread, (error == 0).double()).mean(2)

    def constant(self, targets: Tensor, n_outputs: int, class_weight: Tensor | None) -> Tensor:
        return targets.mean(0)

    def chance(self, train: Tensor, class_weight: Tensor | None) -> float:
        return 0.0

    def answers(self, outputs: Tensor) -> Tensor:
        return outputs


CLASSIFICATION = Classification()
MULTILABEL = Multilabel()
REGRESSION = Regression()
TASKS: dict[str, Task] = {task.name: task for task in (CLASSIFICATION, MULTILABEL, REGRESSION)}
