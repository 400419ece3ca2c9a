"""Plain models beside the fitted one, to tell whether the graph helps and adapting is needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# APPNP is low-pass on every graph. SGC squares the adjacency, so that the highest frequency
# passes as well as the lowest: it is shown beside, and does not answer whether low-pass will do.
NO_GRAPH, LOW_PASS, TWO_STEPS = "mlp", "appnp", "sgc"
BASELINES = {
    NO_GRAPH: "the same network without the graph",
    LOW_PASS: "a fixed low-pass filter: neighbours are always averaged",
    TWO_STEPS: "a fixed two-step average; passes the highest frequency as well as the lowest",
}


@dataclass(frozen=True, eq=False)
class Baseline:
    """What a plain model says of every vertex, trained on the same split."""

    name: str
    title: str
    meaning: str
    predicted: NDArray[np.int64]
    seconds: float
