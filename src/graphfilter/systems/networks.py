"""Training the networks of one system, and predicting with them."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.graph import Features
from graphfilter.models import (
    FilterNetwork,
    Fitted,
    HopNetwork,
    HopNetworkConfig,
    Network,
    SideBySide,
)
from graphfilter.operators import Operator, SparseFeatures, to_tensor
from graphfilter.runtime import own_torch_state, threads_for
from graphfilter.splits import Split
from graphfilter.storage import RowsFile, scratch_folder
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.request import Request
from graphfilter.systems.start import PATIENCE_PART
from graphfilter.systems.system import System
from graphfilter.training import (
    ASKED,
    REGRESSION,
    FitResult,
    OnEpoch,
    Run,
    Training,
    multiplications,
    runs_in_a_cohort,
)

# Vertices whose logits become answers at a time, and columns that are filtered at a time.
ROWS_AT_ONCE, COLUMNS_AT_ONCE = 1 << 13, 16


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
    networks.advance(request.system.config.max_epochs, request.on_epoch)
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
            config, start = system.config, request.start
            n_begun = 0 if start is None else start.begin(prepared, system, self._networks)
            if n_begun == len(self._networks):
                config = replace(config, patience=max(config.patience // PATIENCE_PART, 1))
            self._training = Training(
                self._networks,
                self._operator,
                inputs_of(seen, system),
                torch.tensor(targets, device=device),
                request.splits,
                config,
                seeds=request.seeds,
                class_weight=None
                if weight is None
                else torch.tensor(weight, dtype=torch.float32, device=device),
                task=prepared.task,
                checkpoint=request.checkpoint,
                resume=request.resume,
            )

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

    def advance(self, until: int, on_epoch: OnEpoch | None = None) -> None:
        """Train to the end of an epoch, or of all runs."""
        with own_torch_state(gradients=True):
            self._training.advance(until, on_epoch)

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


def fit_at_once(request: Request) -> list[Outcome]:
    """Fit a model without epochs per split and seed: there is nothing to be resumed."""
    pairs = zip(request.splits, request.seeds, strict=True)
    return [_fit_at_once(request, split, seed) for split, seed in pairs]


def _fit_at_once(request: Request, split: Split, seed: int) -> Outcome:
    """Fit a model without epochs to the training vertices of a split."""
    prepared, system, weight = request.prepared, request.system, request.class_weight
    started = time.perf_counter()
    seen = prepared.seen_as(system.view)
    network = system.build(seen.graph, seed)
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


def inputs_of(prepared: Prepared, system: System) -> Tensor | SparseFeatures:
    """Return what the networks of a system read of a graph that is prepared with its view."""
    if isinstance(system.model, HopNetworkConfig):
        return prepared.hops(system.operator, system.model.n_hops)
    return prepared.x


def learned_targets(prepared: Prepared) -> NDArray[Any]:
    """Return what a model without epochs learns: class numbers, labels as bool, or numbers."""
    if prepared.targets is None:
        return prepared.labels
    if prepared.task is REGRESSION:
        return prepared.targets.astype(np.float64)
    return prepared.targets > 0.5


def _rows(x: Tensor | SparseFeatures, rows: NDArray[np.int64]) -> Tensor | SparseFeatures:
    if isinstance(x, Tensor):
        return x[torch.from_numpy(rows).to(x.device)]
    return to_tensor(sp.csr_array(x.to_scipy()[rows]), device=str(x.device))


def predict_networks(
    prepared: Prepared,
    system: System,
    networks: Sequence[Network[Any]],
    *,
    rows: NDArray[np.int64] | None = None,
) -> list[NDArray[np.float64]]:
    """Return the outputs of each network for every vertex: class probabilities (n, n_classes).

    Of another task, the probability of every label, or values. Of some vertices only where ``rows``
    are given.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> prepared = gf.systems.Prepared.of(g)
    >>> system = gf.systems.get_system("sgf").with_(max_epochs=5)
    >>> split = gf.splits.stratified(g.labels, seed=0)
    >>> (outcome,) = gf.systems.train_system(prepared, system, [split], seeds=[0])
    >>> (again,) = gf.systems.predict_networks(prepared, system, [outcome.network])
    >>> bool((again == outcome.probabilities).all())
    True
    """
    ready = _Ready.of(prepared, system, networks)
    x, asked = ready.x, slice(None)
    if rows is not None and system.is_fitted:  # Its answers depend on the row alone.
        x = _rows(x, rows)
    elif rows is not None:
        asked = torch.from_numpy(rows).to(prepared.device)
    predicted = []
    with own_torch_state(gradients=False), threads_for(ready.work):
        for network in ready.networks:
            logits = network.eval()(ready.operator, x, None)
            own = logits.double()[asked]
            predicted.append(prepared.task.answers(own).cpu().numpy())
    return predicted


def predict_into(
    prepared: Prepared,
    system: System,
    network: Network[Any],
    write: Callable[[NDArray[np.float64]], None],
    folder: Path,
) -> None:
    """Pass the outputs of a network for every vertex to ``write``, block by block.

    The answers of all vertices are never in memory. Neither are the logits of a network that reads
    vertices one by one, nor those of one filter, which are put in files in ``folder``.
    """
    # Not of a class that is derived from it, whose forward is another.
    in_blocks = type(network) is FilterNetwork and network.eval().filters_logits()
    ready = _Ready.of(prepared, system, [network], first=ROWS_AT_ONCE if in_blocks else None)
    with (
        own_torch_state(gradients=False),
        threads_for(ready.work),
        scratch_folder("columns-", folder) as scratch,
    ):
        groups = _filter_in_blocks(ready, scratch) if in_blocks else _logits_in_groups(ready)
        for logits in groups:
            write(prepared.task.answers(logits.double()).cpu().numpy())


def _logits_in_groups(ready: _Ready) -> Iterator[Tensor]:
    network, x = ready.networks[0].eval(), ready.x
    if isinstance(network, HopNetwork) and isinstance(x, Tensor) and x.ndim == 3:
        for start in range(0, len(x), ROWS_AT_ONCE):
            yield network.rows(x[start : start + ROWS_AT_ONCE])
        return
    yield from network(ready.operator, x, None).split(ROWS_AT_ONCE)


def _filter_in_blocks(ready: _Ready, folder: Path) -> Iterator[Tensor]:
    """Yield the logits of a filter that runs after the head; some columns are in memory."""
    network, operator, first = ready.networks[0].eval(), ready.operator, ready.x
    assert isinstance(network, FilterNetwork)
    n, n_columns = operator.n, network.head.weight.shape[1]
    groups = [slice(start, min(start + ROWS_AT_ONCE, n)) for start in range(0, n, ROWS_AT_ONCE)]
    plain, filtered = RowsFile(folder / "plain"), []
    for rows in groups:
        x = ready.seen.rows(rows)
        x = x.to(first.dtype) if isinstance(x, Tensor) and isinstance(first, Tensor) else x
        logits = network.unfiltered_logits(x)
        plain.append(logits.cpu().numpy())
    # Compiled code takes room for as many columns, whatever it is given.
    width = COLUMNS_AT_ONCE if operator.dtype == torch.float32 else min(COLUMNS_AT_ONCE, n_columns)
    for start in range(0, n_columns, width):
        columns = torch.zeros(n, width, dtype=operator.dtype)
        for rows in groups:
            own = plain[rows][:, start : start + width]
            columns[rows, : own.shape[1]] = torch.from_numpy(own)
        columns = network.filter(operator, columns.to(operator.device))
        filtered.append(RowsFile(folder / str(start)))
        for rows in groups:
            filtered[-1].append(columns[rows, : n_columns - start].cpu().numpy())
    bias = 0.0 if network.filters_bias else network.head.bias
    for rows in groups:
        logits = np.concatenate([columns[rows] for columns in filtered], axis=1)
        yield torch.from_numpy(logits).to(network.head.bias) + bias


@dataclass(frozen=True, eq=False)
class _Ready:
    """Networks of a system and what they read of a graph, in the precision of the task."""

    seen: Prepared
    operator: Operator
    x: Tensor | SparseFeatures
    networks: Sequence[Network[Any]]
    work: int

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        system: System,
        networks: Sequence[Network[Any]],
        *,
        first: int | None = None,
    ) -> _Ready:
        """Make ready; ``x`` is of the ``first`` so many vertices, where that is given."""
        kept = networks[0].kept_view() if isinstance(networks[0], Fitted) else None
        seen = prepared.seen_as(system.view, kept)
        operator = seen.operator(system.operator)
        x = inputs_of(seen, system) if first is None else seen.rows(slice(first))
        work = multiplications(networks, operator, x)
        if seen.task is REGRESSION and isinstance(x, Tensor):
            # Numbers are read to more digits than float32 gives alike for one vertex and for many.
            operator = operator.to(dtype=torch.float64)
            # Hops may be larger than memory: the network converts those it reads.
            x = x if x.ndim == 3 else x.double()
            networks = [copy.deepcopy(network).double() for network in networks]
        return cls(seen, operator, x, networks, work)
