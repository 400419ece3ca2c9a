"""One Adam for the weights of all runs, with its own rate and decay for each kind of weight."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch

from graphfilter.models import Network
from graphfilter.training.config import TrainConfig


def _unwrapped(name: str) -> Any:
    """Return a method of torch's Adam as it was written."""
    return inspect.unwrap(getattr(torch.optim.Adam, name))


class Adam(torch.optim.Adam):
    """torch's fused Adam without what surrounds its steps, for weights of one kind on one device.

    torch wraps its methods so that its compiler leaves them alone, and imports it for that: more
    than a second of each start. Nothing here is compiled. Nor is a step announced to torch's
    profiler, or its weights sorted by device: of a small graph's epoch, a tenth.
    """

    add_param_group = _unwrapped("add_param_group")
    load_state_dict = _unwrapped("load_state_dict")
    state_dict = _unwrapped("state_dict")

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


def make_optimizer(models: Sequence[Network[Any]], config: TrainConfig) -> torch.optim.Optimizer:
    """Make one Adam for all runs: it works entry by entry, so they do not mix."""
    filters = [p for m in models for p in m.filter_parameters()]
    undecayed = [p for m in models for p in m.undecayed_parameters()]
    apart = {*filters, *undecayed}
    every = [p for m in models for p in m.parameters()]
    groups = [
        {
            "params": filters,
            "lr": config.filter_learning_rate,
            "weight_decay": config.filter_weight_decay,
        },
        {
            "params": [p for p in every if p not in apart],
            "lr": config.learning_rate,
            "weight_decay": config.weight_decay,
        },
        {"params": undecayed, "lr": config.learning_rate, "weight_decay": 0.0},
    ]
    # On a GPU the step is captured with the rest of the epoch.
    on_gpu = every[0].device.type == "cuda"
    return Adam([g for g in groups if g["params"]], fused=True, capturable=on_gpu)
