"""TrainConfig: how to train.

One Adam for the weights of all runs, with its own rate and decay for each kind of weight.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from graphfilter.filters.base import added
from graphfilter.models import Network
from graphfilter.training.monitors import MONITORS, Monitor
from graphfilter.util.errors import ConfigError, check_count, check_name, check_number


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
    patience_share: float = added(0.0)

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
