"""Runs of one system on one graph: trained side by side where their columns can be joined."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphfilter.errors import GraphError
from graphfilter.graph import Graph
from graphfilter.graph.scaling import FeatureScaler
from graphfilter.models import FilterNetwork, SideBySide
from graphfilter.operators import make_operator, to_tensor
from graphfilter.operators.sparse import SparseFeatures
from graphfilter.runtime.threads import threads_for
from graphfilter.splits import Split
from graphfilter.systems import System
from graphfilter.training import Progress, TrainConfig, runs_in_a_cohort, train
from graphfilter.training.loop import multiplications
from graphfilter.training.run import FitResult

OnEpoch = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class Inputs:
    """A graph's features and labels, scaled and on their device."""

    graph: Graph
    x: Tensor | SparseFeatures
    labels: Tensor
    device: str

    @classmethod
    def of(cls, graph: Graph, *, scaling: str = "auto", device: str = "cpu") -> Self:
        if graph.features is None or graph.labels is None:
            raise GraphError(
                f"{graph.name} must have features and labels to train on; it has no "
                f"{'features' if graph.features is None else 'labels'}."
            )
        scaled = FeatureScaler.fit(graph.features, scaling).transform(graph.features)
        labels = torch.tensor(graph.labels, device=device)
        return cls(graph, to_tensor(scaled, device=device), labels, device)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one run ended with: its best network, and what it says of every vertex.

    ``seconds`` is its share, by epochs, of the time of all the runs; ``side_by_side`` of them at a
    time shared their tensors.
    """

    network: nn.Module
    result: FitResult
    probabilities: NDArray[np.float64]
    seconds: float
    side_by_side: int


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
    on_epoch: OnEpoch | None = None,
) -> Comparison:
    """Train a system on every split; run r has seed r. Score it on the test parts."""
    inputs = Inputs.of(graph, scaling=scaling, device=device)
    outcomes = train_runs(inputs, system, splits, range(len(splits)), on_epoch=on_epoch)
    right = [outcome.probabilities.argmax(axis=1) == graph.labels for outcome in outcomes]
    return Comparison(
        system,
        np.array([r[split.test].mean() for r, split in zip(right, splits, strict=True)]),
        [outcome.network for outcome in outcomes],
        [outcome.result for outcome in outcomes],
    )


def build_network(system: System, graph: Graph, seed: int) -> nn.Module:
    """Make a system's untrained network, its weights drawn from ``seed``."""
    if system.build is None:
        raise GraphError(f"{system.name} must be a system that is trained; it only predicts.")
    return system.build(graph, torch.Generator().manual_seed(seed))


def train_runs(
    inputs: Inputs,
    system: System,
    splits: Sequence[Split],
    seeds: Sequence[int],
    config: TrainConfig | None = None,
    *,
    on_epoch: OnEpoch | None = None,
) -> list[Outcome]:
    """Train one network a split; side by side where the system can, else one after the other."""
    networks = [build_network(system, inputs.graph, seed) for seed in seeds]
    together = all(isinstance(network, SideBySide) for network in networks)
    size = len(networks) if together else 1
    outcomes = []
    for start in range(0, len(networks), size):
        part = slice(start, start + size)
        outcomes += train_networks(
            inputs,
            system.operator,
            networks[part],
            splits[part],
            seeds[part],
            config or system.config_for(inputs.graph),
            on_epoch=on_epoch,
        )
    return outcomes


def train_networks(
    inputs: Inputs,
    operator_kind: str,
    networks: Sequence[nn.Module],
    splits: Sequence[Split],
    seeds: Sequence[int],
    config: TrainConfig,
    *,
    on_epoch: OnEpoch | None = None,
) -> list[Outcome]:
    """Train these networks at once, and predict every vertex with the best weights of each."""
    operator = make_operator(operator_kind, inputs.graph, device=inputs.device)
    networks = [network.to(inputs.device) for network in networks]
    results = train(
        networks, operator, inputs.x, inputs.labels, splits, config, seeds=seeds, on_epoch=on_epoch
    )
    n_epochs = sum(result.n_epochs for result in results)
    outcomes = []
    for network, result in zip(networks, results, strict=True):
        network.load_state_dict(result.state)
        network.eval()
        with torch.no_grad(), threads_for(multiplications([network], operator, inputs.x)):
            logits = network(operator, inputs.x, None)
        outcomes.append(
            Outcome(
                network,
                result,
                logits.double().softmax(dim=1).cpu().numpy(),
                result.seconds * result.n_epochs / n_epochs,
                int(min(runs_in_a_cohort(operator), len(networks))),
            )
        )
    return outcomes


def predict_once(
    system: System, graph: Graph, split: Split, scaling: str
) -> tuple[NDArray[np.float64], float]:
    """Ask a system that is not trained by gradients; return probabilities and seconds."""
    assert system.predict is not None
    if graph.features is not None:
        scaled = FeatureScaler.fit(graph.features, scaling).transform(graph.features)
        graph = graph.replace(features=scaled)
    started = time.perf_counter()
    probabilities = system.predict(graph, split)
    return np.asarray(probabilities, dtype=np.float64), time.perf_counter() - started


def describe_network(network: nn.Module) -> dict[str, Any]:
    """Return the scalars that tell a network from others of its kind, whatever the dataset."""
    of_data = {"training", "n_features", "n_classes", "in_channels", "out_channels"}
    found: dict[str, Any] = {"kind": type(network).__name__}
    found |= {
        name: value
        for name, value in vars(network).items()
        if isinstance(value, str | int | float) and name not in of_data and name[0] != "_"
    }
    if isinstance(network, FilterNetwork):
        found["filter"] = repr(network.filter)
        found["hidden_size"] = network.encoder and network.encoder.weight.shape[1]
    return found


def learned_scalars(network: nn.Module) -> dict[str, Any]:
    """Return the filter's learned scalars by name; none without a filter."""
    if not isinstance(network, FilterNetwork):
        return {}
    return {name: p.detach().cpu().tolist() for name, p in network.filter.named_parameters()}
