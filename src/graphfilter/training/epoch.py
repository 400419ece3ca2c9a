"""One epoch: of several runs at once, or of one run in mini-batches; and the state of a run.

Every run is a slice of the same tensors. On a GPU the second epoch is captured as a CUDA graph and
replayed from then on: a small graph's epoch is hundreds of kernels of a few microseconds, which
Python cannot launch as fast as they run.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.filters.base import ADDED
from graphfilter.models import HopNetwork, Network, SideBySide, ToldHops
from graphfilter.models.hops import ANSWERED
from graphfilter.operators import SparseFeatures
from graphfilter.splits import Split
from graphfilter.training.scores import MONITORS, Monitor
from graphfilter.training.tasks import Lesson, Vertices
from graphfilter.util.errors import ConfigError, GraphError, check_count, check_name, check_number
from graphfilter.util.machine import capturing

__all__ = ["FitResult", "Run", "TrainConfig"]

# What ends a run that would have gone on: a caller, or a committee to which it adds nothing.
ASKED, SUPERFLUOUS = CALLED_OFF = ("asked", "superfluous")


@dataclass(frozen=True, eq=False)
class FitResult:
    """What a run ended with.

    Attributes
    ----------
    state : dict of Tensor
        The best weights, on the CPU.
    history : dict of arrays
        ``loss`` (with dropout), ``train_accuracy``, ``val_loss``, ``val_accuracy`` (of other
        tasks, their score) and, where another score is monitored, that one (``val_roc_auc``), one
        per epoch; and of the filter's learnable scalars, under their own names (``alpha``,
        ``beta``), one row at the start and one per epoch.
    best_epoch : int
        The epoch of the best weights, from 1; 0 is the start.
    stopped : {'patience', 'max_epochs', 'diverged', 'asked', 'superfluous'}
        What ended it; 'asked' is a :class:`Callback` that returned True, 'superfluous' a
        committee to which it added nothing.
    seconds : float
        Training time of all runs trained side by side with it.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> (result,) = gf.SGFClassifier(max_epochs=5, random_state=0).fit(graph=g).results_
    >>> result.history["alpha"].shape  # at the start and after each of 5 epochs, 16 layers
    (6, 16)
    """

    state: dict[str, Tensor]
    history: dict[str, NDArray[Any]]
    best_epoch: int
    stopped: str
    seconds: float

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the weights when pickled: they are those of the network beside it."""
        return {**self.__dict__, "state": {}}

    @property
    def n_epochs(self) -> int:
        return len(self.history["loss"])


@dataclass(frozen=True)
class TrainConfig:
    """How to train; the defaults are the paper's one setting.

    Parameters
    ----------
    max_epochs : int
    patience : int
        Stop after this many epochs without a better validation score. The count starts when the
        run has begun to learn, that is, when its training accuracy first beats always answering
        the largest class: a loss that creeps for 200 epochs is no reason to stop.
    patience_share : float
        Wait at least this part of the epochs to the best score: who learns for long waits longer.
    monitor : {'accuracy', 'loss', 'balanced_accuracy', 'macro_f1', 'roc_auc', ...}
        The validation score that chooses the best weights, one of ``MONITORS`` that the task
        has; 'roc_auc' and 'average_precision' are of two classes. 'accuracy' stands for the score
        of any task: micro F1 of several labels, R² of numbers.
    filter_learning_rate, learning_rate : float
        For the filter's scalars and for the linear layers (a quarter: the filter should find the
        frequency first).
    filter_weight_decay, weight_decay : float
        L2 penalties, as Adam adds them to the gradient.

    Examples
    --------
    >>> import graphfilter as gf
    >>> config = gf.training.TrainConfig(max_epochs=200, patience=50)
    >>> config.max_epochs, config.monitor
    (200, 'accuracy')
    """

    max_epochs: int = 1500
    patience: int = 200
    monitor: Monitor = "accuracy"
    filter_learning_rate: float = 0.01
    learning_rate: float = 0.0025
    filter_weight_decay: float = 5e-4
    weight_decay: float = 5e-4
    patience_share: float = field(default=0.0, metadata=ADDED)

    def __post_init__(self) -> None:
        check_name("monitor", self.monitor, MONITORS)
        for name in ("max_epochs", "patience"):
            check_count(name, getattr(self, name), most=2**63)
        for name in ("filter_learning_rate", "learning_rate"):
            if not check_number(name, getattr(self, name)) > 0:
                raise ConfigError(f"{name} must be positive; got {getattr(self, name)}.")
        for name in ("filter_weight_decay", "weight_decay", "patience_share"):
            if not check_number(name, getattr(self, name)) >= 0:
                raise ConfigError(f"{name} must not be negative; got {getattr(self, name)}.")


