"""The state of a training on disk: all of it is checked before any of it is loaded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphfilter.training.epoch import CALLED_OFF, Run
from graphfilter.util.errors import ModelFileError
from graphfilter.util.records import read_tensors, tensors_under, write_tensors

# Raised with every change of what a checkpoint holds.
FORMAT = 4


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
    tensors = _state_of(runs, generators)
    adam = optimizer.state_dict()["state"]
    for i, moments in adam.items():
        tensors |= {f"adam{i}.{name}": value for name, value in moments.items()}
    content = {
        "kind": "checkpoint", "key": key, "epoch": epoch, "seconds": seconds, "adam": sorted(adam),
        "called_off": [run.stopped if run.stopped in CALLED_OFF else "" for run in runs],
    }  # fmt: skip
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
        moments = _check(tensors, content, runs, optimizer, generators)
        for r, (run, generator) in enumerate(zip(runs, generators, strict=True)):
            # Raises a RuntimeError where its numbers are not a state.
            generator.set_state(tensors[f"run{r}.generator"])
            run.model.load_state_dict(tensors_under(tensors, f"run{r}.model."))
            run.best = {
                name: value.to(run.train.device, copy=True)
                for name, value in tensors_under(tensors, f"run{r}.best.").items()
            }
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": moments, "param_groups": groups})
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        # Only the first line: torch's own errors carry its whole C++ stack.
        problem = str(error).partition("\n")[0]
        raise ModelFileError(
            f"{path}: a damaged checkpoint ({problem}). Start again without resuming."
        ) from None
    return content["epoch"], float(content["seconds"])


def _check(
    tensors: Mapping[str, Tensor],
    content: Mapping[str, Any],
    runs: Sequence[Run],
    optimizer: torch.optim.Optimizer,
    generators: Sequence[torch.Generator],
) -> dict[int, dict[str, Tensor]]:
    """Play fresh runs through their history; raise unless this training wrote the rest as well.

    Returns the moments of each parameter. torch's fused Adam believes their sizes, and writes past
    the end of shorter ones.
    """
    epoch, seconds = content["epoch"], content["seconds"]
    if type(epoch) is not int or epoch < 0:
        raise ValueError(f"epoch is {epoch!r}")
    if type(seconds) not in (int, float) or not 0 <= seconds < math.inf:
        raise ValueError(f"seconds is {seconds!r}")
    steps: dict[Tensor, int] = {}
    for r, (run, why) in enumerate(zip(runs, content["called_off"], strict=True)):
        run.play(tensors[f"run{r}.history"], tensors[f"run{r}.filter_history"], why)
        length = len(run.history["loss"])
        if not (length == epoch if run.training else 1 <= length <= epoch):
            raise ValueError(f"run {r} has {length} epochs of {epoch}")
        steps |= dict.fromkeys(run.model.parameters(), length * run.n_steps)
    expected = _state_of(runs, generators)
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
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
                f"{name} must be {value.dtype} of shape {tuple(value.shape)}, and is {got.dtype} "
                f"of shape {tuple(got.shape)}"
            )
    return moments


def _state_of(runs: Sequence[Run], generators: Sequence[torch.Generator]) -> dict[str, Tensor]:
    """Return everything that changes in the runs, as tensors to be stored."""
    stored: dict[str, Tensor] = {}
    for r, (run, generator) in enumerate(zip(runs, generators, strict=True)):
        stored |= {f"run{r}.model.{name}": value for name, value in run.model.state_dict().items()}
        stored |= {f"run{r}.best.{name}": value for name, value in run.best.items()}
        history = torch.tensor([*run.history.values()], dtype=torch.float64).T
        stored[f"run{r}.history"] = history
        stored[f"run{r}.filter_history"] = torch.from_numpy(np.stack(run.filter_history))
        stored[f"run{r}.generator"] = generator.get_state()
    return stored
