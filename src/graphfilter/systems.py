"""Systems by name: a model, the operator it runs on, and how it is trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from graphfilter.errors import check_name
from graphfilter.filters import Filter, IdentityFilter, PageRankFilter, PowerFilter, StackedFilter
from graphfilter.graph import Graph
from graphfilter.models import FilterNetwork
from graphfilter.splits import Split
from graphfilter.training import TrainConfig

PAPER = TrainConfig()


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
        Whose setting this is: 'paper' (the one the paper used) or 'authors' (of the system).
    reference : str
        Where the system comes from.
    predict : callable, optional
        For a system that is not trained by gradients: class probabilities from a graph and the
        training part of a split. ``build`` is then None.
    """

    name: str
    title: str
    build: Callable[[Graph, torch.Generator], nn.Module] | None
    operator: str = "augmented_adjacency"
    config: TrainConfig = PAPER
    setting: str = "paper"
    reference: str = ""
    predict: Callable[[Graph, Split], NDArray[np.float64]] | None = None


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


def get_system(name: str) -> System:
    """Return the system of this name."""
    return SYSTEMS[check_name("system", name, SYSTEMS)]


_ALL = (
    System("sgf", "SGF", filter_system(lambda _: StackedFilter()), reference="NT et al. 2020"),
    System("mlp", "MLP", filter_system(lambda _: IdentityFilter())),
    System(
        "sgc",
        "SGC",
        filter_system(lambda _: PowerFilter(2), hidden_size=None, filter_on="logits"),
        config=replace(PAPER, learning_rate=0.01),
        reference="Wu et al. 2019",
    ),
    System(
        "appnp",
        "APPNP",
        filter_system(lambda _: PageRankFilter(10, 0.1), filter_on="logits", dropout=0.5),
        config=replace(PAPER, learning_rate=0.01),
        setting="authors",
        reference="Klicpera et al. 2019",
    ),
)
SYSTEMS: dict[str, System] = {system.name: system for system in _ALL}
