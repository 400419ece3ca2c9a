"""What a system is: a model, the operator it runs on, and how it is trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from graphfilter.filters import Filter
from graphfilter.graph import Graph
from graphfilter.models import FilterNetwork
from graphfilter.splits import Split
from graphfilter.training import TrainConfig

PAPER = TrainConfig()

Build = Callable[[Graph, torch.Generator], nn.Module]


@dataclass(frozen=True)
class System:
    """A system that can be compared with others.

    Attributes
    ----------
    name, title : str
        What to ask for, and what to print.
    build : callable
        Makes the untrained network for a graph, its weights drawn from the generator.
    operator : str
        The kind of operator it runs on.
    config : TrainConfig
    setting : str
        Whose setting this is: 'paper' (the one the paper used), 'authors' (of the system), or
        'adapted' (the authors' architecture, with what they leave open or train in another way
        filled in here), or 'changed' (by who asked for it).
    reference : str
        Where the system comes from.
    predict : callable, optional
        For a system that is not trained by gradients: class probabilities from a graph and the
        training part of a split. ``build`` is then None.
    configs : mapping
        The configs its authors recommend for datasets by name; ``config`` for all others.
    """

    name: str
    title: str
    build: Build | None
    operator: str = "augmented_adjacency"
    config: TrainConfig = PAPER
    setting: str = "paper"
    reference: str = ""
    predict: Callable[[Graph, Split], NDArray[np.float64]] | None = None
    configs: Mapping[str, TrainConfig] = field(default_factory=dict, compare=False)

    @property
    def keeps_graph(self) -> bool:
        """Whether its networks serve the graph they were built on and no other one."""
        return isinstance(self.build, OnGraph)

    def config_for(self, graph: Graph) -> TrainConfig:
        """Return how to train on this graph."""
        return self.configs.get(graph.name, self.config)


def filter_system(
    make_filter: Callable[[int], Filter], **options: Any
) -> Callable[[Graph, torch.Generator], FilterNetwork]:
    """Return the builder of a FilterNetwork with this filter; ``make_filter`` is told a seed."""

    def build(graph: Graph, generator: torch.Generator) -> FilterNetwork:
        seed = generator.initial_seed()
        return FilterNetwork(
            graph.n_features, graph.n_classes, make_filter(seed), generator=generator, **options
        )

    return build


def sized_system(model: Callable[..., nn.Module], **options: Any) -> Build:
    """Return the builder of a model that is told the numbers of features and classes."""

    def build(graph: Graph, generator: torch.Generator) -> nn.Module:
        return model(graph.n_features, graph.n_classes, generator=generator, **options)

    return build


@dataclass(frozen=True)
class OnGraph:
    """The builder of a model that is told the graph, keeps it, and serves no other one."""

    model: Callable[..., nn.Module]

    def __call__(self, graph: Graph, generator: torch.Generator) -> nn.Module:
        return self.model(graph, generator=generator)