class Run:
    """The changing state of one run; :func:`graphfilter.training.train` drives it.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> seen = []
    >>> def watch(progress):
    ...     seen.extend(run.training for run in progress.runs)
    ...
    >>> callback = gf.training.Callback(watch)
    >>> _ = gf.SGFClassifier(max_epochs=5, random_state=0).fit(graph=g, callback=callback)
    >>> seen
    [True, True, True, True, True]
    """

    def __init__(
        self, model: Network[Any], split: Split, lesson: Lesson, config: TrainConfig
    ) -> None:
        labels, class_weight, task = lesson.labels, lesson.class_weight, lesson.task
        split.check(len(labels))
        if not len(split.train):
            raise GraphError("a split must have at least one training vertex; got none.")
        self.model, self.task = model, task
        self.monitor = task.resolve(config.monitor)
        self.patience, self.patience_share = config.patience, config.patience_share
        self.train = torch.tensor(split.train, device=labels.device)
        self.val = torch.tensor(split.val, device=labels.device)
        self.n_steps = 1
        if isinstance(model, HopNetwork):
            self.n_steps = Batches.of(model, split.train).n_steps
        # Before them it does not wait for a better score.
        self.first = model.first_epochs(self.n_steps) if isinstance(model, ToldHops) else 0
        train, val = labels[self.train], labels[self.val]
        if not (task.known(train).all() and task.known(val).all()):
            raise GraphError("training and validation vertices must be labelled.")
        task.check(self.monitor, val, class_weight)
        # One that is told labels knows those it is trained on: others show what it has learned.
        self.judged_by = 3 if model.config.recognises and len(self.val) else 1
        self.chance = task.chance(train, class_weight)
        self.monitored_chance = task.monitored_chance(self.monitor, train, val, class_weight)
        self.best_score = self.best_tie_break = -math.inf
        self.best_epoch = 0
        self.waited = 0
        self.learning = False
        self.stopped = ""
        self.curves = task.curves(self.monitor)
        self.history: dict[str, list[float]] = {name: [] for name in self.curves}
        shown = model.main_filter()
        self._filter = {} if shown is None else dict(shown.named_parameters())
        self.filter_history: list[NDArray[np.float64]] = [self.scalars().double().cpu().numpy()]
        self.weights: dict[str, Tensor] = dict(model.state_dict())
        self.best = {name: value.clone() for name, value in self.weights.items()}

    @property
    def training(self) -> bool:
        return not self.stopped

    @property
    def patience_left(self) -> float:
        """After how many more epochs without a better score it ends."""
        reached = len(self.history["loss"]) - self.waited
        return max(self.patience, self.patience_share * reached) - self.waited

    @property
    def epochs_learned(self) -> int:
        """How many epochs it has trained since it was first clearly better than chance; 0 before.

        Clearly: by a tenth of what there is to learn.
        """
        clear = self.chance + 0.1 * (1 - self.chance)
        better = np.array(self.history[self.curves[self.judged_by]]) > clear
        return len(better) - int(better.argmax()) if better.any() else 0

    def update(self, scores: NDArray[np.float64], scalars: NDArray[np.float64]) -> bool:
        """Take what an epoch gave: its ``curves`` and the filter's scalars after it.

        Returns whether its weights are the best so far, to be kept by :func:`keep_best`.
        """
        for name, value in zip(self.curves, scores.tolist(), strict=True):
            self.history[name].append(value)
        loss, _, val_loss, val_score, *monitored = scores.tolist()
        self.filter_history.append(scalars)
        if not math.isfinite(loss) or (len(self.val) and not math.isfinite(val_loss)):
            self.stopped = "diverged"
            return False
        self.learning = self.learning or bool(scores[self.judged_by] > self.chance)
        if monitored:
            # A ranking of rare classes is learned long before any vertex is predicted as one.
            self.learning = self.learning or monitored[0] > self.monitored_chance
        # Scores of few vertices take few values: among epochs of equal score the one of lower loss
        # is kept, though only a better score restarts the patience. Without validation vertices
        # every epoch is better than the last.
        if not len(self.val):
            score, tie_break = float(len(self.history["loss"])), 0.0
        elif self.monitor == "loss":
            score, tie_break = -val_loss, 0.0
        else:
            score, tie_break = (monitored or [val_score])[0], -val_loss
        better = (score, tie_break) > (self.best_score, self.best_tie_break)
        improved = better and score > self.best_score
        if better:
            self.best_score, self.best_tie_break = score, tie_break
            self.best_epoch = len(self.history["loss"])
        if improved:
            self.waited = 0
        elif self.learning and len(self.history["loss"]) > self.first:
            self.waited += 1
            if self.patience_left <= 0:
                self.stopped = "patience"
        return better

    def filter_scalars(self) -> dict[str, NDArray[Any]]:
        """Return the filter's scalars after the last epoch, by name; none without a filter."""
        rows = self._split_scalars(self.filter_history[-1][None])
        return {name: values[0] for name, values in rows.items()}

    def result(self, seconds: float) -> FitResult:
        history = {name: np.array(values) for name, values in self.history.items()}
        history |= self._split_scalars(np.stack(self.filter_history))
        state = {name: t.cpu().clone() for name, t in self.best.items()}
        return FitResult(state, history, self.best_epoch, self.stopped or "max_epochs", seconds)

    def play(self, history: Tensor, filter_history: Tensor, called_off: str) -> None:
        """Bring a fresh run to the end of a history of ``curves`` and of the filter's scalars.

        ``called_off`` says why it was ended, where the history does not.
        """
        n_scalars = len(self.filter_history[0])
        shapes = (len(history), len(self.curves)), (len(history) + 1, n_scalars)
        if called_off not in ("", *CALLED_OFF) or shapes != (history.shape, filter_history.shape):
            raise ValueError("the history of a run is damaged")
        for scores, scalars in zip(history.numpy(), filter_history.numpy()[1:], strict=True):
            if self.stopped:
                raise ValueError("the history of a run continues after its end")
            self.update(scores, scalars)
        self.stopped = self.stopped or called_off

    def steps(self, n_epochs: int) -> dict[Tensor, int]:
        """Return how many steps each weight has taken after so many epochs."""
        model, n_steps = self.model, n_epochs * self.n_steps
        first = min(n_steps, self.first * self.n_steps) if isinstance(model, ToldHops) else n_steps
        steps: dict[Tensor, int] = dict.fromkeys(model.parameters(), first)
        if isinstance(model, ToldHops):
            steps |= dict.fromkeys(model.second.parameters(), n_steps - first)
        return steps

    def scalars(self) -> Tensor:
        """Return the filter's learnable scalars in one row, where they lie."""
        if not self._filter:
            return torch.empty(0, device=self.train.device)
        return torch.cat([p.detach().reshape(-1) for p in self._filter.values()])

    def _split_scalars(self, rows: NDArray[Any]) -> dict[str, NDArray[Any]]:
        ends = np.cumsum([p.numel() for p in self._filter.values()])[:-1]
        return dict(zip(self._filter, np.split(rows, ends, axis=1), strict=False))


