"""The training loop: one run or many side by side, stopped early, resumable to the bit.

:func:`train` takes networks, an operator, features, labels, splits and a :class:`TrainConfig`, and
returns one result per run.
"""

from graphfilter.training.callbacks import (
    SILENT as SILENT,
    Callback,
    LoggedProgress as LoggedProgress,
    OnEpoch,
    Progress,
    callback_from as callback_from,
    shared as shared,
)
from graphfilter.training.cohorts import multiplications as multiplications, runs_in_a_cohort
from graphfilter.training.config import TrainConfig
from graphfilter.training.loop import Training as Training, train
from graphfilter.training.monitors import MONITORS, Monitor, roc_auc as roc_auc
from graphfilter.training.request import TrainRequest as TrainRequest
from graphfilter.training.run import (
    ASKED as ASKED,
    SUPERFLUOUS as SUPERFLUOUS,
    FitResult,
    Run,
)
from graphfilter.training.target_scale import SCALES, TargetScale, choose_scale as choose_scale
from graphfilter.training.task import Task
from graphfilter.training.tasks import (
    CLASSIFICATION,
    MULTILABEL,
    REGRESSION,
    TASKS,
    Classification as Classification,
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
