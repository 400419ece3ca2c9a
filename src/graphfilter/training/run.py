"""One training run: its history, its best weights, when to stop, and its state on disk."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphfilter.models import HopNetwork, Network
from graphfilter.splits import Split
from graphfilter.training.tasks import CLASSIFICATION, Task
from graphfilter.training.vertices import Batches
from graphfilter.util.errors import ModelFileError
from graphfilter.util.records import read_tensors, tensors_under, write_tensors

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


# Raised with every change of what a checkpoint holds.
FORMAT = 3
_MOMENTS = ("exp_avg", "exp_avg_sq")
_COPIES = ("model", "best")


def save_checkpoint(
    path: Path,
    key: str,
    runs: Sequence[Run],
    optimizer: torch.optim.Optimizer,
    generators: Sequence[torch.Generator],
    epoch: int,
    seconds: float,
) -> None:
    """Write everything that changes while training, atomically."""
    tensors: dict[str, Tensor] = {}
    for r, (run, generator) in enumerate(zip(runs, generators, strict=True)):
        tensors |= {f"run{r}.{name}": value for name, value in run.tensors().items()}
        tensors[f"run{r}.generator"] = generator.get_state()
    adam = optimizer.state_dict()["state"]
    for i, moments in adam.items():
        tensors |= {f"adam{i}.{name}": value for name, value in moments.items()}
    content = {
        "kind": "checkpoint",
        "key": key,
        "epoch": epoch,
        "seconds": seconds,
        "runs": [run.counters() for run in runs],
        "adam": sorted(adam),
    }
    write_tensors(path, tensors, content)


def load_checkpoint(
    path: Path,
    key: str,
    runs: Sequence[Run],
    optimizer: torch.optim.Optimizer,
    generators: Sequence[torch.Generator],
) -> tuple[int, float]:
    """Bring fresh runs to where a file says they were; return the epoch and the seconds."""
    tensors, content = read_tensors(path)
    if content.get("kind") != "checkpoint" or content.get("key") != key:
        raise ModelFileError(
            f"{path}: a checkpoint of another run (other data, setting or version). "
            "Repeat the interrupted command unchanged, or start again without resuming."
        )
    try:
        check_checkpoint(tensors, content, runs, optimizer, generators)
        for r, (run, generator) in enumerate(zip(runs, generators, strict=True)):
            own = tensors_under(tensors, f"run{r}.")
            # Raises a RuntimeError where its numbers are not a state.
            generator.set_state(own.pop("generator"))
            run.load(own, content["runs"][r])
        state = {
            i: {name: tensors[f"adam{i}.{name}"] for name in ("step", *_MOMENTS)}
            for i in content["adam"]
        }
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": state, "param_groups": groups})
    except (ValueError, RuntimeError) as error:
        # Only the first line: torch's own errors carry its whole C++ stack.
        problem = str(error).partition("\n")[0]
        raise ModelFileError(
            f"{path}: a damaged checkpoint ({problem}). Start again without resuming."
        ) from None
    return content["epoch"], float(content["seconds"])


def check_checkpoint(
    tensors: Mapping[str, Tensor],
    content: Mapping[str, Any],
    runs: Sequence[Run],
    optimizer: torch.optim.Optimizer,
    generators: Sequence[torch.Generator],
) -> None:
    """Raise a ValueError with the reason unless this training wrote the checkpoint.

    torch's fused Adam believes the sizes of its moments and writes past the end of shorter ones,
    so everything is checked against what training will use before any of it is loaded. What
    follows from the history (best epoch, patience, whether a run has stopped) is recomputed and
    compared. ``runs`` are fresh and are played through their history, to be loaded over.
    """
    epoch, counters = _check_content(content, len(runs))
    expected: dict[str, tuple[torch.dtype, tuple[int, ...]]] = {}
    owners: dict[Tensor, int] = {}
    lengths: list[int] = []
    for r, (run, generator) in enumerate(zip(runs, generators, strict=True)):
        first = tensors.get(f"run{r}.history.loss")
        length = first.numel() if first is not None else -1
        still = not counters[r]["stopped"]
        if not (length == epoch if still else 1 <= length <= epoch):
            raise ValueError(f"run {r} has {length} epochs of {epoch}")
        lengths.append(length)
        expected |= _tensors_of_run(f"run{r}.", run, generator, length)
        owners |= dict.fromkeys(run.model.parameters(), r)
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for i in content["adam"]:
        if not 0 <= i < len(parameters):
            raise ValueError(f"moments of parameter {i} of {len(parameters)}")
        shape = tuple(parameters[i].shape)
        expected |= {f"adam{i}.{name}": (parameters[i].dtype, shape) for name in _MOMENTS}
        expected[f"adam{i}.step"] = torch.float32, ()
    _check_tensors(tensors, expected)
    for i in content["adam"]:
        r = owners[parameters[i]]
        if float(tensors[f"adam{i}.step"]) != lengths[r] * runs[r].n_steps:
            raise ValueError(f"adam{i}.step is not the number of steps")
    for r, run in enumerate(runs):
        _check_counters(run, tensors, f"run{r}.", counters[r])


def _check_content(content: Mapping[str, Any], n_runs: int) -> tuple[int, list[dict[str, Any]]]:
    """Check the types of what is not a tensor; return the epoch and each run's counters."""
    epoch, seconds, counters = (content.get(name) for name in ("epoch", "seconds", "runs"))
    if type(epoch) is not int or epoch < 0:
        raise ValueError(f"epoch is {epoch!r}")
    if (type(seconds) is not int and type(seconds) is not float) or not 0 <= seconds < math.inf:
        raise ValueError(f"seconds is {seconds!r}")
    if not isinstance(counters, list) or len(counters) != n_runs:
        raise ValueError(f"there are no counters of {n_runs} runs")
    if any(not isinstance(c, dict) or "stopped" not in c for c in counters):
        raise ValueError("a run has no counters")
    adam = content.get("adam")
    if not isinstance(adam, list) or any(type(i) is not int for i in adam):
        raise ValueError("the parameters with moments are not listed")
    return epoch, counters


