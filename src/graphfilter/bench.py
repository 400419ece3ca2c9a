"""Systems side by side, on the same graph, splits and loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from graphfilter.errors import GraphError
from graphfilter.features import FeatureScaler, to_tensor
from graphfilter.graph import Graph
from graphfilter.operators import make_operator
from graphfilter.runs import FitResult
from graphfilter.splits import Split
from graphfilter.systems import System
from graphfilter.training import Progress, train


@dataclass(frozen=True, eq=False)
class Comparison:
    """What the runs of one system on one graph gave."""

    system: System
    accuracies: NDArray[np.float64]
    networks: list[nn.Module]
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
    if graph.features is None or graph.labels is None or system.build is None:
        raise GraphError("comparing needs a graph with features and labels, and a trained system.")
    seeds = list(range(len(splits)))
    x = FeatureScaler.fit(graph.features, scaling).transform(graph.features)
    x = to_tensor(x, device=device)
    operator = make_operator(system.operator, graph, device=device)
    labels = torch.tensor(graph.labels, device=device)
    networks = [
        system.build(graph, torch.Generator().manual_seed(seed)).to(device) for seed in seeds
    ]
    results = train(
        networks, operator, x, labels, splits, system.config, seeds=seeds, on_epoch=on_epoch
    )
    accuracies = []
    for network, result, split in zip(networks, results, splits, strict=True):
        network.load_state_dict(result.state)
        network.eval()
        with torch.no_grad():
            predicted = network(operator, x, None).argmax(dim=1).cpu().numpy()
        accuracies.append((predicted == graph.labels)[split.test].mean())
    return Comparison(system, np.array(accuracies), networks, results)
