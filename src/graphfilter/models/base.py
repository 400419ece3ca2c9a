"""What training a network takes: the sizes it depends on, and its bytes by part.

The factors were measured: ``benchmarks/dry_run.py`` compares an estimate with the peak of a process
that then trains.

The contract of every network: a typed config, logits of all vertices, and its own loss terms.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.filters import Config, Filter
from graphfilter.models.layers import Draws, Generators, Input
from graphfilter.operators import Operator

__all__ = ["GraphNetwork", "ModelConfig", "Network", "SideBySide", "SizedNetwork", "TrainingOutput"]

# Numbers of four bytes per vertex that a training step holds at its peak: of each hidden column
# what is kept for the gradient, of each further layer, and while gradients are made; of each
# feature; of each column that is filtered after the head.
KEPT, KEPT_PER_LAYER, GRADIENTS, PER_FEATURE, PER_LOGIT = 3.0, 3.25, 2.5, 2.75, 7.0
# Bytes of a stored value of sparse features, which are kept by rows and by columns.
SPARSE_VALUE = 66
# Bytes of a row and column that trees are grown on.
GROWN = 16
# The most bytes of the layers of a network of a committee, of so many a vertex and hidden column.
MOST_HELD, HELD_FOR_GRADIENTS = 4 * 2**30, 24
# The most training vertices to compare with all vertices, and the most common neighbours.
MOST_COMPARED, MOST_SHARED = 50_000, 10**9


@dataclass(frozen=True)
class Sizes:
    """The sizes that costs depend on; ``n_values`` of sparse features, 0 where they are dense.

    ``stored`` says whether the graph is mapped from a store.
    """

    n_vertices: int
    n_entries: int
    n_features: int
    n_values: int
    n_classes: int
    n_train: int
    weighted: bool = False
    stored: bool = False


@dataclass(frozen=True)
class Working:
    """Bytes that training a network takes at its peak, beside the graph and what is seen of it.

    Attributes
    ----------
    hidden, optimizer : int
        What gradients and what is kept for them take, and weights with their moments.
    features : int or None
        Of what it sees of the vertices, where that is not what its view makes.
    kept : int
        Of what it keeps in the graph's store.
    """

    hidden: int = 0
    optimizer: int = 0
    features: int | None = None
    kept: int = 0


def layered(sizes: Sizes, width: int, layers: int, *, filtered: bool) -> Working:
    """Return what a network of hidden layers takes.

    Parameters
    ----------
    width, layers : int
        Of the whole network.
    filtered : bool
        Whether hidden columns are filtered, not logits.
    """
    last = GRADIENTS * width if filtered else PER_LOGIT * sizes.n_classes
    kept = (KEPT + KEPT_PER_LAYER * (layers - 1)) * width
    inputs = 0 if sizes.n_values else PER_FEATURE * sizes.n_features
    weights = (sizes.n_features + width * (layers - 1) + sizes.n_classes) * width
    return Working(int(4 * sizes.n_vertices * (kept + last + inputs)), 16 * weights)


@dataclass(frozen=True)
class ModelConfig(Config):
    """The config of a network, which builds it for a graph.

    Attributes
    ----------
    held : int
        Bytes of each vertex and column that are held in each layer in training, as measured; 0
        where :func:`layered` says what training takes.
    fewest_vertices, most_vertices : int
        Of graphs on which a committee trains it.
    compares : bool
        Whether it compares training vertices with all others by whom they link to.
    keeps_graph : bool
        Whether the network is built on one graph, and serves no other.
    recognises : bool
        Whether it matters to the network which vertices of a graph the fitted one had.
    fitted : bool
        Whether it is a :class:`Fitted` one, which is not trained by gradients.
    refits : bool
        Whether it is fitted so cheaply that a committee fits it once more in the end, to
        validation vertices too.
    network : type
        The class of the network; set by that class.
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

    held: ClassVar[int] = 0
    fewest_vertices: ClassVar[int] = 0
    most_vertices: ClassVar[float] = math.inf
    compares: ClassVar[bool] = False
    keeps_graph: ClassVar[bool] = False
    recognises: ClassVar[bool] = False
    fitted: ClassVar[bool] = False
    refits: ClassVar[bool] = False
    network: ClassVar[type[Network[Any]]]
    ranges: ClassVar[Mapping[str, str]] = {"dropout": "[0, 1)"}

    dropout: float = 0.5

    def skip_reason(self, graph: Graph, n_train: int) -> str | None:
        """Return why the network should not be trained on a graph with so many labels, if so.

        A committee leaves such members out: they cannot help there, or would cost too much.
        """
        n, (width, layers) = graph.n_vertices, self._layers()
        if n < self.fewest_vertices:
            return f"it needs at least {self.fewest_vertices} vertices"
        if n > self.most_vertices:
            return f"it helps on small graphs, of up to {self.most_vertices:,} vertices"
        if self.held and HELD_FOR_GRADIENTS * n * width * layers > MOST_HELD:
            return f"{n:,} vertices are too many for a deep network"
        if self.compares and n_train > MOST_COMPARED:
            return f"{n_train:,} labels are too many to compare (at most {MOST_COMPARED:,})"
        # Neighbours, not graph.degrees, which are sums of weights: amounts may be large.
        neighbours = np.diff(graph.indptr).astype(np.float64)
        if self.compares and neighbours @ neighbours > MOST_SHARED:
            return "there are too many pairs of vertices with a common neighbour"
        return None

    @property
    def needs_edges(self) -> bool:
        """Whether the network has nothing to say without edges."""
        return True

    @property
    def learns_filter(self) -> bool:
        """Whether the network is one adaptive filter."""
        return False

    def memory(self, sizes: Sizes) -> Working:
        """Return what training takes.

        By the names of settings, unless a config knows better.
        """
        width, layers = self._layers()
        if self.held:
            return Working(self.held * sizes.n_vertices * width * layers)
        return layered(sizes, width, layers, filtered=False)

    def _layers(self) -> tuple[int, int]:
        width, layers = getattr(self, "hidden_size", None), getattr(self, "n_layers", None)
        return int(width or 64), max(1, int(layers or 2))

    def build(self, graph: Graph, generator: torch.Generator) -> Network[Any]:
        """Make the untrained network for a graph, its weights drawn from ``generator``."""
        return self.network.for_graph(graph, self, generator)


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

    A subclass names the class of its config, which then builds it:
    ``class Mine(SizedNetwork[MyConfig], config=MyConfig)``.

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
    config_type: ClassVar[type[ModelConfig]]

    def __init_subclass__(cls, config: type[ModelConfig] | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if config is not None:
            cls.config_type, config.network, config.kind = config, cls, cls.__name__

    def __init__(self, config: ConfigT | None = None) -> None:
        super().__init__()
        self.config = cast("ConfigT", self.config_type()) if config is None else config

    @classmethod
    def for_graph(cls, graph: Graph, config: Any, generator: torch.Generator) -> Self:
        """Make the network for a graph; overridden where it takes more than two sizes of it."""
        make: Any = cls
        return make(graph.n_features, graph.n_classes, config, generator=generator)

    @abstractmethod
    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        """Return logits (n, n_classes); ``generator`` draws the dropout."""

    def training_output(self, operator: Operator, x: Input, generator: Draws) -> TrainingOutput:
        """Return the logits of a training step, and the network's own loss terms if it has any."""
        return TrainingOutput(self(operator, x, generator))

    def tell(self, targets: Tensor, rows: Tensor) -> None:
        """Take what is known of some vertices, if the network makes use of it.

        Shapes
        ------
        targets : (n, T);  rows : (m,), the vertices it may know
        """

    def recognising(self, numbers: NDArray[np.int64]) -> Self:
        """Return the network for a graph whose vertices had these numbers in the fitted one.

        New ones have -1; without numbers nothing is known of any. The network itself where it makes
        no use of that.
        """
        return self

    def undecayed_parameters(self) -> list[nn.Parameter]:
        """Return the weights that weight decay leaves alone, where its authors decay few layers."""
        return []

    def main_filter(self) -> Filter | None:
        """Return the filter that stands for the network where one is shown; None without one."""
        return None

    def filter_parameters(self) -> list[nn.Parameter]:
        """Return the scalars of its filters, which train at a rate of their own."""
        shown = self.main_filter()
        return [] if shown is None else list(shown.parameters())

    @property
    def rate(self) -> float:
        """The dropout rate now in force: none outside training."""
        return self.config.dropout if self.training else 0.0

    def extra_repr(self) -> str:
        return self.config.arguments()


class SizedNetwork(Network[ConfigT]):
    """A network that is made for numbers of features and classes, and serves any graph.

    Parameters
    ----------
    n_features, n_classes : int
    config : ModelConfig, optional
        That of the network, which is at its defaults otherwise.
    generator : torch.Generator, optional
        For the initial weights.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> network = gf.models.ResidualNetwork(34, 2, gf.models.ResidualConfig(n_layers=2))
    >>> x = gf.operators.to_tensor(g.features)
    >>> network(gf.operators.augmented_adjacency(g), x).shape
    torch.Size([34, 2])
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        config: ConfigT | None = None,
        *,
        generator: Draws = None,
    ) -> None:
        super().__init__(config)
        self.make_layers(n_features, n_classes, generator)

    @abstractmethod
    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        """Make what is learned, drawn from ``generator``, for the config of the network."""


class GraphNetwork(Network[ConfigT]):
    """A network that is made for one graph.

    Parameters
    ----------
    graph : Graph
    config, generator
        As of a :class:`SizedNetwork`.

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> class DegreesConfig(gf.models.ModelConfig):
    ...     "Of Degrees."
    >>> class Degrees(gf.models.GraphNetwork[DegreesConfig], config=DegreesConfig):
    ...     def make_layers(self, graph, generator):
    ...         self.head = gf.models.Linear(1, graph.n_classes, generator)
    ...
    ...     def forward(self, operator, x, generator=None):
    ...         return self.head(operator @ torch.ones(operator.n, 1))
    >>> g = gf.load_dataset("karate")
    >>> Degrees(g)(gf.operators.adjacency(g), gf.operators.to_tensor(g.features)).shape
    torch.Size([34, 2])
    """

    def __init_subclass__(cls, config: type[ModelConfig] | None = None, **options: Any) -> None:
        super().__init_subclass__(config=config, **options)
        if config is not None:
            config.keeps_graph = True

    def __init__(
        self, graph: Graph, config: ConfigT | None = None, *, generator: Draws = None
    ) -> None:
        super().__init__(config)
        self.take_graph(graph)
        self.make_layers(graph, generator)

    def take_graph(self, graph: Graph) -> None:
        """Keep what the network reads of the graph, if it does."""

    @classmethod
    def for_graph(cls, graph: Graph, config: Any, generator: torch.Generator) -> Self:
        return cls(graph, config, generator=generator)

    @abstractmethod
    def make_layers(self, graph: Graph, generator: Draws) -> None:
        """Make what is learned, drawn from ``generator``, for the config of the network."""


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

    @classmethod
    def training_side_by_side(
        cls, models: Sequence[Any], operator: Operator, x: Input, generators: Generators
    ) -> tuple[Tensor, Tensor | None]:
        """Return the logits of a training step, and what multiplies the loss of vertices (n, R)."""
        return cls.forward_side_by_side(models, operator, x, generators), None

    def can_be_replayed(self, n_runs: int, operator: Operator, x: Input) -> bool:
        """Return whether so many at once can be captured and replayed on a GPU."""
        return True

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        return self.forward_side_by_side([self], operator, x, [generator])[:, 0]
