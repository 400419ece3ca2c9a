"""Figure 8: α and β of the 16 layers while training, from a random start (appendix A.3)."""

from __future__ import annotations

from graphfilter_research.paper.filter_dynamics import FilterDynamics
from graphfilter_research.paper.published_accuracy import RANDOM_DYNAMICS

FIGURE = FilterDynamics(
    "Figure 8: dynamics of α and β from a random start (seed 0)", "sgf-random", RANDOM_DYNAMICS
)
TARGET = FIGURE.target(
    "fig-random-dynamics", "α and β while training, from a random start (Figure 8)"
)
