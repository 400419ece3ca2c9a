"""Cohorts: runs of one config that share tensors, as many as a cache holds.

TrainRequest: the networks to be trained, and all that decides what becomes of them.

The one training loop: one run or many side by side, stopped early, resumable to the bit.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from graphfilter.models import HopNetwork, Network, NormedNetwork, SideBySide
from graphfilter.operators import Operator, SparseFeatures
from graphfilter.operators.kernels.native_kernel import NativeKernel
from graphfilter.splits import Split
from graphfilter.training.callbacks import SILENT, Callback, Progress, callback_from
from graphfilter.training.checkpoint import FORMAT, Checkpoint
from graphfilter.training.epoch import BatchEpoch, Epoch
from graphfilter.training.optimizer import TrainConfig, make_optimizer
from graphfilter.training.run import FitResult, Run
from graphfilter.training.tasks import CLASSIFICATION, Task
from graphfilter.util.errors import ConfigError, GraphError
from graphfilter.util.machine import Pace, compiled_threads, threads_for

# Vertices of runs side by side on a CPU: more wait for memory, fewer for Python.
VERTICES_IN_CACHE = 4096


def runs_in_a_cohort(operator: Operator) -> float:
    """Return how many runs of one config share tensors: on a CPU, what fits a cache.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> gf.training.runs_in_a_cohort(gf.operators.adjacency(g)) >= 1
    True
    """
    if operator.device.type != "cpu":
        return math.inf
    return max(1, VERTICES_IN_CACHE // max(operator.n, 1))


def multiplications(
    models: Sequence[Network[Any]], operator: Operator, x: Tensor | SparseFeatures
) -> int:
    """Return the size of the largest product that torch computes, in sparse multiplications."""
    weights = [p for model in models for p in model.parameters() if p.ndim == 2]
    width = max((min(weight.shape) for weight in weights), default=1)
    if isinstance(first := models[0], HopNetwork):
        return first.config.batch_size * (first.config.n_hops + 1) * first.n_features * width // 16
    runs = int(min(runs_in_a_cohort(operator), len(models)))
    if isinstance(first, NormedNetwork):
        # Its layers are torch's products, each with a dozen passes over the rows.
        columns = first.config.hidden_size
        return runs * operator.n * first.n_parts * columns**2 // 4
    # A dense product does sixteen multiplications at a time.
    inputs = x.numel() // 16 if isinstance(x, Tensor) else 0
    rows = operator.n * width // 16
    if not (isinstance(first, SideBySide) and isinstance(operator.kernel, NativeKernel)):
        # Not compiled as a whole. A row is read and written besides its entries.
        rows = operator.kernel.matrix.n_entries + 4 * operator.n
        inputs = inputs if isinstance(x, Tensor) else len(x.values)
    return runs * width * max(rows, inputs)


def cohorts_of(
    members: list[int], models: Sequence[Network[Any]], operator: Operator
) -> list[list[int]]:
    """Divide runs into those that run side by side: networks of one config."""
    by_config: dict[object, list[int]] = {}
    for r in members:
        network = models[r]
        by_config.setdefault(network.config if isinstance(network, SideBySide) else r, []).append(r)
    cohorts = []
    for alike in by_config.values():
        size = int(min(runs_in_a_cohort(operator), len(alike)))
        cohorts += [alike[i : i + size] for i in range(0, len(alike), size)]
    return cohorts


@dataclass(frozen=True, eq=False)
class TrainRequest:
    """Networks to be trained, each on its split and from its seed: see :func:`train`."""

    models: Sequence[Network[Any]]
    operator: Operator
    x: Tensor | SparseFeatures
    labels: Tensor
    splits: Sequence[Split]
    config: TrainConfig
    seeds: Sequence[int]
    class_weight: Tensor | None = None
    task: Task = CLASSIFICATION

    @property
    def monitor(self) -> str:
        """The score that chooses the best epoch."""
        return self.task.resolve(self.config.monitor)

    def check(self) -> None:
        """Raise where there is nothing to learn from, or to choose the best epoch by."""
        models, splits, seeds, labels = self.models, self.splits, self.seeds, self.labels
        if not len(models) == len(splits) == len(seeds) >= 1:
            raise ConfigError(
                "there must be as many models as splits and seeds; "
                f"got {len(models)}, {len(splits)} and {len(seeds)}."
            )
        for split in splits:
            split.check(len(labels))
            if not len(split.train):
                raise GraphError("a split must have at least one training vertex; got none.")
            for part in (split.train, split.val):
                if not self.task.known(labels[torch.from_numpy(part.copy())]).all():
                    raise GraphError("training and validation vertices must be labelled.")
            validated = labels[torch.from_numpy(split.val.copy())]
            self.task.check(self.monitor, validated, self.class_weight)

    def fingerprint(self) -> str:
        """Name the runs by all that decides their course: setting, first weights, graph, features.

        Of a training that is resumed it must be the same.
        """
        operator, x = self.operator, self.x
        digest = hashlib.blake2b(digest_size=16)
        where = (operator.device.type, torch.__version__, FORMAT)
        digest.update(repr((asdict(self.config), list(self.seeds), operator, where)).encode())
        if self.task is not CLASSIFICATION:
            digest.update(repr(self.task).encode())
        for split in self.splits:
            for part in (split.train, split.val):
                digest.update(part.tobytes())
        tensors = [*(t for matrix in operator.factors() for t in matrix.tensors()), self.labels]
        tensors += x.tensors() if isinstance(x, SparseFeatures) else [x]
        for tensor in tensors if self.class_weight is None else [*tensors, self.class_weight]:
            digest.update(_content(tensor))
        for model in self.models:
            digest.update(repr(model.config).encode())
            for value in model.state_dict().values():
                digest.update(_content(value))
        return digest.hexdigest()


def _content(tensor: Tensor) -> memoryview | bytes:
    """Return the bytes of a tensor, where they lie: a large graph is not copied to be hashed."""
    if not tensor.numel():  # Its strides may be 0, which torch sees no bytes in.
        return b""
    return tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data


# Seconds until the first checkpoint: a run that is killed early can be resumed, too.
FIRST_CHECKPOINT = 1.0


def train(
    models: Sequence[Network[Any]],
    operator: Operator,
    x: Tensor | SparseFeatures,
    labels: Tensor,
    splits: Sequence[Split],
    config: TrainConfig = TrainConfig(),  # noqa: B008 - frozen
    *,
    seeds: Sequence[int],
    class_weight: Tensor | None = None,
    task: Task = CLASSIFICATION,
    callback: Callback | None = None,
    **earlier: Any,
) -> list[FitResult]:
    """Train each model on its split; those of one config run side by side.

    Run r gives what it gives when trained alone with the same seed, to rounding, and stops by
    itself. Same seed, same machine, same bits.

    Parameters
    ----------
    models : sequence of R networks
        Trained in place; the results hold copies of their best weights.
    operator, x : as the networks take them
        Of a :class:`~graphfilter.models.HopNetwork`, x may be its hops, in main memory or mapped.
    labels : int64 Tensor (n,)
        Class numbers, -1 where unknown; of another task its targets, as that says.
    splits : sequence of R splits
        An empty validation part means no early stopping and the last weights.
    seeds : sequence of R ints
        For each run's dropout.
    class_weight : Tensor (n_classes,), optional
        Weighs the training loss and the scores that choose the best weights.
    task : Task
        What the networks' outputs mean, and how they are scored.
    callback : Callback, optional
        Watches the training, may end it, and says where its state is kept. The arguments of
        0.2 (on_epoch, checkpoint, checkpoint_seconds, resume) are taken until 0.4.

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> operator = gf.operators.augmented_adjacency(g)
    >>> x = gf.operators.to_tensor(g.features)
    >>> network = gf.models.FilterNetwork(34, 2, gf.filters.StackedFilter())
    >>> split = gf.splits.stratified(g.labels, seed=0)
    >>> config = gf.training.TrainConfig(max_epochs=5)
    >>> labels = torch.tensor(g.labels)
    >>> (result,) = gf.training.train([network], operator, x, labels, [split], config, seeds=[0])
    >>> result.n_epochs, result.stopped
    (5, 'max_epochs')
    """
    request = TrainRequest(models, operator, x, labels, splits, config, seeds, class_weight, task)
    training = Training(request, callback_from(callback, earlier))
    if earlier:
        raise TypeError(f"train() takes no {next(iter(earlier))}.")
    training.advance(config.max_epochs)
    return training.results()


class Training:
    """A training that is driven in rounds; between them nothing but its state is held.

    The arguments are those of :func:`train`, which is one round of all epochs. Rounds do not change
    the result: it is the same to the bit as of one.
    """

    def __init__(self, request: TrainRequest, callback: Callback = SILENT) -> None:
        request.check()
        operator = request.operator
        self.request, self.config = request, request.config
        self._callback = callback
        self._pace = Pace(compiled_threads() if operator.device.type == "cpu" else 1)
        self.runs = [
            Run(
                model, split, request.labels, request.class_weight, monitor=request.monitor,
                patience=self.config.patience, patience_share=self.config.patience_share,
                task=request.task,
            )
            for model, split in zip(request.models, request.splits, strict=True)
        ]  # fmt: skip
        self._state = Checkpoint(
            runs=self.runs,
            optimizer=make_optimizer(request.models, self.config),
            generators=[torch.Generator(operator.device).manual_seed(s) for s in request.seeds],
            path=callback.checkpoint,
            key=request.fingerprint() if callback.checkpoint else "",
        )
        if callback.resume:
            self._state.load()

    @property
    def epoch(self) -> int:
        """How many epochs are done."""
        return self._state.epoch

    @property
    def ended(self) -> bool:
        """Whether no run trains any more."""
        stopped = not any(run.training for run in self.runs)
        return stopped or self.epoch >= self.config.max_epochs

    def advance(self, until: int) -> None:
        """Train to the end of an epoch, or of all runs; the state is then kept."""
        state = self._state
        started, before = time.perf_counter(), state.seconds
        saved = started + min(FIRST_CHECKPOINT - self._callback.checkpoint_seconds, 0.0)
        models, operator = self.request.models, self.request.operator
        work = multiplications(models, operator, self.request.x)
        members: list[int] = []
        epochs: list[Epoch | BatchEpoch] = []
        while state.epoch < until and not self.ended:
            state.epoch += 1
            training = [r for r, run in enumerate(self.runs) if run.training]
            if training != members:
                members = training
                parts = cohorts_of(members, models, operator)
                epochs = [self._make_epoch(part) for part in parts]
            turn = time.perf_counter()
            with threads_for(work, compiled=self._pace.threads):
                for epoch in epochs:
                    epoch()
            self._pace.took(time.perf_counter() - turn)
            state.seconds = before + time.perf_counter() - started
            due = time.perf_counter() - saved > self._callback.checkpoint_seconds
            if _after_epoch(state, self._callback, self.config.max_epochs, due=due):
                saved = time.perf_counter()
        # If stopped after training but before the results are saved, training need not be repeated.
        state.save()
        state.optimizer.zero_grad(set_to_none=True)

    def stop(self, runs: Iterable[int], why: str) -> None:
        """Stop runs that train: they keep their best weights so far. The state is kept."""
        for run in (self.runs[r] for r in runs):
            run.stopped = run.stopped or why
        self._state.save()

    def forget(self) -> None:
        """Let go of all that only more epochs would need; the runs have ended."""
        self._state.optimizer.state.clear()
        for run in self.runs:
            run.best.clear()

    def _make_epoch(self, part: Sequence[int]) -> Epoch | BatchEpoch:
        """Return the epoch of runs trained together: of batches, where vertices stand alone."""
        request, state, runs = self.request, self._state, [self.runs[r] for r in part]
        generators = [state.generators[r] for r in part]
        known = (request.labels, request.class_weight, state.optimizer)
        if isinstance(first := runs[0].model, HopNetwork):
            hops = first.hops(request.operator, request.x)
            return BatchEpoch(runs[0], generators[0], hops, *known)
        return Epoch(runs, generators, request.operator, request.x, *known)

    def results(self) -> list[FitResult]:
        """Return what every run has come to."""
        return [run.result(self._state.seconds) for run in self.runs]


def _after_epoch(state: Checkpoint, callback: Callback, max_epochs: int, *, due: bool) -> bool:
    """Tell the caller of an epoch, which may end training; return whether the state was saved."""
    try:
        ends = callback.watches and callback.on_epoch(
            Progress.of(state.epoch, max_epochs, state.runs)
        )
    except BaseException:
        # At the end of a whole epoch: keep what was done.
        state.save()
        raise
    if ends:
        for run in state.runs:
            run.stopped = run.stopped or "asked"
    elif due:
        state.save()
    return due and not ends
