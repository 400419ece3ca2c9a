"""The one training loop: one run or many side by side, stopped early, resumable to the bit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from graphfilter.errors import ConfigError, GraphError
from graphfilter.models import DIVIDED, HopNetwork, Network
from graphfilter.operators import Operator, SparseFeatures
from graphfilter.runtime import Pace, compiled_threads, keep_freed_memory, threads_for
from graphfilter.splits import Split
from graphfilter.training.batch_epoch import BatchEpoch
from graphfilter.training.checkpoint import Checkpoint, fingerprint
from graphfilter.training.cohorts import cohorts_of, multiplications
from graphfilter.training.config import TrainConfig
from graphfilter.training.division import Division, Next, divide
from graphfilter.training.epoch import Epoch
from graphfilter.training.optimizer import make_optimizer
from graphfilter.training.progress import OnEpoch, progress_of
from graphfilter.training.run import FitResult, Run
from graphfilter.training.task import Task
from graphfilter.training.tasks import CLASSIFICATION

# Of seconds: whoever is killed early finds something to resume, too.
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
    on_epoch: OnEpoch | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = 10.0,
    resume: bool = False,
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
    on_epoch : callable, optional
        Called with the :class:`Progress` after every epoch. It may read the filter from it, and
        return True to end training: every run then keeps its best weights so far. If it raises,
        the state is kept in ``checkpoint``, to be resumed.
    checkpoint : path, optional
        Where to keep the state while training: after a second, then every
        ``checkpoint_seconds``, when interrupted and at the end.
    resume : bool
        Resume from ``checkpoint`` if it exists: the result is the same to the bit as without
        the interruption.

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
    _check(models, splits, seeds, labels, task)
    monitor = task.resolve(config.monitor)
    for split in splits:
        task.check(monitor, labels[torch.from_numpy(split.val.copy())], class_weight)
    if operator.device.type == "cpu":
        keep_freed_memory()
    division = divide(models)
    trained = models if division is None else division.models
    generators = [torch.Generator(operator.device).manual_seed(seed) for seed in seeds]
    runs = [
        Run(
            model, split, labels, class_weight, monitor=monitor, patience=config.patience, task=task
        )
        for model, split in zip(trained, splits, strict=True)
    ]  # fmt: skip
    optimizer = make_optimizer(trained, config)
    state = Checkpoint(
        runs=runs, optimizer=optimizer, generators=generators, path=checkpoint,
        key=fingerprint(config, seeds, splits, labels, class_weight, models, operator, x, task)
        if checkpoint
        else "",
        division=division,
    )  # fmt: skip
    if resume:
        state.load()
    first_epoch, before = state.epoch, state.seconds
    started = time.perf_counter()
    saved = started + min(FIRST_CHECKPOINT - checkpoint_seconds, 0.0)
    members: list[int] = []
    work = multiplications(trained, operator, x)
    pace = Pace(compiled_threads() if operator.device.type == "cpu" else 1)
    epochs: list[Epoch | BatchEpoch] = []
    while state.epoch < config.max_epochs and any(run.training for run in runs):
        state.epoch += 1
        training = [r for r, run in enumerate(runs) if run.training]
        if training != members:
            members = training
            epochs = [
                _make_epoch(
                    [runs[r] for r in part], [generators[r] for r in part],
                    operator, x, labels, class_weight, optimizer, division,
                )
                for part in cohorts_of(members, trained, operator)
            ]  # fmt: skip
        turn = time.perf_counter()
        with threads_for(work, compiled=pace.threads):
            for epoch in epochs:
                epoch()
        pace.took(time.perf_counter() - turn)
        state.seconds = before + time.perf_counter() - started
        due = time.perf_counter() - saved > checkpoint_seconds
        if _after_epoch(state, on_epoch, config.max_epochs, due=due):
            saved = time.perf_counter()
    # If stopped after training but before the results are saved, training need not be repeated.
    state.save()
    optimizer.zero_grad(set_to_none=True)
    results = [run.result(state.seconds) for run in runs]
    if division is None:
        return results
    return _whole(division, models, results, state.epoch - first_epoch)


def _make_epoch(
    runs: Sequence[Run],
    generators: Sequence[torch.Generator],
    operator: Operator,
    x: Tensor | SparseFeatures,
    labels: Tensor,
    class_weight: Tensor | None,
    optimizer: torch.optim.Optimizer,
    division: Division | None,
) -> Epoch | BatchEpoch:
    """Return the epoch of runs that are trained together: of batches where vertices stand alone."""
    first = runs[0].model
    if isinstance(first, HopNetwork):
        hops = first.hops(operator, x)
        return BatchEpoch(runs[0], generators[0], hops, labels, class_weight, optimizer)
    return Epoch(runs, generators, operator, x, labels, class_weight, optimizer, division)


def _after_epoch(
    state: Checkpoint, on_epoch: OnEpoch | None, max_epochs: int, *, due: bool
) -> bool:
    """Tell the caller of an epoch, which may end training; return whether the state was saved.

    Of several processes only the first has a caller and a clock; the others do as it decides.
    """
    division, runs = state.division, state.runs
    decided, raised = Next.SAVE if due else Next.GO_ON, None
    if on_epoch is not None and (division is None or division.group.is_first):
        try:
            if on_epoch(progress_of(state.epoch, max_epochs, runs)):
                decided = Next.STOP
        except BaseException as error:
            decided, raised = Next.INTERRUPTED, error
    if division is not None:
        decided = division.next(decided)
    if decided == Next.STOP:
        for run in runs:
            run.stopped = run.stopped or "asked"
    if decided in (Next.SAVE, Next.INTERRUPTED):
        # Where the caller raised, at the end of a whole epoch: keep what was done.
        state.save()
    if decided == Next.INTERRUPTED:
        raise raised or KeyboardInterrupt
    return decided == Next.SAVE


def _whole(
    division: Division,
    models: Sequence[Network[Any]],
    results: Sequence[FitResult],
    n_epochs: int,
) -> list[FitResult]:
    """Return results with all columns, and give the models their last weights."""
    made = []
    per_epoch = {
        purpose: division.bytes_sent(purpose) // max(n_epochs, 1) for purpose in ("step", "scoring")
    }
    for model, part, result in zip(models, division.models, results, strict=True):
        model.load_state_dict(division.whole(dict(part.state_dict()), DIVIDED))
        state = division.whole(result.state, DIVIDED)
        made.append(replace(result, state=state, communicated=per_epoch))
    return made


def _check(
    models: Sequence[Network[Any]],
    splits: Sequence[Split],
    seeds: Sequence[int],
    labels: Tensor,
    task: Task,
) -> None:
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
            if not task.known(labels[torch.from_numpy(part.copy())]).all():
                raise GraphError("training and validation vertices must be labelled.")
