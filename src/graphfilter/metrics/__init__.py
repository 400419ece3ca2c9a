"""How good an answer is, and whether one is better than another: numbers in, numbers out."""

from graphfilter.metrics.scores import calibration_error, score, score_parts
from graphfilter.metrics.significance import corrected_t_test, holm

__all__ = ["calibration_error", "corrected_t_test", "holm", "score", "score_parts"]
