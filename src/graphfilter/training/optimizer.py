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
    """torch's Adam, whose methods do not import torch's compiler: more than a second of each start.

    torch wraps them so that its compiler leaves them alone, and imports it for that. Nothing here
    is compiled.
    """

    add_param_group = _unwrapped("add_param_group")
    load_state_dict = _unwrapped("load_state_dict")
    state_dict = _unwrapped("state_dict")
    zero_grad = _unwrapped("zero_grad")
    step = torch.no_grad()(_unwrapped("step"))


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
