"""How good predictions are, and whether one system is better than another.

``scores`` holds what is computed from probabilities and labels, ``significance`` the tests and
intervals. A new metric goes into ``scores.score`` and ``scores.METRICS``. Numbers in, numbers out:
beyond ``errors`` and ``splits``, nothing of this package is imported.
"""

from graphfilter.metrics.scores import (
    METRICS,
    Metric,
    calibration_by_chance,
    calibration_error,
    is_rare,
    looked_for,
    score,
    score_parts,
)
from graphfilter.metrics.significance import (
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
