"""What is learned of a vertex: what a network's outputs mean, their loss and their scores.

The network, its filter and the loop are the same for every task. Outputs of R runs are (m, R, C);
losses and scores are computed inside what a GPU captures, and do not wait for the device. The tasks
are one class per vertex, any of several labels, and numbers; :class:`Vertices` holds the vertices
that a loss or a score is taken over.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import softplus

from graphfilter.training import monitors
from graphfilter.training.monitors import Score
from graphfilter.training.scores import (
    LABEL_METRICS,
    METRICS,
    NUMBER_METRICS,
    Metric,
    looked_for,
    score,
    score_labels,
    score_numbers,
)
from graphfilter.util.errors import ConfigError, GraphError

Outputs = NDArray[np.float64]


class Task(ABC):
    """How outputs are compared with what is known of the vertices, and what is answered.

    The methods on tensors are the training loop's; those on arrays are for whoever reads what was
    trained: :meth:`decide`, :meth:`measure` and :meth:`columns`.

    Attributes
    ----------
    name : str
    one_class : bool
        Whether a vertex has one class of several.
    metrics : mapping
        The scores of :meth:`measure`, and how each is written; the first is the one to judge by.
    score_name : str
        The score that is recorded every epoch beside the loss; higher is better.
    scores : mapping
        Further scores that may be monitored.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.training.TASKS["multilabel"].score_name
    'micro_f1'
    """

    name: ClassVar[str]
    one_class: ClassVar[bool] = False
    metrics: ClassVar[Mapping[str, Metric]]
    score_name: ClassVar[str]
    scores: ClassVar[Mapping[str, Score]] = {}

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Be pickled and copied as the one instance of this task."""
        return self.name.upper()

    def __repr__(self) -> str:
        return self.name

    @abstractmethod
    def known(self, targets: Tensor) -> Tensor:
        """Return which vertices have a target: bool (n,)."""

    @abstractmethod
    def n_outputs(self, targets: Tensor) -> int:
        """Return how many outputs a network must have for these targets, at least."""

    @abstractmethod
    def aligned(self, targets: Tensor, n_runs: int) -> Tensor:
        """Return targets as :meth:`losses` and :meth:`score` take them, made once."""

    @abstractmethod
    def losses(self, outputs: Tensor, aligned: Tensor) -> Tensor:
        """Return the loss of each vertex: outputs (m, R, C) give (m, R)."""

    @abstractmethod
    def score(self, outputs: Tensor, aligned: Tensor, weights: Tensor) -> Tensor:
        """Return the score of parts with these weights: (P, m, R) give (P, R), in float64."""

    @abstractmethod
    def constant(self, targets: Tensor, n_outputs: int, class_weight: Tensor | None) -> Tensor:
        """Return the outputs (C,) of the best answer that is the same for every vertex."""

    @abstractmethod
    def answers(self, outputs: Tensor) -> Tensor:
        """Return probabilities or values from outputs (..., C)."""

    @abstractmethod
    def decide(self, outputs: Outputs) -> NDArray[Any]:
        """Return the default predictions for outputs (n, C)."""

    @abstractmethod
    def measure(
        self, outputs: Outputs, truth: NDArray[Any], answers: NDArray[Any], positive: int = 1
    ) -> dict[str, Any]:
        """Return the number of vertices and each of ``metrics`` that is defined on them."""

    @abstractmethod
    def columns(
        self, outputs: Outputs, answers: NDArray[Any], names: Sequence[str]
    ) -> dict[str, NDArray[Any]]:
        """Return the columns of a table of answers, one row per vertex."""

    def sought(self, train: Tensor) -> int:
        """Return the class that is looked for; of no meaning but for two classes."""
        return 1

    @property
    def monitors(self) -> tuple[str, ...]:
        """What may choose the best weights."""
        return (self.score_name, "loss", *self.scores)

    def resolve(self, monitor: str) -> str:
        """Return the monitored score: 'accuracy', the usual setting, is every task's own score."""
        return self.score_name if monitor == "accuracy" else monitor

    def curves(self, monitor: str) -> tuple[str, ...]:
        """Return the names of what is recorded every epoch; the monitored score once.

        >>> from graphfilter.training import CLASSIFICATION
        >>> CLASSIFICATION.curves("roc_auc")
        ('loss', 'train_accuracy', 'val_loss', 'val_accuracy', 'val_roc_auc')
        """
        usual = ("loss", f"train_{self.score_name}", "val_loss", f"val_{self.score_name}")
        return (*usual, f"val_{monitor}") if monitor in self.scores else usual

    def vertex_weights(self, targets: Tensor, class_weight: Tensor | None) -> Tensor:
        """Return the weight of every vertex in loss and score: (n,)."""
        return torch.ones(len(targets), device=targets.device)

    def chance(self, train: Tensor, class_weight: Tensor | None) -> float:
        """Return the score of the best constant answer on the vertices it was learned from."""
        answer = self.constant(train, self.n_outputs(train), class_weight)
        weights = self.vertex_weights(train, class_weight)[None, :, None]
        return float(self.score(answer.expand(len(train), 1, -1), self.aligned(train, 1), weights))

    def monitored_chance(
        self, monitor: str, train: Tensor, val: Tensor, class_weight: Tensor | None
    ) -> float:
        """Return the monitored score that the constant answer of ``train`` has on ``val``."""
        if monitor not in self.scores or not len(val):
            return math.inf
        n_outputs = max(self.n_outputs(train), self.n_outputs(val))
        answer = self.constant(train, n_outputs, class_weight).expand(len(val), 1, -1)
        chosen = torch.ones(len(val), 1, dtype=torch.bool, device=val.device)
        weight = all_weights(answer, class_weight)
        positive = torch.tensor([self.sought(train)], device=val.device)
        return float(self.scores[monitor](answer, val, chosen, weight, positive))

    def check(self, monitor: str, val: Tensor, class_weight: Tensor | None) -> None:
        """Raise where a monitored score is not one of this task, or not defined on ``val``."""
        if monitor not in self.monitors:
            raise ConfigError(
                f"monitor must be one of {', '.join(self.monitors)} for {self.name}; "
                f"got {monitor!r}."
            )


