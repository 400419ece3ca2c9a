"""Whether a checkpoint is one that this training wrote.

torch's fused Adam believes the sizes of its moments and writes past the end of shorter ones, so
everything is checked against what training will use before any of it is loaded. What
follows from the history (best epoch, patience, whether a run has stopped) is recomputed and
compared.

The state of training on disk, so that an interrupted run resumes where it was.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphfilter.training.run import CALLED_OFF, Run
from graphfilter.util.errors import ModelFileError
from graphfilter.util.records import read_tensors, tensors_under, write_tensors

_MOMENTS = ("exp_avg", "exp_avg_sq")
_COPIES = ("model", "best")


def check_checkpoint(
    tensors: Mapping[str, Tensor],
    content: Mapping[str, Any],
    runs: Sequence[Run],
    optimizer: torch.optim.Optimizer,
    generators: Sequence[torch.Generator],
) -> None:
    """Raise a ValueError with the reason if anything is wrong.

    ``runs`` are fresh and are played through their history, to be loaded over.
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


# Raised with every change of what a checkpoint holds.
FORMAT = 3


@dataclass
class Checkpoint:
    """Everything that changes while training, and where it is kept (nowhere without a path)."""

    runs: Sequence[Run]
    optimizer: torch.optim.Optimizer
    generators: Sequence[torch.Generator]
    path: str | Path | None
    key: str
    epoch: int = 0
    seconds: float = 0.0

    def save(self) -> None:
        """Write the state atomically."""
        if self.path is None:
            return
        tensors: dict[str, Tensor] = {}
        for r, (run, generator) in enumerate(zip(self.runs, self.generators, strict=True)):
            tensors |= {f"run{r}.{name}": value for name, value in run.tensors().items()}
            tensors[f"run{r}.generator"] = generator.get_state()
        adam = self.optimizer.state_dict()["state"]
        for i, moments in adam.items():
            tensors |= {f"adam{i}.{name}": value for name, value in moments.items()}
        write_tensors(
            self.path,
            tensors,
            {
                "kind": "checkpoint",
                "key": self.key,
                "epoch": self.epoch,
                "seconds": self.seconds,
                "runs": [run.counters() for run in self.runs],
                "adam": sorted(adam),
            },
        )

    def load(self) -> None:
        """Resume from the file where there is one; otherwise stay at the start."""
        if self.path is None or not Path(self.path).exists():
            return
        tensors, content = read_tensors(self.path)
        if content.get("kind") != "checkpoint" or content.get("key") != self.key:
            raise ModelFileError(
                f"{self.path}: a checkpoint of another run (other data, setting or version). "
                "Repeat the interrupted command unchanged, or start again without resuming."
            )
        try:
            check_checkpoint(tensors, content, self.runs, self.optimizer, self.generators)
            self._take(tensors, content)
        except (ValueError, RuntimeError) as error:
            # Only the first line: torch's own errors carry its whole C++ stack.
            problem = str(error).partition("\n")[0]
            raise ModelFileError(
                f"{self.path}: a damaged checkpoint ({problem}). Start again without resuming."
            ) from None

    def _take(self, tensors: dict[str, Tensor], content: dict[str, Any]) -> None:
        for r, (run, generator) in enumerate(zip(self.runs, self.generators, strict=True)):
            own = tensors_under(tensors, f"run{r}.")
            # Raises a RuntimeError where its numbers are not a state.
            generator.set_state(own.pop("generator"))
            run.load(own, content["runs"][r])
        state = {
            i: {name: tensors[f"adam{i}.{name}"] for name in ("step", "exp_avg", "exp_avg_sq")}
            for i in content["adam"]
        }
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})
        self.epoch = content["epoch"]
        self.seconds = float(content["seconds"])