def _tensors_of_run(
    start: str, run: Run, generator: torch.Generator, length: int
) -> dict[str, tuple[torch.dtype, tuple[int, ...]]]:
    """Return type and shape of everything a run of this many epochs stores."""
    expected: dict[str, tuple[torch.dtype, tuple[int, ...]]] = {}
    for name, value in run.model.state_dict().items():
        expected |= {f"{start}{part}.{name}": (value.dtype, tuple(value.shape)) for part in _COPIES}
    expected |= {f"{start}history.{name}": (torch.float64, (length,)) for name in run.curves}
    n_scalars = len(run.filter_history[0])
    expected[f"{start}filter_history"] = torch.float64, (length + 1, n_scalars)
    state = generator.get_state()
    expected[f"{start}generator"] = state.dtype, tuple(state.shape)
    return expected


def _check_tensors(
    tensors: Mapping[str, Tensor], expected: Mapping[str, tuple[torch.dtype, tuple[int, ...]]]
) -> None:
    if odd := sorted(tensors.keys() ^ expected.keys()):
        raise ValueError(f"{odd[0]} is {'missing' if odd[0] in expected else 'not known'}")
    for name, (dtype, shape) in expected.items():
        got = tensors[name]
        if got.dtype != dtype or got.shape != shape:
            raise ValueError(
                f"{name} must be {dtype} of shape {shape}, and is {got.dtype} of shape "
                f"{tuple(got.shape)}"
            )


def _check_counters(
    run: Run, tensors: Mapping[str, Tensor], start: str, counters: Mapping[str, Any]
) -> None:
    """Play a fresh run through its history, and compare what it counts on the way."""
    curves = np.stack([tensors[f"{start}history.{name}"].numpy() for name in run.curves], axis=1)
    scalars = tensors[f"{start}filter_history"].numpy()
    if not np.array_equal(scalars[0], run.filter_history[0], equal_nan=True):
        raise ValueError(f"{start}filter_history does not begin where training does")
    for scores, row in zip(curves, scalars[1:], strict=True):
        if not run.training:
            raise ValueError(f"{start}history continues after its end")
        run.update(scores, row)
    played = run.counters()
    if not played["stopped"] and counters["stopped"] in CALLED_OFF:
        # By the caller: the history does not record that.
        played["stopped"] = counters["stopped"]
    if json.dumps(played, sort_keys=True) != json.dumps(counters, sort_keys=True):
        raise ValueError(f"the counters of {start[:-1]} do not follow from its history")
