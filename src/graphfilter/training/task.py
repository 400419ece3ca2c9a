"""What is learned of a vertex: what a network's outputs mean, their loss and their scores.

The network, its filter and the loop are the same for every task. Outputs of R runs are (m, R, C);
losses and scores are computed inside what a GPU captures, and do not wait for the device.
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

from graphfilter.errors import ConfigError
from graphfilter.metrics import Metric
from graphfilter.training.monitors import Score

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
    sections : tuple of str
        Of a report, in its order.
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
    sections: ClassVar[tuple[str, ...]]
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
