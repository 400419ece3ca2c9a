"""TrainConfig: how to train."""

from __future__ import annotations

from dataclasses import dataclass

from graphfilter.errors import ConfigError, check_count, check_name, check_number
from graphfilter.filters import added
from graphfilter.training.monitors import MONITORS, Monitor


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
