"""Which vertices an epoch of mini-batches sees together, in an order that a disk can read.

One training run: its history, its best weights, and when to stop.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphfilter.models import HopNetwork, Network
from graphfilter.splits import Split
from graphfilter.training.tasks import CLASSIFICATION, Task
from graphfilter.util.records import tensors_under

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

    @property
    def n_epochs(self) -> int:
        return len(self.history["loss"])


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
        self,
        model: Network[Any],
        split: Split,
        labels: Tensor,
        class_weight: Tensor | None,
        *,
        monitor: str,
        patience: int,
        patience_share: float = 0.0,
        task: Task = CLASSIFICATION,
    ) -> None:
        self.model = model
        self.task = task
        self.monitor = monitor
        self.patience, self.patience_share = patience, patience_share
        self.train = torch.tensor(split.train, device=labels.device)
        self.val = torch.tensor(split.val, device=labels.device)
        self.n_steps = 1
        if isinstance(model, HopNetwork):
            self.n_steps = Batches.of(model, split.train).n_steps
        train, val = labels[self.train], labels[self.val]
        # One that is told labels knows those it is trained on: others show what it has learned.
        self.judged_by = 3 if model.config.recognises and len(self.val) else 1
        self.chance = task.chance(train, class_weight)
        self.monitored_chance = task.monitored_chance(monitor, train, val, class_weight)
        self.best_score = self.best_tie_break = -math.inf
        self.best_epoch = 0
        self.waited = 0
        self.learning = False
        self.stopped = ""
        self.history: dict[str, list[float]] = {name: [] for name in self.curves}
        self.filter_history: list[NDArray[np.float64]] = [self.scalars().double().cpu().numpy()]
        self.weights: dict[str, Tensor] = dict(model.state_dict())
        self.best = {name: value.clone() for name, value in self.weights.items()}

    @property
    def curves(self) -> tuple[str, ...]:
        return self.task.curves(self.monitor)

    @property
    def training(self) -> bool:
        return not self.stopped

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
        better = improved = False
        score, tie_break = self._score(val_loss, *(monitored or [val_score]))
        if (score, tie_break) > (self.best_score, self.best_tie_break):
            improved = score > self.best_score
            self.best_score, self.best_tie_break = score, tie_break
            self.best_epoch = len(self.history["loss"])
            better = True
        if improved:
            self.waited = 0
        elif self.learning:
            self.waited += 1
            reached = len(self.history["loss"]) - self.waited
            if self.waited >= max(self.patience, self.patience_share * reached):
                self.stopped = "patience"
        return better

    def _score(self, val_loss: float, val_score: float) -> tuple[float, float]:
        """Return what chooses the best weights, and what decides between equals.

        Scores of few vertices take few values: among epochs of equal score the lower loss
        is kept, though only a better score restarts the patience. Without validation vertices
        every epoch is better than the last.
        """
        if not len(self.val):
            return float(len(self.history["loss"])), 0.0
        return (-val_loss, 0.0) if self.monitor == "loss" else (val_score, -val_loss)

    def filter_scalars(self) -> dict[str, NDArray[Any]]:
        """Return the filter's scalars after the last epoch, by name; none without a filter."""
        rows = self._split_scalars(self.filter_history[-1][None])
        return {name: values[0] for name, values in rows.items()}

    def result(self, seconds: float) -> FitResult:
        history = {name: np.array(values) for name, values in self.history.items()}
        history |= self._split_scalars(np.stack(self.filter_history))
        state = {name: t.cpu().clone() for name, t in self.best.items()}
        return FitResult(state, history, self.best_epoch, self.stopped or "max_epochs", seconds)

    def tensors(self) -> dict[str, Tensor]:
        """Return everything that changes, as tensors to be stored."""
        stored = {f"model.{k}": v for k, v in self.model.state_dict().items()}
        stored |= {f"best.{k}": v for k, v in self.best.items()}
        stored |= {
            f"history.{k}": torch.tensor(v, dtype=torch.float64) for k, v in self.history.items()
        }
        stored["filter_history"] = torch.from_numpy(np.stack(self.filter_history))
        return stored

    def counters(self) -> dict[str, Any]:
        """Return the scalars that change, as JSON."""
        return {
            "best_score": self.best_score.hex(),
            "best_tie_break": self.best_tie_break.hex(),
            "best_epoch": self.best_epoch,
            "waited": self.waited,
            "learning": self.learning,
            "stopped": self.stopped,
        }

    def load(self, tensors: Mapping[str, Tensor], counters: Mapping[str, Any]) -> None:
        """Restore what :meth:`tensors` and :meth:`counters` returned."""
        self.model.load_state_dict(tensors_under(tensors, "model."))
        device = self.train.device
        self.best = {k: v.to(device, copy=True) for k, v in tensors_under(tensors, "best.").items()}
        self.history = {k: v.tolist() for k, v in tensors_under(tensors, "history.").items()}
        self.filter_history = list(tensors["filter_history"].cpu().numpy())
        self.best_score = float.fromhex(counters["best_score"])
        self.best_tie_break = float.fromhex(counters["best_tie_break"])
        self.best_epoch = int(counters["best_epoch"])
        self.waited = int(counters["waited"])
        self.learning = bool(counters["learning"])
        self.stopped = str(counters["stopped"])

    def _filter_named(self) -> list[tuple[str, nn.Parameter]]:
        shown = self.model.main_filter()
        return [] if shown is None else list(shown.named_parameters())

    def scalars(self) -> Tensor:
        """Return the filter's learnable scalars in one row, where they lie."""
        named = self._filter_named()
        if not named:
            return torch.empty(0, device=self.train.device)
        return torch.cat([p.detach().reshape(-1) for _, p in named])

    def _split_scalars(self, rows: NDArray[Any]) -> dict[str, NDArray[Any]]:
        named = self._filter_named()
        ends = np.cumsum([p.numel() for _, p in named])[:-1]
        return dict(zip([n for n, _ in named], np.split(rows, ends, axis=1), strict=False))


def keep_best(runs: Sequence[Run]) -> None:
    """Copy the current weights of these runs, their best so far, in one call."""
    kept = [run.best[name] for run in runs for name in run.weights]
    weights = [value for run in runs for value in run.weights.values()]
    if kept:
        torch._foreach_copy_(kept, weights)  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]
