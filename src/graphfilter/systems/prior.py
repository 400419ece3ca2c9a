"""What is believed of the members before validation vertices are asked."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from graphfilter.filters import PageRankFilterConfig
from graphfilter.graph import Graph
from graphfilter.models import FilterNetworkConfig
from graphfilter.spectral import estimate_label_frequency
from graphfilter.splits import Split
from graphfilter.systems.system import System

# Labels below this frequency are low: those that have nothing to do with the edges are near 1.
LOW = 0.7


def prior_weights(systems: Sequence[System], graph: Graph, split: Split) -> NDArray[np.float64]:
    """Return a prior share for each system: equal, but for low-pass ones where labels say so.

    The frequency of the labels is estimated from those that are known, without bias
    (Proposition 3, corrected). Where it is surely low, a low-pass member is believed as much as
    all others together; where it is not, or labels are too few to say, all alike.
    """
    smooth = np.array([_is_low_pass(system) for system in systems])
    belief = _low_frequency(graph, split) if smooth.any() else 0.0
    weights = np.where(smooth, 1 + len(systems) * belief, 1.0)
    return weights / weights.sum()


def _is_low_pass(system: System) -> bool:
    model = system.model
    return isinstance(model, FilterNetworkConfig) and isinstance(model.filter, PageRankFilterConfig)


def _low_frequency(graph: Graph, split: Split) -> float:
    """Return how sure it is that labels are of low frequency: 0 where nothing is known, up to 1."""
    known = np.concatenate([split.train, split.val])
    estimate = estimate_label_frequency(graph, np.sort(known))
    width = estimate.mean_high - estimate.mean_low
    if not np.isfinite([estimate.mean, width]).all() or width <= 0:
        return 0.0
    deviation = width / (2 * NormalDist().inv_cdf(0.975))
    probability = NormalDist(estimate.mean, deviation).cdf(LOW)
    return max(0.0, 2 * probability - 1)
