"""Coverages: what may be promised, and how many vertices a promise needs."""

from __future__ import annotations

import numpy as np

from graphfilter.errors import ConfigError, check_number


def check_coverage(coverage: float) -> float:
    """Return a coverage if it is a number between 0 and 1; otherwise raise.

    >>> check_coverage(0.9)
    0.9
    """
    if not 0 < check_number("coverage", coverage) < 1:
        raise ConfigError(f"coverage must be between 0 and 1; got {coverage}. Usual: 0.8 to 0.95.")
    return float(coverage)


def fewest_for(coverage: float) -> int:
    """Return how many vertices must calibrate for a coverage; with fewer everything is allowed.

    >>> fewest_for(0.9), fewest_for(0.95)
    (9, 19)
    """
    return int(np.ceil(coverage / (1 - coverage) - 1e-9))
