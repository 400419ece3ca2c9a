"""What directions and edge types contribute to an answer."""

from __future__ import annotations

from copy import deepcopy
from typing import TypedDict

import numpy as np

from graphfilter.estimators import CHANNELS, VertexEstimator
from graphfilter.models import ChannelNetwork


class ChannelMetrics(TypedDict):
    """One channel in ``metrics.json``: its share in the answer, and each member's filter."""

    name: str
    share: float
    theta: list[list[float]]


def measure_channels(estimator: VertexEstimator) -> list[ChannelMetrics]:
    """Return what each channel contributes to the fitted graph's answer; nothing without any."""
    members = [m for m in estimator.members_ if isinstance(m, ChannelNetwork)]
    if not members:
        return []
    prepared = estimator.prepared_
    operator = prepared.operator(CHANNELS)
    # Copies: the estimator's own stay where they are.
    there = [deepcopy(m).eval().to(operator.device) for m in members]
    shares = [m.contributions(operator, prepared.x) for m in there]
    return [
        {
            "name": name,
            "share": float(np.mean([share[name] for share in shares])),
            "theta": [m.learned_filters()[name].coefficients().detach().tolist() for m in members],
        }
        for name in members[0].channels
    ]
