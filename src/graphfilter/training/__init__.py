"""The one training loop: one run or many side by side, stopped early, resumable to the bit.

Takes any network of ``models``; knows no system, no dataset and no estimator.
"""

from graphfilter.training.config import TrainConfig
from graphfilter.training.loop import OnEpoch, Progress, runs_in_a_cohort, train
from graphfilter.training.monitors import MONITORS, Monitor
from graphfilter.training.run import FitResult, Run

__all__ = [
    "MONITORS",
    "FitResult",
    "Monitor",
    "OnEpoch",
    "Progress",
    "Run",
    "TrainConfig",
    "runs_in_a_cohort",
    "train",
]
