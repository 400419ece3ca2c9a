"""Systems side by side, on the same graph, splits and loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphfilter.errors import GraphError
from graphfilter.features import FeatureScaler, to_tensor
from graphfilter.filters import IdentityFilter, PowerFilter, StackedFilter
from graphfilter.graph import Graph
from graphfilter.models import FilterNetwork
from graphfilter.operators import make_operator
from graphfilter.runs import FitResult
from graphfilter.splits import Split
from graphfilter.training import Progress, TrainConfig, train

Builder = Callable[[int, int, torch.Generator], FilterNetwork]


@dataclass(frozen=True)
class System:
    """A model by name: how to build it, the operator it runs on and how it is trained."""

    name: str
    title: str
    build: Builder
    operator: str = "augmented_adjacency"
    config: TrainConfig = TrainConfig()  # noqa: RUF009 - frozen


def _sgf(n_features: int, n_classes: int, generator: torch.Generator) -> FilterNetwork:
    return FilterNetwork(n_features, n_classes, StackedFilter(), generator=generator)


def _mlp(n_features: int, n_classes: int, generator: torch.Generator) -> FilterNetwork:
    return FilterNetwork(n_features, n_classes, IdentityFilter(), generator=generator)


def _sgc(n_features: int, n_classes: int, generator: torch.Generator) -> FilterNetwork:
    return FilterNetwork(
        n_features,
        n_classes,
        PowerFilter(k=2),
        hidden_size=None,
        filter_on="logits",
        generator=generator,
    )


# Settings as in the paper: the MLP is SGF without its filter, SGC learns at 0.01.
SYSTEMS = {
    system.name: system
    for system in (
        System("sgf", "SGF (learned filter)", _sgf),
        System("mlp", "MLP (no graph)", _mlp),
        System("sgc", "SGC (low-pass)", _sgc, config=replace(TrainConfig(), learning_rate=0.01)),
    )
}


@dataclass(frozen=True, eq=False)
class Comparison:
    """What the runs of one system on one graph gave."""

    system: System
    accuracies: NDArray[np.float64]
    networks: list[FilterNetwork]
    results: list[FitResult]


def compare(
    graph: Graph,
    system: System,
    splits: Sequence[Split],
    *,
    scaling: str = "auto",
    device: str = "cpu",
    on_epoch: Callable[[Progress], None] | None = None,
) -> Comparison:
    """Train a system on every split, side by side; run r has seed r. Score it on the test parts."""
    if graph.features is None or graph.labels is None:
        raise GraphError("a graph to compare systems on must have features and labels.")
    seeds = range(len(splits))
    x: Any = FeatureScaler.fit(graph.features, scaling).transform(graph.features)
    x = to_tensor(x, device=device)
    operator = make_operator(system.operator, graph, device=device)
    labels = torch.tensor(graph.labels, device=device)
    networks = [
        system.build(graph.n_features, graph.n_classes, torch.Generator().manual_seed(seed)).to(
            device
        )
        for seed in seeds
    ]
    results = train(
        networks, operator, x, labels, splits, system.config, seeds=list(seeds), on_epoch=on_epoch
    )
    accuracies = []
    for network, result, split in zip(networks, results, splits, strict=True):
        network.load_state_dict(result.state)
        network.eval()
        with torch.no_grad():
            predicted = network(operator, x).argmax(dim=1).cpu().numpy()
        accuracies.append((predicted == graph.labels)[split.test].mean())
    return Comparison(system, np.array(accuracies), networks, results)
