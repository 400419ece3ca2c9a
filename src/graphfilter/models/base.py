"""The contract of every network: a typed config, logits of all vertices, and its own loss terms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphfilter.errors import ConfigError, check_number
from graphfilter.filters import Config, Filter
from graphfilter.graph import Features, Graph
from graphfilter.models.layers import Draws, Generators, Input
from graphfilter.operators import Operator


@dataclass(frozen=True)
class ModelConfig(Config, ABC):
    """The config of a network, which builds it for a graph.

    Attributes
    ----------
    keeps_graph : bool
        Whether the network is built on one graph, and serves no other.
    fitted : bool
        Whether it is a :class:`Fitted` one, which is not trained by gradients.
    dropout : float
        Rate in [0, 1); where it applies, the network says.

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> config = gf.models.FilterNetworkConfig(hidden_size=8)
    >>> network = config.build(g, torch.Generator().manual_seed(0))
    >>> network.config == config
    True
    """

    keeps_graph: ClassVar[bool] = False
    fitted: ClassVar[bool] = False

    dropout: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= check_number("dropout", self.dropout) < 1:
            raise ConfigError(f"dropout must be in [0, 1); got {self.dropout}.")

    def skip_reason(self, graph: Graph, n_train: int) -> str | None:
        """Return why the network should not be trained on a graph with so many labels, if so.

        A committee leaves such members out: they cannot help there, or would cost too much.
        """
        return None

    @abstractmethod
    def build(self, graph: Graph, generator: torch.Generator) -> Network[Any]:
        """Make the untrained network for a graph, its weights drawn from ``generator``."""


class TrainingOutput(NamedTuple):
    """What a network gives in training: logits, and what it adds to the loss.

    Attributes
    ----------
    logits : Tensor (n, n_classes)
    vertex_weight : Tensor (n,), optional
        Multiplies the loss of every vertex.
    penalty : Tensor (), optional
        Is added to the mean loss.

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> gf.models.TrainingOutput(torch.zeros(3, 2)).penalty is None
    True
    """

    logits: Tensor
    vertex_weight: Tensor | None = None
    penalty: Tensor | None = None


ConfigT = TypeVar("ConfigT", bound="ModelConfig", covariant=True)


class Network(nn.Module, ABC, Generic[ConfigT]):
    """A network that labels the vertices of a graph.

    Attributes
    ----------
    config : ModelConfig
        Its identity: what it was built from.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> operator = gf.operators.augmented_adjacency(g)
    >>> x = gf.operators.to_tensor(g.features)
    >>> network = gf.models.FilterNetwork(34, 2, gf.filters.StackedFilter())
    >>> network.main_filter().degree
    16
    >>> network(operator, x).shape
    torch.Size([34, 2])
    """

    config: ConfigT

    def __init__(self, config: ConfigT) -> None:
        super().__init__()
        self.config = config

    @abstractmethod
    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        """Return logits (n, n_classes); ``generator`` draws the dropout."""

    def training_output(self, operator: Operator, x: Input, generator: Draws) -> TrainingOutput:
        """Return the logits of a training step, and the network's own loss terms if it has any."""
        return TrainingOutput(self(operator, x, generator))

    def undecayed_parameters(self) -> list[nn.Parameter]:
        """Return the weights that weight decay leaves alone, where its authors decay few layers."""
        return []

    def main_filter(self) -> Filter | None:
        """Return the filter that stands for the network where one is shown; None without one."""
        return None

    def filter_parameters(self) -> list[nn.Parameter]:
        """Return the scalars of its filters, which train at a rate of their own."""
        return []

    @property
    def rate(self) -> float:
        """The dropout rate now in force: none outside training."""
        return self.config.dropout if self.training else 0.0

    def extra_repr(self) -> str:
        return self.config.arguments()


class SideBySide(Network[ConfigT]):
    """A network of which several of one config can run on one graph at once.

    An optimisation, not another model: each gives what it gives alone. Nothing in
    :meth:`forward_side_by_side` may wait for the device, so that a whole epoch can be captured and
    replayed.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> operator = gf.operators.augmented_adjacency(g)
    >>> x = gf.operators.to_tensor(g.features)
    >>> pair = [gf.models.FilterNetwork(34, 2, gf.filters.StackedFilter()) for _ in range(2)]
    >>> gf.models.FilterNetwork.forward_side_by_side(pair, operator, x, [None, None]).shape
    torch.Size([34, 2, 2])
    """

    @classmethod
    @abstractmethod
    def forward_side_by_side(
        cls, models: Sequence[Any], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        """Return the logits of all of them (n, R, n_classes); each draws from its generator."""

    def can_be_replayed(self, n_runs: int, operator: Operator, x: Input) -> bool:
        """Return whether so many at once can be captured and replayed on a GPU."""
        return True

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        return self.forward_side_by_side([self], operator, x, [generator])[:, 0]


class Fitted(Network[ConfigT]):
    """A model with the interface of a network that is fitted to rows at once, without epochs.

    What it learned are buffers whose sizes depend on the data: :meth:`check_state` must refuse
    tensors that are not its own.

    Examples
    --------
    >>> import graphfilter as gf
    >>> issubclass(gf.models.Trees, gf.models.Fitted), gf.models.TreesConfig.fitted
    (True, True)
    """

    @abstractmethod
    def fit(
        self,
        rows: Features,
        targets: NDArray[Any],
        *,
        sample_weight: NDArray[np.float64] | None = None,
        seed: int = 0,
    ) -> None:
        """Learn from rows (n, d), dense or sparse.

        ``targets`` are class numbers (n,), which of several labels a vertex has (bool, (n, L)), or
        numbers (float, (n, T)). Outputs are logits of classes and labels, or numbers.
        """

    @property
    def remark(self) -> str:
        """What was done to the rows to fit it, in words; empty where nothing was."""
        return ""

    def keep_view(self, found: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep what the view found whose columns the model was fitted to, if it found something."""

    def kept_view(self) -> dict[str, NDArray[np.float32]] | None:
        """Return what :meth:`keep_view` was given; None of a model that keeps nothing."""
        return None

    def refitted(
        self,
        rows: Features,
        targets: NDArray[Any],
        sample_weight: NDArray[np.float64] | None = None,
    ) -> Self:
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
