"""How good predictions are, and whether one system is better than another.

Scores are computed from probabilities and labels; tests and intervals say whether a difference may
be chance.
"""

from graphfilter.metrics.bootstrap import (
    Measure as Measure,
    average_precision_of as average_precision_of,
    draw_scores as draw_scores,
    drawn_interval as drawn_interval,
    drawn_p_value as drawn_p_value,
)
from graphfilter.metrics.coverage import (
    Coverage as Coverage,
    chance_of_coverage as chance_of_coverage,
    coverage_by as coverage_by,
)
from graphfilter.metrics.expected import Expected as Expected, LossBins as LossBins
from graphfilter.metrics.moved import ColumnSummary as ColumnSummary, Moved as Moved
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
from graphfilter.metrics.thresholds import (
    DECISION_METRICS as DECISION_METRICS,
    EQUAL_COSTS as EQUAL_COSTS,
    BinaryCurve as BinaryCurve,
    Costs as Costs,
    Decision as Decision,
    choose_threshold as choose_threshold,
    lifts as lifts,
    score_decision as score_decision,
)
from graphfilter.metrics.values import (
    LABEL_METRICS as LABEL_METRICS,
    NUMBER_METRICS as NUMBER_METRICS,
    score_labels as score_labels,
    score_numbers as score_numbers,
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
