"""How members are pooled for each task: what is pooled of their answers, and how it is fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphfilter.systems.pooling import Pool, fit_pool, log_probabilities
from graphfilter.systems.value_pooling import (
    LabelPool,
    NumberPool,
    fit_label_pool,
    fit_number_pool,
    label_logits,
)
from graphfilter.training import CLASSIFICATION, MULTILABEL, Task

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Pooling:
    """The pool of a task.

    Attributes
    ----------
    read : callable
        From the members' outputs, (n, C) each, to what is pooled: logits or numbers (M, n, C).
    kind : type of Pool
    fit : callable
        From what is pooled of validation vertices, their truth and a prior to a pool.
    """

    read: Callable[[Sequence[Array]], Array]
    kind: type[Pool]
    fit: Callable[..., Pool]

    def together(self, answers: Sequence[Array]) -> Array:
        """Return the combined output of networks with equal weights."""
        if len(answers) == 1:
            return answers[0]
        n = len(answers)
        shape = (n,) if self.kind is Pool else (n, answers[0].shape[1])
        equal = self.kind(np.full(shape, 1 / n), np.ones(shape), np.ones(shape))
        return equal.answer(self.read(answers))

    def by_vertex(self, answers: Sequence[Array], coefficients: Sequence[Array]) -> Array:
        """Return the combined outputs of members whose weights differ by vertex.

        Parameters
        ----------
        answers : sequence of arrays (n, C)
        coefficients : sequence of arrays (n,) or (n, C)
            What multiplies the logits, or numbers, of each member.
        """
        total = np.zeros_like(answers[0])
        for outputs, own in zip(self.read(answers), coefficients, strict=True):
            total += outputs * (own[:, None] if own.ndim == 1 else own)
        return self.kind.combined(total)


_CLASSES = Pooling(log_probabilities, Pool, fit_pool)
_LABELS = Pooling(label_logits, LabelPool, fit_label_pool)
_NUMBERS = Pooling(np.stack, NumberPool, fit_number_pool)


def pooling_of(task: Task) -> Pooling:
    """Return how the members of a task are pooled."""
    if task.name == CLASSIFICATION.name:
        return _CLASSES
    return _LABELS if task.name == MULTILABEL.name else _NUMBERS