def keep_best(runs: Sequence[Run]) -> None:
    """Copy the current weights of these runs, their best so far, in one call."""
    kept = [run.best[name] for run in runs for name in run.weights]
    weights = [value for run in runs for value in run.weights.values()]
    if kept:
        torch._foreach_copy_(kept, weights)  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]


# Training vertices that lie next to each other and are read together.
SEGMENT = 1024


@dataclass(frozen=True, eq=False)
class Batches:
    """The batches of an epoch: every training vertex once, in another order every time.

    Vertices are read in pools. A pool is segments of neighbours on the disk, drawn from
    everywhere, so that classes are mixed in it where vertices are sorted by class; it is read in
    the order of the file and shuffled in memory. Its batches are of nearly the same size. All of
    this depends on sizes and the generator alone.

    Attributes
    ----------
    vertices : int64 Tensor
        The training vertices, in their order.
    pool, batch : int
        Vertices of a pool and of a batch, at most.
    """

    vertices: Tensor
    pool: int
    batch: int

    @classmethod
    def of(cls, network: HopNetwork, train: NDArray[np.int64]) -> Self:
        """Divide training vertices as a network reads them."""
        vertices = torch.from_numpy(np.sort(train))
        return cls(vertices, network.rows_at_once, network.config.batch_size)

    @property
    def n_steps(self) -> int:
        """How many batches there are, the same in every epoch."""
        n = len(self.vertices)
        sizes = [min(self.pool, n - start) for start in range(0, n, self.pool)]
        return sum(self._n_batches(size) for size in sizes)

    def draw(self, generator: torch.Generator) -> Iterator[tuple[Tensor, list[Tensor]]]:
        """Yield every pool: its vertices in their order, and the places in it of each batch."""
        segments = self.vertices.split(SEGMENT)
        order = _permutation(len(segments), generator).tolist()
        for pool in torch.cat([segments[i] for i in order]).split(self.pool):
            places = _permutation(len(pool), generator)
            yield pool.sort().values, list(places.tensor_split(self._n_batches(len(pool))))

    def _n_batches(self, size: int) -> int:
        return -(-size // self.batch)


def _permutation(n: int, generator: torch.Generator) -> Tensor:
    return torch.randperm(n, generator=generator, device=generator.device).cpu()


class BatchEpoch:
    """What happens in an epoch of one run; call it as often as it trains.

    Every training vertex is read once: loss and training score are of the outputs that its step
    was taken with, dropout included. Nothing is held of all vertices but logits.

    Parameters
    ----------
    run, generator : Run, torch.Generator
        Of a :class:`~graphfilter.models.HopNetwork`.
    lesson : Lesson
        With features, or hops (n, K + 1, d) in main memory or mapped from a file.
    optimizer : torch.optim.Optimizer
    """

    def __init__(
        self, run: Run, generator: torch.Generator, lesson: Lesson, optimizer: torch.optim.Optimizer
    ) -> None:
        assert isinstance(run.model, HopNetwork)
        hops, labels = run.model.hops(lesson.operator, lesson.x), lesson.labels
        self._run, self._network = run, run.model
        self._generator, self._optimizer = generator, optimizer
        self._operator, self._hops, self._labels = lesson.operator, hops, labels
        of_class, own = lesson.class_weight, lesson.weight
        self._weights = run.task.vertex_weights(labels, of_class, own).float()
        self._batches = Batches.of(run.model, run.train.cpu().numpy())
        self._trained = Vertices(lesson, [run.train])
        self._scored = Vertices(lesson, [run.train], [run.val])
        self._validated = run.val.cpu().sort().values
        most = min(self._batches.pool, max(len(run.train), len(run.val)))
        self._pool = hops.new_empty(most, *hops.shape[1:])
        n_outputs = run.model.head.bias.shape[0]
        self._logits = torch.zeros(len(labels), 1, n_outputs, device=labels.device)
        self._told: Tensor | None = None

    def __call__(self) -> None:
        """Train and score the run, and record the result."""
        run, network, n_done = self._run, self._network, len(self._run.history["loss"])
        if isinstance(network, ToldHops):
            network.eval()
            seen = self._hops, self._batches.vertices
            if not n_done:
                network.standardise(*seen)
            elif n_done >= run.first and self._told is None:
                self._told = network.begin_second(self._operator, *seen)
        network.train()
        for vertices, batches in self._batches.draw(self._generator):
            pool = self._read(vertices)
            for places in batches:
                self._step(vertices[places], pool.index_select(0, places))
        network.eval()
        with torch.no_grad():
            for vertices in self._validated.split(min(self._batches.pool, ANSWERED)):
                self._logits[vertices, 0] = self._outputs(vertices, self._read(vertices))
            loss = self._trained.mean_loss(self._logits)
            scores = self._scored.scores(self._logits, run.monitor)
            values = torch.cat([loss[None].double(), scores])[:, 0].cpu().numpy()
        if run.update(values, run.scalars().double().cpu().numpy()):
            keep_best([run])

    def _read(self, vertices: Tensor) -> Tensor:
        """Return the hops of some vertices, where those of others were before."""
        return torch.index_select(self._hops, 0, vertices, out=self._pool[: len(vertices)])

    def _outputs(self, vertices: Tensor, hops: Tensor) -> Tensor:
        """Return the logits of some vertices from their hops, by the network that trains now."""
        network = self._network
        if isinstance(network, ToldHops) and self._told is not None:
            told = self._told[vertices.to(self._told.device)]
            return network.knowing(hops, told, self._generator)
        return network.rows(hops, self._generator)

    def _step(self, vertices: Tensor, hops: Tensor) -> None:
        task, rows = self._run.task, vertices.to(self._labels.device)
        outputs = self._outputs(vertices, hops)[:, None]
        losses = task.losses(outputs, task.aligned(self._labels[rows], 1))[:, 0]
        weights = self._weights[rows]
        # A batch may be of classes alone that weigh nothing.
        total = weights.sum().clamp(min=torch.finfo(weights.dtype).tiny)
        self._optimizer.zero_grad(set_to_none=True)
        ((weights * losses).sum() / total).backward()
        self._optimizer.step()
        self._logits[rows] = outputs.detach()


class Epoch:
    """What happens in an epoch of these runs; call it as often as they train.

    Parameters
    ----------
    runs, generators : sequences of R
        Their networks, vertices and dropout; more than one only of ``SideBySide`` networks of one
        config.
    lesson : Lesson
    optimizer : torch.optim.Optimizer
        Of all their weights.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        generators: Sequence[torch.Generator],
        lesson: Lesson,
        optimizer: torch.optim.Optimizer,
    ) -> None:
        self._runs, self._generators, self._optimizer = runs, generators, optimizer
        self._operator, self._x = lesson.operator, lesson.x
        self._models = [run.model for run in runs]
        self._modules = [module for model in self._models for module in model.modules()]
        train = [run.train for run in runs]
        self._train = Vertices(lesson, train)
        self._scored = Vertices(lesson, train, [run.val for run in runs])
        self._monitor = runs[0].monitor
        self._n_curves = len(runs[0].curves)
        first = self._models[0]
        captured = (
            self._operator.device.type == "cuda"
            and isinstance(first, SideBySide)
            and first.can_be_replayed(len(runs), self._operator, self._x)
        )
        self._replay = _Replay(generators, self._operator.device) if captured else None
        if captured and isinstance(self._x, SparseFeatures):
            _ = self._x.transposed  # What is captured must not be the first to ask for it.

    def __call__(self) -> None:
        """Train and score every run, and record the result."""
        if self._replay is None:
            values = self._epoch().cpu().numpy()
        else:
            with torch.cuda.device(self._operator.device):
                values = self._replay(self._epoch).cpu().numpy()
        n, pairs = self._n_curves, zip(self._runs, values.T, strict=True)
        keep_best([run for run, column in pairs if run.update(column[:n], column[n:])])

    def _epoch(self) -> Tensor:
        """Return the curves of this epoch, and the filter's scalars after it: (·, R)."""
        self._set_training(True)
        self._optimizer.zero_grad(set_to_none=True)
        first = self._models[0]
        if isinstance(first, SideBySide):
            parts = self._models, self._operator, self._x, self._generators
            losses = self._train.mean_loss(*first.training_side_by_side(*parts))
        else:
            output = first.training_output(self._operator, self._x, self._generators[0])
            losses = self._train.mean_loss(output.logits[:, None], output.vertex_weight)
            losses = losses if output.penalty is None else losses + output.penalty
        # Of their sum: given a gradient, torch would import its compiler.
        losses.sum().backward()
        self._optimizer.step()
        self._set_training(False)
        with torch.no_grad():
            if isinstance(first, SideBySide):
                silent = [None] * len(self._models)
                parts = self._models, self._operator, self._x, silent
                logits = first.forward_side_by_side(*parts)
            else:
                logits = first(self._operator, self._x, None)[:, None]
            scores = self._scored.scores(logits, self._monitor)
            scalars = torch.stack([run.scalars() for run in self._runs], dim=1)
            return torch.cat([losses.detach()[None].double(), scores, scalars.double()])

    def _set_training(self, mode: bool) -> None:
        for module in self._modules:
            # As module.training, without asking whether that is a weight.
            vars(module)["training"] = mode


class _Replay:
    """Runs a function on a GPU: as it is at first, then captured and replayed."""

    def __init__(self, generators: Sequence[torch.Generator], device: torch.device) -> None:
        self._generators = generators
        self._stream = _stream(device)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._warm = False
        self._result = torch.empty(0)

    def __call__(self, function: Callable[[], Tensor]) -> Tensor:
        if self._graph is None:
            with capturing(self._stream.device):
                self._stream.wait_stream(torch.cuda.current_stream())
                if not self._warm:
                    self._warm = True
                    with torch.cuda.stream(self._stream):
                        result = function()
                    torch.cuda.current_stream().wait_stream(self._stream)
                    return result
                self._graph = self._capture(function)
                # Capturing writes the generators' offsets on its own stream, replaying on this
                # one: unordered, a busy GPU would draw the first epoch's dropout again.
                torch.cuda.current_stream().wait_stream(self._stream)
        self._graph.replay()
        return self._result

    def _capture(self, function: Callable[[], Tensor]) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        for generator in self._generators:
            graph.register_generator_state(generator)
        with torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"):
            self._result = function()
        return graph


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """Return the one stream epochs run on: each stream keeps its own workspaces forever."""
    return torch.cuda.Stream(device)


class Adam(torch.optim.Adam):
    """torch's fused Adam without what surrounds its steps, for weights of one kind on one device.

    torch wraps its methods so that its compiler leaves them alone, and imports it for that: more
    than a second of each start. Nothing here is compiled. Nor is a step announced to torch's
    profiler, or its weights sorted by device: of a small graph's epoch, a tenth.
    """

    add_param_group = inspect.unwrap(torch.optim.Adam.add_param_group)
    load_state_dict = inspect.unwrap(torch.optim.Adam.load_state_dict)
    state_dict = inspect.unwrap(torch.optim.Adam.state_dict)

    def zero_grad(self, set_to_none: bool = True) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """Take a step; the gradients are there."""
        for group in self.param_groups:
            lists: list[list[torch.Tensor]] = [[] for _ in range(6)]
            self._init_group(group, *lists)
            if not lists[0]:
                continue
            beta1, beta2 = group["betas"]
            torch._foreach_add_(lists[-1], 1)  # pyright: ignore
            torch._fused_adam_(  # pyright: ignore
                *lists, lr=group["lr"], beta1=beta1, beta2=beta2, eps=group["eps"],
                weight_decay=group["weight_decay"], amsgrad=False, maximize=False,
            )  # fmt: skip

    # So that torch does not wrap it in an announcement.
    step.hooked = True  # pyright: ignore
