"""How good predictions are, and whether one system is better than another.

Scores are computed from probabilities and labels; tests and intervals say whether a difference may
be chance.
"""

from graphfilter.runs.comparing import (
    FEWEST_RUNS,
    LEVEL,
    SIGNIFICANCE,
    corrected_t_test,
    holm,
    mcnemar_test,
    mean_interval,
    welch_t_test,
    wilson_interval,
)
from graphfilter.training.scores import (
    METRICS,
    Metric,
    calibration_by_chance,
    calibration_error,
    is_rare,
    looked_for,
    score,
    score_parts,
)

__all__ = [
    "FEWEST_RUNS",
    "LEVEL",
    "METRICS",
    "SIGNIFICANCE",
    "Metric",
    "calibration_by_chance",
    "calibration_error",
    "corrected_t_test",
    "holm",
    "is_rare",
    "looked_for",
    "mcnemar_test",
    "mean_interval",
    "score",
    "score_parts",
    "welch_t_test",
    "wilson_interval",
]
