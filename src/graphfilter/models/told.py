"""ToldNetwork: a network that also sees which labels are known around a vertex."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphfilter.errors import GraphError
from graphfilter.models.layers import Draws, Generators, Input, matmul_side_by_side
from graphfilter.models.normed import NormedConfig, NormedNetwork
from graphfilter.operators import Operator

# The share of known labels that are hidden in a training step, and of steps that hide them all.
HIDDEN = 0.5
ALL_HIDDEN = 1 / 3


@dataclass(frozen=True)
class ToldConfig(NormedConfig):
    """See :class:`ToldNetwork`."""

    recognises: ClassVar[bool] = True

    n_layers: int = 4


class ToldNetwork(NormedNetwork, config=ToldConfig):
    r"""A :class:`NormedNetwork` that is told the labels of its training vertices.

    .. math:: H_0 = \mathrm{relu}(X W + b) + L\, V

    where a row of L is what is known of a vertex: its class, its labels or its numbers, and that it
    is known; nothing of the others. So that it learns to answer for vertices whose own label it
    does not see, half of the labels, drawn anew, are hidden in each training step, and their
    vertices are those that it learns from (Shi et al. 2021, *Masked Label Prediction*). In a third
    of the steps all are hidden: it answers for a graph of which nothing is known, too.

    What it answers for a vertex that it was told of is what it says without that label: half of
    them are hidden in turn.

    Attributes
    ----------
    told : Tensor (n, n_classes + 2)
        What is known of each vertex of the graph, that it is, and whether it is in the second half
        of those that are; without rows where nothing is.

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> operator = gf.operators.augmented_adjacency(g)
    >>> x = gf.operators.to_tensor(g.features)
    >>> network = gf.models.ToldNetwork(34, 2, gf.models.ToldConfig(n_layers=2)).eval()
    >>> untold = network(operator, x)
    >>> one_hot = torch.nn.functional.one_hot(torch.tensor(g.labels))
    >>> network.tell(one_hot, rows=torch.tensor([0, 33]))
    >>> bool((network(operator, x) == untold).all())
    False
    """

    told: Tensor

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        super().make_layers(n_features, n_classes, generator)
        shape = n_classes + 1, self.config.hidden_size
        self.of_labels = nn.Parameter(torch.empty(shape).uniform_(-1, 1, generator=generator))
        self.register_buffer("told", torch.zeros(0, n_classes + 2, dtype=torch.float16))

    def tell(self, targets: Tensor, rows: Tensor) -> None:
        told = torch.zeros(len(targets), self.told.shape[1], device=self.told.device)
        told[rows, :-2] = targets[rows].to(told)
        told[rows, -2] = 1
        # The halves go with the vertices, into whatever order and graph.
        told[rows, -1] = (torch.arange(len(rows), device=rows.device) % 2).to(told)
        self.told = told.to(self.told.dtype)

    def recognising(self, numbers: NDArray[np.int64]) -> Self:
        made = copy.deepcopy(self)
        places = torch.from_numpy(numbers).to(self.told.device)
        made.told = self.told.new_zeros(len(numbers), self.told.shape[1])
        made.told[places >= 0] = self.told[places[places >= 0]]
        return made

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Take what is told of any number of vertices."""
        given = state_dict.get("told")
        if given is not None and given.ndim == 2 and given.shape[1] == self.told.shape[1]:
            self.told = self.told.new_zeros(given.shape)
        return super().load_state_dict(state_dict, strict, assign)

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        told = _told([self], operator)
        if self.training or told is None:
            return super().forward(operator, x, generator)
        known, second = (self.told[:, -2:] > 0).T
        answers = self.knowing([self], operator, x, [generator], told)[:, 0]
        for half in (second, known & ~second):
            others = told.masked_fill(half[:, None, None], 0)
            without = self.knowing([self], operator, x, [generator], others)[:, 0]
            answers = torch.where(half[:, None], without, answers)
        return answers

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[Any], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        return cls.knowing(models, operator, x, generators, _told(models, operator))

    @classmethod
    def training_side_by_side(
        cls, models: Sequence[Any], operator: Operator, x: Input, generators: Generators
    ) -> tuple[Tensor, Tensor | None]:
        told = _told(models, operator)
        if told is None:
            return super().training_side_by_side(models, operator, x, generators)
        hidden, weight = _hide(len(told), generators, told.device)
        others = told * (~hidden)[:, :, None]
        return cls.knowing(models, operator, x, generators, others), weight

    @classmethod
    def knowing(
        cls,
        models: Sequence[Any],
        operator: Operator,
        x: Input,
        generators: Generators,
        told: Tensor | None,
    ) -> Tensor:
        """Return the logits (n, R, n_classes) where so much is known (n, R, n_classes + 1)."""
        added = None
        if told is not None:
            weights = torch.stack([model.of_labels for model in models])
            added = matmul_side_by_side(told, weights)
        return cls.logits(models, operator, x, generators, added)


def _told(models: Sequence[ToldNetwork], operator: Operator) -> Tensor | None:
    """Return what R networks were told (n, R, n_classes + 1); None where nothing."""
    told = [model.told for model in models]
    if not len(told[0]):
        return None
    if len(told[0]) != operator.n:
        raise GraphError(
            f"this network was told the labels of {len(told[0]):,} vertices, and the graph has "
            f"{operator.n:,}; use `recognising` to say which of them are the same."
        )
    return torch.stack(told, dim=1)[..., :-1].to(models[0].of_labels.dtype)


def _hide(n: int, generators: Generators, device: torch.device) -> tuple[Tensor, Tensor]:
    """Draw which labels are hidden (n, R), and the weights of those vertices in the loss."""
    drawn = [torch.rand(n + 1, generator=g, device=device) for g in generators]
    numbers = torch.stack(drawn, dim=1)
    share = torch.where(numbers[0] < ALL_HIDDEN, 1.0, HIDDEN)
    hidden = numbers[1:] < share
    return hidden, hidden / share
