"""The one pipeline: prepare a graph, train a system on it, predict every vertex.

Estimators, benchmarks, baselines, the studio and the demo all come through here.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.errors import GraphError
from graphfilter.filters import Filter
from graphfilter.graph import Graph
from graphfilter.graph.scaling import FeatureScaler
from graphfilter.models import Network, SideBySide
from graphfilter.operators import Operator, SparseFeatures, make_operator, to_tensor
from graphfilter.runtime.threads import threads_for
from graphfilter.runtime.torch_state import own_torch_state
from graphfilter.splits import Split
from graphfilter.systems.system import System
from graphfilter.training import (
    CLASSIFICATION,
    FitResult,
    OnEpoch,
    Task,
    runs_in_a_cohort,
    train,
)
from graphfilter.training.loop import multiplications


@dataclass(frozen=True, eq=False)
class Prepared:
    """A graph ready for training and prediction: scaled features, on a device, and operators.

    Everything is made once: features when it is prepared, each kind of operator when it is first
    asked for. What is learned is the labels' classes, or ``targets`` (n, T) of another task; the
    graph's classes then name these.
    """

    graph: Graph
    scaler: FeatureScaler
    x: Tensor | SparseFeatures
    device: str
    task: Task = CLASSIFICATION
    targets: NDArray[np.float32] | None = None
    _operators: dict[str, Operator] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        graph: Graph,
        *,
        scaling: str | FeatureScaler = "auto",
        device: str = "cpu",
        task: Task = CLASSIFICATION,
        targets: NDArray[np.float32] | None = None,
    ) -> Self:
        """Prepare a graph with features.

        Parameters
        ----------
        scaling : str or FeatureScaler
            How to scale the features, or a scaler that was fitted on another graph.
        task, targets : Task and array (n, T), optional
            What to learn where it is not the labels' classes.
        """
        if graph.features is None:
            raise GraphError(f"{graph.name} must have features to train on; it has no features.")
        fitted = isinstance(scaling, FeatureScaler)
        scaler = scaling if fitted else FeatureScaler.fit(graph.features, scaling)
        x = to_tensor(scaler.transform(graph.features), device=device)
        return cls(graph, scaler, x, device, task, targets)

    def operator(self, kind: str) -> Operator:
        """Return the operator of this kind, made when it is first asked for."""
        if kind not in self._operators:
            self._operators[kind] = make_operator(kind, self.graph, device=self.device)
        return self._operators[kind]

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class numbers of the vertices, -1 where unknown."""
        if self.graph.labels is None:
            raise GraphError(f"{self.graph.name} must have labels to train on; it has no labels.")
        return self.graph.labels


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one run ended with: its best network, and what it says of every vertex.

    ``seconds`` is its share, by epochs, of the time of all the runs; ``side_by_side`` of them at a
    time shared their tensors.
    """

    network: Network[Any]
    result: FitResult
    probabilities: NDArray[np.float64]
    seconds: float
    side_by_side: int


def train_system(
    prepared: Prepared,
    system: System,
    splits: Sequence[Split],
    seeds: Sequence[int],
    *,
    class_weight: NDArray[np.float64] | None = None,
    on_epoch: OnEpoch | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> list[Outcome]:
    """Train one network per split and seed, and predict every vertex with its best weights.

    Parameters
    ----------
    class_weight : array (n_classes,), optional
    on_epoch, checkpoint, resume : as for :func:`graphfilter.training.train`
    """
    device = prepared.device
    with own_torch_state(gradients=True):
        networks = [system.build(prepared.graph, seed).to(device) for seed in seeds]
        operator = prepared.operator(system.operator)
        results = train(
            networks,
            operator,
            prepared.x,
            torch.tensor(
                prepared.labels if prepared.targets is None else prepared.targets, device=device
            ),
            splits,
            system.config,
            seeds=seeds,
            class_weight=None
            if class_weight is None
            else torch.tensor(class_weight, dtype=torch.float32, device=device),
            task=prepared.task,
            on_epoch=on_epoch,
            checkpoint=checkpoint,
            resume=resume,
        )
    for network, result in zip(networks, results, strict=True):
        network.load_state_dict(result.state)
    probabilities = predict_networks(prepared, system.operator, networks)
    n_epochs = max(sum(result.n_epochs for result in results), 1)
    side_by_side = int(min(runs_in_a_cohort(operator), len(networks)))
    return [
        Outcome(
            network,
            result,
            predicted,
            result.seconds * result.n_epochs / n_epochs,
            side_by_side if isinstance(network, SideBySide) else 1,
        )
        for network, result, predicted in zip(networks, results, probabilities, strict=True)
    ]


def predict_networks(
    prepared: Prepared, operator_kind: str, networks: Sequence[Network[Any]]
) -> list[NDArray[np.float64]]:
    """Return what each network says of every vertex: class probabilities (n, n_classes).

    Of another task, the probability of every label, or values.
    """
    operator = prepared.operator(operator_kind)
    predicted = []
    work = multiplications(networks, operator, prepared.x)
    with own_torch_state(gradients=False), threads_for(work):
        for network in networks:
            logits = network.eval()(operator, prepared.x, None)
            predicted.append(prepared.task.answers(logits.double()).cpu().numpy())
    return predicted


def predict_untrained(
    graph: Graph, system: System, split: Split
) -> tuple[NDArray[np.float64], float]:
    """Predict with a system that is not trained; return probabilities and seconds."""
    if system.predict is None:
        raise GraphError(f"{system.name} must be a method that is not trained; it is.")
    started = time.perf_counter()
    probabilities = system.predict(graph, split)
    return np.asarray(probabilities, dtype=np.float64), time.perf_counter() - started


def learned_filters(networks: Sequence[Network[Any]]) -> list[Filter]:
    """Return the main filters of those networks that have one."""
    found = (network.main_filter() for network in networks)
    return [one for one in found if one is not None]
