"""The networks of one system: trained, and asked for predictions.

Networks of several splits and seeds are trained together. They predict in memory, or block by block
where the answers of all vertices would not fit.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter import models
from graphfilter.filters import Filter
from graphfilter.models.relations import told
from graphfilter.models.views import find_view
from graphfilter.operators import Operator, SparseFeatures, to_tensor
from graphfilter.splits import Split
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.system import System
from graphfilter.tables.columns import Features
from graphfilter.training import REGRESSION, Callback, FitResult, runs_in_a_cohort
from graphfilter.training.callbacks import SILENT
from graphfilter.training.loop import Training, multiplications
from graphfilter.training.tasks import Lesson
from graphfilter.util.files import scratch_folder
from graphfilter.util.machine import blocks, threads_for
from graphfilter.util.records import RowsFile

__all__ = ["Outcome", "predict_networks"]

# Vertices whose logits become answers at a time, and columns that are filtered at a time.
ROWS_AT_ONCE, COLUMNS_AT_ONCE = 1 << 13, 16


def _rows(x: Tensor | SparseFeatures, rows: NDArray[np.int64]) -> Tensor | SparseFeatures:
    if isinstance(x, Tensor):
        return x[torch.from_numpy(rows).to(x.device)]
    return to_tensor(sp.csr_array(x.to_scipy()[rows]), device=str(x.device))


@contextmanager
def own_torch_state(*, gradients: bool) -> Generator[None]:
    """Compute in float32 by default, outside inference mode, with or without gradients.

    Whoever calls us may be under ``torch.no_grad()``, ``torch.inference_mode()`` or a default type
    of float64; none of that may change what is trained or predicted.
    """
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.inference_mode(False), torch.set_grad_enabled(gradients):
            yield
    finally:
        torch.set_default_dtype(before)


def predict_networks(
    prepared: Prepared,
    system: System,
    networks: Sequence[models.Network[Any]],
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
    >>> clf = gf.SGFClassifier(max_epochs=5, random_state=0).fit(graph=g)
    >>> (again,) = gf.systems.predict_networks(clf.prepared_, clf.system_, clf.members_)
    >>> bool((again == clf.predict_proba()).all())
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
    network: models.Network[Any],
    write: Callable[[NDArray[np.float64]], None],
    folder: Path,
) -> None:
    """Pass the outputs of a network for every vertex to ``write``, block by block.

    The answers of all vertices are never in memory. Neither are the logits of one filter, which are
    put in files in ``folder``.
    """
    # Not of a class that is derived from it, whose forward is another.
    in_blocks = type(network) is models.FilterNetwork and network.eval().filters_logits()
    ready = _Ready.of(prepared, system, [network], first=ROWS_AT_ONCE if in_blocks else None)
    with (
        own_torch_state(gradients=False),
        threads_for(ready.work),
        scratch_folder("columns-", folder) as scratch,
    ):
        if in_blocks:
            groups = _filter_in_blocks(ready, scratch)
        else:
            logits = ready.networks[0].eval()(ready.operator, ready.x, None)
            groups = iter(logits.split(ROWS_AT_ONCE))
        for some in groups:
            write(prepared.task.answers(some.double()).cpu().numpy())


def _filter_in_blocks(ready: _Ready, folder: Path) -> Iterator[Tensor]:
    """Yield the logits of a filter that runs after the head; some columns are in memory."""
    network, operator, first = ready.networks[0].eval(), ready.operator, ready.x
    assert isinstance(network, models.FilterNetwork)
    n, n_columns = operator.n, network.head.weight.shape[1]
    groups = blocks(n, ROWS_AT_ONCE)
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
    networks: Sequence[models.Network[Any]]
    work: int

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        system: System,
        networks: Sequence[models.Network[Any]],
        *,
        first: int | None = None,
    ) -> _Ready:
        """Make ready; ``x`` is of the ``first`` so many vertices, where that is given."""
        kept = networks[0].kept_view() if isinstance(networks[0], models.Fitted) else None
        seen = prepared.seen_as(system.view, kept)
        operator = seen.operator(system.operator)
        if prepared.known is not None:
            networks = [network.recognising(prepared.known.numbers) for network in networks]
        x = seen.inputs(system) if first is None else seen.rows(slice(first))
        work = multiplications(networks, operator, x)
        if seen.task is REGRESSION and isinstance(x, Tensor):
            # Numbers are read to more digits than float32 gives alike for one vertex and for many.
            operator = operator.to(dtype=torch.float64)
            # Hops may be larger than memory: the network converts those it reads.
            x = x if x.ndim == 3 else x.double()
            networks = [copy.deepcopy(network).double() for network in networks]
        return cls(seen, operator, x, networks, work)


@dataclass(frozen=True, eq=False)
class Request:
    """A system to be trained on a prepared graph, once per split and seed.

    ``class_weight`` is an array (n_classes,). ``of_past``
    says that the prepared graph is the past of the one that is answered for.
    """

    prepared: Prepared
    system: System
    splits: Sequence[Split]
    seeds: Sequence[int]
    class_weight: NDArray[np.float64] | None = None
    callback: Callback = SILENT
    of_past: bool = False

    def only(self, s: int) -> Request:
        """Return what is trained on one of the splits."""
        return replace(self, splits=[self.splits[s]], seeds=[self.seeds[s]])


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
    network: models.Network[Any]
    result: FitResult
    probabilities: NDArray[np.float64]
    seconds: float
    side_by_side: int

    @property
    def n_epochs(self) -> int:
        return self.result.n_epochs


def train_networks(request: Request) -> list[Outcome]:
    """Train one network per split and seed, and predict every vertex with its best weights."""
    with own_torch_state(gradients=True):
        if request.system.is_fitted:  # There is nothing to be resumed.
            return [fit_rows(request.only(s)) for s in range(len(request.splits))]
        training = begin_networks(request)
        training.advance(request.system.config.max_epochs)
        return outcomes_of(request, training)


def begin_networks(request: Request) -> Training:
    """Return the training of a system's networks before their first epoch, or where it was left."""
    prepared, system, weight = request.prepared, request.system, request.class_weight
    seen, device = prepared.seen_as(system.view), prepared.device
    operator, x = prepared.operator(system.operator), seen.inputs(system)
    targets = prepared.labels if prepared.targets is None else prepared.targets
    networks = [system.build(seen.graph, seed).to(device) for seed in request.seeds]
    if networks[0].config.recognises:
        # They are told what is known of their training vertices.
        known = targets
        if prepared.targets is None:
            known = np.arange(prepared.graph.n_classes) == prepared.labels[:, None]
        told = torch.tensor(known, dtype=torch.float32, device=device)
        for network, split in zip(networks, request.splits, strict=True):
            network.tell(told, torch.tensor(split.train, device=device))
    of_class, own = (
        None if given is None else torch.tensor(given, dtype=torch.float32, device=device)
        for given in (weight, prepared.weights)
    )
    learned = torch.tensor(targets, device=device)
    lesson = Lesson(operator, x, learned, of_class, prepared.task, own)
    splits, seeds = request.splits, request.seeds
    return Training(networks, lesson, splits, system.config, seeds, request.callback)


