"""Fitted: a model that is fitted to rows at once, with the interface of a network."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.graph import Features
from graphfilter.models.base import ConfigT, SizedNetwork
from graphfilter.models.layers import Draws

Weight = NDArray[np.float64] | None


class Fitted(SizedNetwork[ConfigT]):
    """A model with the interface of a network that is fitted to rows at once, without epochs.

    What it learned are buffers whose sizes depend on the data: :meth:`check_state` must refuse
    tensors that are not its own.

    Attributes
    ----------
    kept : dict of str to torch.dtype
        The buffers and their types.

    Examples
    --------
    >>> import graphfilter as gf
    >>> issubclass(gf.models.Trees, gf.models.Fitted), gf.models.TreesConfig.fitted
    (True, True)
    """

    kept: ClassVar[dict[str, torch.dtype]]

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        self.n_features, self.n_classes = n_features, n_classes
        for name, dtype in self.kept.items():
            self.register_buffer(name, torch.zeros(0, dtype=dtype))

    def fit(
        self, rows: Features, targets: NDArray[Any], *, sample_weight: Weight = None, seed: int = 0
    ) -> None:
        """Learn from rows (n, d), dense or sparse.

        ``targets`` are class numbers (n,), which of several labels a vertex has (bool, (n, L)), or
        numbers (float, (n, T)). Outputs are logits of classes and labels, or numbers.
        """
        self.learn(rows, targets, sample_weight, seed)

    @abstractmethod
    def learn(self, rows: Features, targets: NDArray[Any], weight: Weight, seed: int) -> None:
        """Do what :meth:`fit` says; ``weight`` is that of each row."""

    @property
    def remark(self) -> str:
        """What was done to the rows to fit it, in words; empty where nothing was."""
        return ""

    def keep_view(self, found: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep what the view found whose columns the model was fitted to, if it found something."""

    def kept_view(self) -> dict[str, NDArray[np.float32]] | None:
        """Return what :meth:`keep_view` was given; None of a model that keeps nothing."""
        return None

    def refitted(self, rows: Features, targets: NDArray[Any], weight: Weight = None) -> Self:
        """Return about what :meth:`fit` would make of the same vertices with other rows, cheaply.

        The model itself where other rows make little difference to what it has learned.
        """
        return self

    @abstractmethod
    def check_state(self, state: Mapping[str, Tensor]) -> None:
        """Raise ModelFileError where tensors are not such a model."""

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Take tensors of any size, after checking them."""
        self.check_state(state_dict)
        for name in state_dict:
            setattr(self, name, state_dict[name].clone())
