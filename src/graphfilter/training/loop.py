"""The one training loop: one run or many side by side, stopped early, resumable to the bit.

:func:`train` trains networks to their end, and :class:`Training` in rounds. The state of a training
on disk is checked before any of it is loaded.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphfilter.models import HopNetwork, Network, NormedNetwork, SideBySide
from graphfilter.operators import Operator, SparseFeatures
from graphfilter.operators.kernels.native_kernel import NativeKernel
from graphfilter.splits import Split
from graphfilter.training.callbacks import SILENT, Callback, Progress, callback_from
from graphfilter.training.epoch import (
    ASKED,
    CALLED_OFF,
    Adam,
    BatchEpoch,
    Epoch,
    FitResult,
    Run,
    TrainConfig,
)
from graphfilter.training.tasks import CLASSIFICATION, Lesson, Task
from graphfilter.util.errors import ConfigError, ModelFileError
from graphfilter.util.machine import threads_for
from graphfilter.util.records import read_tensors, tensors_under, write_tensors

__all__ = ["runs_in_a_cohort", "train"]

# Raised with every change of what a checkpoint holds.
FORMAT = 4


# Vertices of runs side by side on a CPU: more wait for memory, fewer for Python.
VERTICES_IN_CACHE = 4096
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
    training = Training(
        models, Lesson(operator, x, labels, class_weight, task), splits, config, seeds,
        callback_from(callback, earlier),
    )  # fmt: skip
    if earlier:
        raise TypeError(f"train() takes no {next(iter(earlier))}.")
    training.advance(config.max_epochs)
    return training.results()


class Training:
    """A training that is driven in rounds; between them nothing but its state is held.

    Its arguments are those of :func:`train`, which is one round of all epochs. Rounds do not change
    the result: it is the same to the bit as of one.

    Attributes
    ----------
    runs : list of Run
    epoch : int
        How many epochs are done.
    """

    def __init__(
        self,
        models: Sequence[Network[Any]],
        lesson: Lesson,
        splits: Sequence[Split],
        config: TrainConfig,
        seeds: Sequence[int],
        callback: Callback = SILENT,
    ) -> None:
        self.models, self.lesson, self.config = models, lesson, config
        self._callback = callback
        if not len(models) == len(splits) == len(seeds) >= 1:
            raise ConfigError(
                "there must be as many models as splits and seeds; "
                f"got {len(models)}, {len(splits)} and {len(seeds)}."
            )
        self._optimizer = make_optimizer(models, config)
        pairs = zip(models, splits, strict=True)
        self.runs = [Run(model, split, lesson, config) for model, split in pairs]
        device = lesson.operator.device
        self._generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]
        self._key = self._fingerprint(splits, seeds) if callback.checkpoint else ""
        self.epoch, self._seconds = 0, 0.0
        if callback.resume and callback.checkpoint is not None and callback.checkpoint.exists():
            self._load(callback.checkpoint)

    def _fingerprint(self, splits: Sequence[Split], seeds: Sequence[int]) -> str:
        """Name the runs by all that decides their course: setting, first weights, graph, features.

        Of a training that is resumed it must be the same.
        """
        operator, x, task = self.lesson.operator, self.lesson.x, self.lesson.task
        where = (operator.device.type, torch.__version__, FORMAT)
        parts: list[str | Tensor] = [repr((asdict(self.config), list(seeds), operator, where))]
        if task is not CLASSIFICATION:
            parts.append(repr(task))
        parts += [torch.tensor(part) for split in splits for part in (split.train, split.val)]
        parts += [tensor for matrix in operator.factors() for tensor in matrix.tensors()]
        parts += [self.lesson.labels, *(x.tensors() if isinstance(x, SparseFeatures) else [x])]
        weights = self.lesson.class_weight, self.lesson.weight
        parts += [weight for weight in weights if weight is not None]
        for model in self.models:
            parts += [repr(model.config), *model.state_dict().values()]
        digest = hashlib.blake2b(digest_size=16)
        for part in parts:
            if isinstance(part, str):
                digest.update(part.encode())
            elif part.numel():  # Otherwise its strides may be 0, which torch sees no bytes in.
                # Where the bytes lie: a large graph is not copied to be hashed.
                flat = part.detach().cpu().contiguous().view(-1)
                digest.update(flat.view(torch.uint8).numpy().data)
        return digest.hexdigest()

    @property
    def ended(self) -> bool:
        """Whether no run trains any more."""
        return all(run.stopped for run in self.runs) or self.epoch >= self.config.max_epochs

    def advance(self, until: int) -> None:
        """Train to the end of an epoch, or of all runs; the state is then kept."""
        callback, before, started = self._callback, self._seconds, time.perf_counter()
        saved = started + min(FIRST_CHECKPOINT - callback.checkpoint_seconds, 0.0)
        operator = self.lesson.operator
        work = multiplications(self.models, operator, self.lesson.x)
        alive: list[int] = []
        epochs: list[Epoch | BatchEpoch] = []
        while self.epoch < until and not self.ended:
            self.epoch += 1
            training = [r for r, run in enumerate(self.runs) if not run.stopped]
            if training != alive:
                alive = training
                parts = cohorts_of(alive, self.models, operator)
                epochs = [self._make_epoch(part) for part in parts]
            with threads_for(work):
                for epoch in epochs:
                    epoch()
            self._seconds = before + time.perf_counter() - started
            try:
                if callback.watches and callback.on_epoch(
                    Progress.of(self.epoch, self.config.max_epochs, self.runs)
                ):
                    for run in self.runs:
                        run.stopped = run.stopped or ASKED
                    break
            except BaseException:
                # At the end of a whole epoch: keep what was done.
                self._save()
                raise
            if time.perf_counter() - saved > callback.checkpoint_seconds:
                self._save()
                saved = time.perf_counter()
        # If stopped after training but before the results are saved, training need not be repeated.
        self._save()
        self._optimizer.zero_grad(set_to_none=True)

    def stop(self, runs: Iterable[int], why: str) -> None:
        """Stop runs that train: they keep their best weights so far. The state is kept."""
        for run in (self.runs[r] for r in runs):
            run.stopped = run.stopped or why
        self._save()

    def forget(self) -> None:
        """Let go of all that only more epochs would need; the runs have ended, and are kept."""
        # What follows, such as another round, must not put what is left in the place of that.
        self._callback = self._callback.keeping(None)
        self._optimizer.state.clear()
        for run in self.runs:
            run.best.clear()

    def results(self) -> list[FitResult]:
        """Return what every run has come to."""
        return [run.result(self._seconds) for run in self.runs]

    def _make_epoch(self, part: Sequence[int]) -> Epoch | BatchEpoch:
        """Return the epoch of runs trained together: of batches, where vertices stand alone."""
        runs, generators = [self.runs[r] for r in part], [self._generators[r] for r in part]
        if isinstance(runs[0].model, HopNetwork):
            return BatchEpoch(runs[0], generators[0], self.lesson, self._optimizer)
        return Epoch(runs, generators, self.lesson, self._optimizer)

    def _save(self) -> None:
        """Write everything that changes while training, atomically, where it is kept."""
        if self._callback.checkpoint is None:
            return
        tensors, adam = self._state(), self._optimizer.state_dict()["state"]
        for i, moments in adam.items():
            tensors |= {f"adam{i}.{name}": value for name, value in moments.items()}
        content = {
            "kind": "checkpoint", "key": self._key, "epoch": self.epoch, "seconds": self._seconds,
            "adam": sorted(adam),
            "called_off": [r.stopped if r.stopped in CALLED_OFF else "" for r in self.runs],
        }  # fmt: skip
        write_tensors(self._callback.checkpoint, tensors, content)

    def _load(self, path: Path) -> None:
        """Bring fresh runs to where a file says they were."""
        tensors, content = read_tensors(path)
        if content.get("kind") != "checkpoint" or content.get("key") != self._key:
            raise ModelFileError(
                f"{path}: a checkpoint of another run (other data, setting or version). "
                "Repeat the interrupted command unchanged, or start again without resuming."
            )
        try:
            moments = self._check(tensors, content)
            for r, (run, generator) in enumerate(zip(self.runs, self._generators, strict=True)):
                # Raises a RuntimeError where its numbers are not a state.
                generator.set_state(tensors[f"run{r}.generator"])
                run.model.load_state_dict(tensors_under(tensors, f"run{r}.model."))
                run.best = {
                    name: value.to(run.train.device, copy=True)
                    for name, value in tensors_under(tensors, f"run{r}.best.").items()
                }
            groups = self._optimizer.state_dict()["param_groups"]
            self._optimizer.load_state_dict({"state": moments, "param_groups": groups})
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            # Only the first line: torch's own errors carry its whole C++ stack.
            problem = str(error).partition("\n")[0]
            raise ModelFileError(
                f"{path}: a damaged checkpoint ({problem}). Start again without resuming."
            ) from None
        self.epoch, self._seconds = content["epoch"], float(content["seconds"])

    def _check(
        self, tensors: Mapping[str, Tensor], content: Mapping[str, Any]
    ) -> dict[int, dict[str, Tensor]]:
        """Play fresh runs through their history; raise unless this training wrote the rest as well.

        Returns the moments of each parameter. torch's fused Adam believes their sizes, and writes
        past the end of shorter ones.
        """
        epoch, seconds = content["epoch"], content["seconds"]
        if type(epoch) is not int or epoch < 0:
            raise ValueError(f"epoch is {epoch!r}")
        if type(seconds) not in (int, float) or not 0 <= seconds < math.inf:
            raise ValueError(f"seconds is {seconds!r}")
        steps: dict[Tensor, int] = {}
        for r, (run, why) in enumerate(zip(self.runs, content["called_off"], strict=True)):
            run.play(tensors[f"run{r}.history"], tensors[f"run{r}.filter_history"], why)
            length = len(run.history["loss"])
            if not (length == epoch if run.training else 1 <= length <= epoch):
                raise ValueError(f"run {r} has {length} epochs of {epoch}")
            steps |= run.steps(length)
        expected = self._state()
        parameters = [p for group in self._optimizer.param_groups for p in group["params"]]
        moments: dict[int, dict[str, Tensor]] = {}
        for i in content["adam"]:
            if not 0 <= i < len(parameters):
                raise ValueError(f"moments of parameter {i} of {len(parameters)}")
            weight, step = parameters[i].detach(), torch.tensor(float(steps[parameters[i]]))
            own = {"step": step, "exp_avg": weight, "exp_avg_sq": weight}
            expected |= {f"adam{i}.{name}": value for name, value in own.items()}
            moments[i] = {name: tensors[f"adam{i}.{name}"] for name in own}
            if moments[i]["step"].tolist() != step.tolist():
                raise ValueError(f"adam{i}.step is not the number of steps")
        if odd := sorted(tensors.keys() ^ expected.keys()):
            raise ValueError(f"{odd[0]} is {'missing' if odd[0] in expected else 'not known'}")
        for name, value in expected.items():
            got = tensors[name]
            if got.dtype != value.dtype or got.shape != value.shape:
                raise ValueError(
                    f"{name} must be {value.dtype} of shape {tuple(value.shape)}, and is "
                    f"{got.dtype} of shape {tuple(got.shape)}"
                )
        return moments

    def _state(self) -> dict[str, Tensor]:
        """Return everything that changes in the runs, as tensors to be stored."""
        stored: dict[str, Tensor] = {}
        for r, (run, generator) in enumerate(zip(self.runs, self._generators, strict=True)):
            state = run.model.state_dict()
            stored |= {f"run{r}.model.{name}": value for name, value in state.items()}
            stored |= {f"run{r}.best.{name}": value for name, value in run.best.items()}
            history = torch.tensor([*run.history.values()], dtype=torch.float64).T
            stored[f"run{r}.history"] = history
            stored[f"run{r}.filter_history"] = torch.from_numpy(np.stack(run.filter_history))
            stored[f"run{r}.generator"] = generator.get_state()
        return stored


def make_optimizer(models: Sequence[Network[Any]], config: TrainConfig) -> torch.optim.Optimizer:
    """Make one Adam for all runs, with a rate and a decay for each kind of weight.

    It works entry by entry, so that runs do not mix.
    """
    undecayed = [p for m in models for p in m.undecayed_parameters()]
    filters = [p for m in models for p in m.filter_parameters()]
    apart = {*filters, *undecayed}
    every = [p for m in models for p in m.parameters()]
    kinds = [
        (filters, config.filter_learning_rate, config.filter_weight_decay),
        ([p for p in every if p not in apart], config.learning_rate, config.weight_decay),
        (undecayed, config.learning_rate, 0.0),
    ]
    groups = [{"params": p, "lr": rate, "weight_decay": decay} for p, rate, decay in kinds if p]
    # On a GPU the step is captured with the rest of the epoch.
    return Adam(groups, fused=True, capturable=every[0].device.type == "cuda")


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