def outcomes_of(request: Request, training: Training) -> list[Outcome]:
    """Return the outputs of every run with its best weights so far."""
    results = training.results()
    if training.ended:
        training.forget()
    # Those that train on keep their last weights.
    networks = training.models if training.ended else copy.deepcopy(training.models)
    for network, result in zip(networks, results, strict=True):
        network.load_state_dict(result.state)
    predicted = predict_networks(request.prepared, request.system, networks)
    n_epochs = max(sum(result.n_epochs for result in results), 1)
    side_by_side = int(min(runs_in_a_cohort(training.lesson.operator), len(networks)))
    return [
        Outcome(
            request.system,
            network,
            result,
            outputs,
            result.seconds * result.n_epochs / n_epochs,
            side_by_side if isinstance(network, models.SideBySide) else 1,
        )
        for network, result, outputs in zip(networks, results, predicted, strict=True)
    ]


def fit_rows(request: Request, earlier: models.Fitted[Any] | None = None) -> Outcome:
    """Fit a model without epochs to the training vertices of a split.

    One that was fitted ``earlier`` is fitted once more, to validation vertices too, as they have
    chosen it.
    """
    prepared, system, started = request.prepared, request.system, time.perf_counter()
    (split,), (seed,), targets = request.splits, request.seeds, learned_targets(request.prepared)
    rows = split.train if earlier is None else np.sort(np.concatenate([split.train, split.val]))
    seen = _seen_by(prepared, system, targets, rows)
    columns, weight = rows_of(seen), prepared.weigh(rows, request.class_weight)
    with threads_for(columns.shape[0] * columns.shape[1]):
        if earlier is not None:
            network = earlier.fitted_to_all(columns[rows], targets[rows], weight, seed)
        else:
            # What computes with torch does so where its empty buffers are.
            network = system.build(seen.graph, seed).to(prepared.device)
            assert isinstance(network, models.Fitted)
            val = columns[split.val], targets[split.val]
            network.fit(columns[rows], targets[rows], sample_weight=weight, seed=seed, val=val)
        network.keep_view(seen.found)
    return fitted_outcome(prepared, system, network, started)


def fitted_outcome(
    prepared: Prepared, system: System, network: models.Fitted[Any], started: float
) -> Outcome:
    """Return the outcome of a model without epochs that has been fitted."""
    (probabilities,) = predict_networks(prepared, system, [network])
    seconds = time.perf_counter() - started
    state = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    result = FitResult(state, {"loss": np.zeros(0)}, 0, "fitted", seconds)
    return Outcome(system, network, result, probabilities, seconds, 1)


def _seen_by(
    prepared: Prepared, system: System, targets: NDArray[Any], rows: NDArray[np.int64]
) -> Prepared:
    """Return the graph as a model without epochs sees it, maybe told of some vertices."""
    if system.model is None or not system.model.recognises:
        return prepared.seen_as(system.view)
    found = find_view(prepared.graph, prepared.scaled(), system.view)
    return prepared.seen_as(system.view, {**found, **told(targets, rows, prepared.graph.n_classes)})


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


def learned_filters(networks: Sequence[models.Network[Any]]) -> list[Filter]:
    """Return the main filters of those networks that have one."""
    found = (network.main_filter() for network in networks)
    return [one for one in found if one is not None]
