"""Figure 8: α and β of the 16 layers while training, from a random start (appendix A.3)."""

from __future__ import annotations

from graphfilter.paper.filter_dynamics import FilterDynamics
from graphfilter.paper.published_accuracy import RANDOM_DYNAMICS
from graphfilter.paper.target import Target

FIGURE = FilterDynamics(
    "fig-random-dynamics",
    "Figure 8: dynamics of α and β from a random start (seed 0)",
    "sgf-random",
    RANDOM_DYNAMICS,
)
TARGET = Target(
    FIGURE.name,
    "α and β while training, from a random start (Figure 8)",
    FIGURE.collect,
    FIGURE.build,
)
