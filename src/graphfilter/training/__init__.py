"""The training loop: one run or many side by side, stopped early, resumable to the bit.

:func:`train` takes networks, an operator, features, labels, splits and a :class:`TrainConfig`, and
returns one result per run.
"""

from graphfilter.training.callbacks import Callback, OnEpoch, Progress
from graphfilter.training.epoch import FitResult, Run
from graphfilter.training.loop import TrainConfig, runs_in_a_cohort, train
from graphfilter.training.scores import MONITORS, Monitor
from graphfilter.training.tasks import (
    CLASSIFICATION,
    MULTILABEL,
    REGRESSION,
    SCALES,
    TASKS,
    TargetScale,
    Task,
)

__all__ = [
    "CLASSIFICATION",
    "MONITORS",
    "MULTILABEL",
    "REGRESSION",
    "SCALES",
    "TASKS",
    "Callback",
    "FitResult",
    "Monitor",
    "OnEpoch",
    "Progress",
    "Run",
    "TargetScale",
    "Task",
    "TrainConfig",
    "runs_in_a_cohort",
    "train",
]
