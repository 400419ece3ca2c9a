"""A training whose hidden columns are divided among processes; everything else each has whole."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.models import FilterNetwork, Network
from graphfilter.models.columns import DIVIDED, column_part
from graphfilter.models.layers import Columns
from graphfilter.util.errors import ConfigError
from graphfilter.util.processes import Group, current

# The tensors of Adam that have the shape of what is trained.
_MOMENTS = ("exp_avg", "exp_avg_sq")


class Next(IntEnum):
    """What happens after an epoch, in all processes."""

    GO_ON = 0
    SAVE = 1
    STOP = 2
    INTERRUPTED = 3


class Division:
    """The columns of this process, and how the processes come together.

    Files hold all columns: a run may be resumed by another number of processes.
    """

    def __init__(self, group: Group, models: Sequence[FilterNetwork]) -> None:
        total = models[0].config.hidden_size
        assert total is not None
        if group.size > total:
            raise ConfigError(
                f"there must be at least one hidden column per process; got {total} columns and "
                f"{group.size} processes. Start fewer, or widen the hidden layer."
            )
        own = (group.rank * total // group.size, (group.rank + 1) * total // group.size)
        self.group = group
        self.columns = Columns(*own, total)
        self.models = [column_part(model, self.columns) for model in models]
        self._sent = group.sent.copy()

    def bytes_sent(self, purpose: str) -> int:
        """Return the bytes that this training has summed over the processes."""
        return self.group.sent[purpose] - self._sent[purpose]

    def same(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the first process's numbers, so that all decide the same."""
        return self.group.from_first(torch.from_numpy(values.copy())).numpy()

    def next(self, own: Next) -> Next:
        """Return what the first process has decided."""
        return Next(int(self.group.from_first(torch.tensor([int(own)], device="cpu"))))

    def whole(self, tensors: dict[str, Tensor], dims: dict[str, int]) -> dict[str, Tensor]:
        """Return tensors with all columns; ``dims`` says along which some are divided."""
        first, _, total = self.columns
        return {
            name: self.group.joined(value, dims[name], first, total) if name in dims else value
            for name, value in tensors.items()
        }

    def own(self, tensors: dict[str, Tensor], dims: dict[str, int]) -> dict[str, Tensor]:
        """Return the own columns of tensors that have all of them."""
        first, last, total = self.columns
        taken = dict(tensors)
        for name, dim in dims.items():
            # What has another shape is refused by whoever checks it.
            if name in taken and taken[name].ndim > dim and taken[name].shape[dim] == total:
                taken[name] = taken[name].narrow(dim, first, last - first).contiguous()
        return taken

    def dims_of_checkpoint(self, optimizer: torch.optim.Optimizer) -> dict[str, int]:
        """Return which tensors of a checkpoint are divided, and along which dimension."""
        dims: dict[str, int] = {}
        of_parameter: dict[Tensor, int] = {}
        for r, model in enumerate(self.models):
            named = dict(model.named_parameters())
            for name, dim in DIVIDED.items():
                of_parameter[named[name]] = dim
                dims |= {f"run{r}.{part}.{name}": dim for part in ("model", "best")}
        trained = [p for group in optimizer.param_groups for p in group["params"]]
        for i, parameter in enumerate(trained):
            if parameter in of_parameter:
                dims |= {f"adam{i}.{name}": of_parameter[parameter] for name in _MOMENTS}
        return dims


def divide(models: Sequence[Network[Any]]) -> Division | None:
    """Divide networks among the processes there are; None where this one trains them alone."""
    group = current()
    if group is None:
        return None
    # Not of a class that is derived from it, whose forward is another.
    networks = [model for model in models if type(model) is FilterNetwork]
    configs = {network.config for network in networks}
    if len(networks) < len(models) or len(configs) > 1 or not networks[0].config.can_be_divided:
        return None
    return Division(group, networks)
