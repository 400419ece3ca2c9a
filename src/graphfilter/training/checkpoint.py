"""The state of training on disk, so that an interrupted run resumes where it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from graphfilter.errors import ModelFileError
from graphfilter.storage import read_tensors, tensors_under, write_tensors
from graphfilter.training.checkpoint_checks import check_checkpoint
from graphfilter.training.division import Division
from graphfilter.training.run import Run

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
    division: Division | None = None
    epoch: int = 0
    seconds: float = 0.0

    def save(self) -> None:
        """Write the state atomically; of several processes, once and whole."""
        if self.path is None:
            return
        tensors: dict[str, Tensor] = {}
        for r, (run, generator) in enumerate(zip(self.runs, self.generators, strict=True)):
            tensors |= {f"run{r}.{name}": value for name, value in run.tensors().items()}
            tensors[f"run{r}.generator"] = generator.get_state()
        adam = self.optimizer.state_dict()["state"]
        for i, moments in adam.items():
            tensors |= {f"adam{i}.{name}": value for name, value in moments.items()}
        if self.division is not None:
            dims = self.division.dims_of_checkpoint(self.optimizer)
            tensors = self.division.whole(tensors, dims)
            if not self.division.group.is_first:
                return
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
        found = self._read() if self.division is None else self.division.group.on_first(self._read)
        if found is None:
            return
        tensors, content = found
        if self.division is not None:
            dims = self.division.dims_of_checkpoint(self.optimizer)
            tensors = self.division.own(tensors, dims)
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

    def _read(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        if self.path is None or not Path(self.path).exists():
            return None
        return read_tensors(self.path)

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
