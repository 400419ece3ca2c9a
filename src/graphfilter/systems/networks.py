"""Training the networks of one system."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.graph import Features
from graphfilter.models import (
    Fitted,
    Network,
    SideBySide,
)
from graphfilter.runtime import own_torch_state, threads_for
from graphfilter.splits import Split
from graphfilter.systems.predicting import inputs_of, predict_networks
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.request import Request
from graphfilter.systems.start import PATIENCE_PART
from graphfilter.systems.system import System
from graphfilter.training import (
    ASKED,
    REGRESSION,
    FitResult,
    Run,
    Training,
    TrainRequest,
    runs_in_a_cohort,
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of one run: its best network, and its outputs for every vertex.

    ``seconds`` is its share, by epochs, of the time of all the runs; ``side_by_side`` of them at a
    time shared their tensors.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> prepared = gf.systems.Prepared.of(g)
    >>> system = gf.systems.get_system("sgf").with_(max_epochs=5)
    >>> split = gf.splits.stratified(g.labels, seed=0)
    >>> (outcome,) = gf.systems.train_system(prepared, system, [split], seeds=[0])
    >>> outcome.n_epochs, outcome.result.stopped
    (5, 'max_epochs')
    """

    system: System
    network: Network[Any]
    result: FitResult
    probabilities: NDArray[np.float64]
    seconds: float
    side_by_side: int

    @property
    def n_epochs(self) -> int:
        return self.result.n_epochs


def train_networks(request: Request) -> list[Outcome]:
    """Train one network per split and seed, and predict every vertex with its best weights."""
    if request.system.is_fitted:
        return fit_at_once(request)
    networks = NetworkTraining(request)
    networks.advance(request.system.config.max_epochs)
    return networks.outcomes()


class NetworkTraining:
    """The networks of one system while they are trained, in rounds.

    :func:`train_networks` is one round of all epochs.
    """

    def __init__(self, request: Request) -> None:
        prepared, system, weight = request.prepared, request.system, request.class_weight
        seen, device = prepared.seen_as(system.view), prepared.device
        targets = prepared.labels if prepared.targets is None else prepared.targets
        self.prepared, self.system = prepared, system
        self._ended: list[Outcome] | None = None
        self._operator = prepared.operator(system.operator)
        with own_torch_state(gradients=True):
            self._networks = [system.build(seen.graph, seed).to(device) for seed in request.seeds]
            _tell(prepared, self._networks, request.splits)
            config, start = system.config, request.start
            n_begun = 0 if start is None else start.begin(prepared, system, self._networks)
            if n_begun == len(self._networks):
                config = replace(config, patience=max(config.patience // PATIENCE_PART, 1))
            wanted = TrainRequest(
                self._networks,
                self._operator,
                inputs_of(seen, system),
                torch.tensor(targets, device=device),
                request.splits,
                config,
                request.seeds,
                None
                if weight is None
                else torch.tensor(weight, dtype=torch.float32, device=device),
                prepared.task,
            )
            self._training = Training(wanted, request.callback)

    @property
    def runs(self) -> Sequence[Run]:
        """The state of every run."""
        return self._training.runs

    @property
    def ended(self) -> bool:
        return self._training.ended

    @property
    def ended_by_themselves(self) -> bool:
        return self.ended and not any(run.stopped == ASKED for run in self.runs)

    def advance(self, until: int) -> None:
        """Train to the end of an epoch, or of all runs."""
        with own_torch_state(gradients=True):
            self._training.advance(until)

    def stop(self, runs: Iterable[int], why: str) -> None:
        """Stop runs that train; their checkpoint says so."""
        self._training.stop(runs, why)

    def outcomes(self) -> list[Outcome]:
        """Return the outputs of every run with its best weights so far."""
        if self._ended is None:
            found = self._outcomes()
            if not self.ended:
                return found
            self._ended = found
        return self._ended

    def _outcomes(self) -> list[Outcome]:
        results = self._training.results()
        if self.ended:
            self._training.forget()
        # Those that train on keep their last weights.
        networks = self._networks if self.ended else copy.deepcopy(self._networks)
        for network, result in zip(networks, results, strict=True):
            network.load_state_dict(result.state)
        probabilities = predict_networks(self.prepared, self.system, networks)
        n_epochs = max(sum(result.n_epochs for result in results), 1)
        side_by_side = int(min(runs_in_a_cohort(self._operator), len(networks)))
        return [
            Outcome(
                self.system,
                network,
                result,
                predicted,
                result.seconds * result.n_epochs / n_epochs,
                side_by_side if isinstance(network, SideBySide) else 1,
            )
            for network, result, predicted in zip(networks, results, probabilities, strict=True)
        ]


def _tell(prepared: Prepared, networks: Sequence[Network[Any]], splits: Sequence[Split]) -> None:
    """Tell networks what is known of their training vertices, where they make use of it."""
    if not networks[0].config.recognises:
        return
    if prepared.targets is None:
        targets = np.arange(prepared.graph.n_classes) == prepared.labels[:, None]
    else:
        targets = prepared.targets
    known = torch.tensor(targets, dtype=torch.float32, device=prepared.device)
    for network, split in zip(networks, splits, strict=True):
        network.tell(known, torch.tensor(split.train, device=prepared.device))


def fit_at_once(request: Request) -> list[Outcome]:
    """Fit a model without epochs per split and seed: there is nothing to be resumed."""
    pairs = zip(request.splits, request.seeds, strict=True)
    return [_fit_at_once(request, split, seed) for split, seed in pairs]


def _fit_at_once(request: Request, split: Split, seed: int) -> Outcome:
    """Fit a model without epochs to the training vertices of a split."""
    prepared, system, weight = request.prepared, request.system, request.class_weight
    started = time.perf_counter()
    seen = prepared.seen_as(system.view)
    # What computes with torch does so where its empty buffers are; what is learned is kept here.
    network = system.build(seen.graph, seed).to(prepared.device)
    assert isinstance(network, Fitted)
    rows = rows_of(seen)
    targets = learned_targets(prepared)[split.train]
    with threads_for(rows.shape[0] * rows.shape[1]):
        network.fit(
            rows[split.train],
            targets,
            sample_weight=None if weight is None else weight[targets],
            seed=seed,
        )
    network.keep_view(seen.found)
    (probabilities,) = predict_networks(prepared, system, [network])
    seconds = time.perf_counter() - started
    state = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    result = FitResult(state, {"loss": np.zeros(0)}, 0, "fitted", seconds)
    return Outcome(system, network, result, probabilities, seconds, 1)


def rows_of(seen: Prepared) -> Features:
    """Return the columns of a view as rows that a model without epochs is fitted to."""
    return seen.x.cpu().numpy() if isinstance(seen.x, Tensor) else seen.x.to_scipy()


def learned_targets(prepared: Prepared) -> NDArray[Any]:
    """Return what a model without epochs learns: class numbers, labels as bool, or numbers."""
    if prepared.targets is None:
        return prepared.labels
    if prepared.task is REGRESSION:
        return prepared.targets.astype(np.float64)
    return prepared.targets > 0.5