def all_weights(outputs: Tensor, class_weight: Tensor | None) -> Tensor:
    """Return one weight per output (C,): those given, or ones."""
    n_outputs = outputs.shape[-1]
    if class_weight is None:
        return torch.ones(n_outputs, device=outputs.device)
    return class_weight[:n_outputs]


class Vertices:
    """The vertices a loss or score is taken over, by run, with their weights."""

    def __init__(
        self,
        train: Sequence[Tensor],
        val: Sequence[Tensor] | None,
        labels: Tensor,
        class_weight: Tensor | None,
        task: Task,
    ) -> None:
        self._task, self._class_weight = task, class_weight
        parts = [train] if val is None else [train, val]
        # Which vertices each part has, by run: (P, n, R).
        shape = len(parts), len(labels), len(train)
        chosen = torch.zeros(shape, dtype=torch.bool, device=labels.device)
        for p, part in enumerate(parts):
            for r, index in enumerate(part):
                chosen[p, index, r] = True
        self._rows = chosen.any(0).any(1).nonzero()[:, 0]
        self._aligned = task.aligned(labels[self._rows], len(train))
        weights = task.vertex_weights(labels, class_weight)[self._rows, None].float()
        self._weights = torch.where(chosen[:, self._rows], weights, 0.0)
        self._sums = self._weights.sum(1, dtype=torch.float64)
        sought = [task.sought(labels[index]) for index in train]
        self._positive = torch.tensor(sought, device=labels.device)
        # The vertices of the last part, whatever their weights, and in which runs they are.
        self._last = chosen[-1].any(1).nonzero()[:, 0]
        self._chosen, self._truth = chosen[-1][self._last], labels[self._last]

    def mean_loss(self, logits: Tensor, vertex_weight: Tensor | None = None) -> Tensor:
        """Return the mean loss on the first part, by run: logits (n, R, C) give (R,).

        ``vertex_weight`` (n,), or (n, R), multiplies the loss of every vertex.
        """
        losses = self._task.losses(logits.index_select(0, self._rows), self._aligned)
        weighted = self._weights[0] * losses
        if vertex_weight is not None:
            factor = vertex_weight.index_select(0, self._rows)
            weighted = weighted * factor.view(len(factor), -1)
        return weighted.sum(0) / self._sums[0].to(logits.dtype)

    def scores(self, logits: Tensor, monitor: str) -> Tensor:
        """Return training score, validation loss and score, and the monitored score.

        (3, R), or (4, R) where the monitored score is another; NaN where there are no vertices.
        """
        task = self._task
        scored = logits.index_select(0, self._rows)
        score = task.score(scored, self._aligned, self._weights)
        losses = self._weights[1] * task.losses(scored, self._aligned)
        loss = losses.sum(0, dtype=torch.float64)
        scores = torch.stack([score[0], loss / self._sums[1], score[1]])
        if monitor not in task.scores:
            return scores
        weight = all_weights(logits, self._class_weight)
        last = logits.index_select(0, self._last)
        score = task.scores[monitor]
        monitored = score(last, self._truth, self._chosen, weight, self._positive)
        return torch.cat([scores, monitored[None]])


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
        predicted = np.array(names, dtype=object)[answers]
        probability = outputs[np.arange(len(answers)), answers].round(6)
        return {"predicted": predicted, "probability": probability} | _shares(outputs, names)

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


def _shares(outputs: Outputs, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the columns of the probabilities."""
    return {f"p_{name}": outputs[:, c].round(6) for c, name in enumerate(names)}


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
        rows = (zip(names, row, strict=True) for row in answers)
        joined = [SEPARATOR.join(name for name, has in row if has) for row in rows]
        return {"predicted": np.array(joined, dtype=object)} | _shares(outputs, names)

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
