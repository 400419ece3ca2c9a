"""Figure 4: α and β of the 16 layers while training, from 0.5."""

from __future__ import annotations

from graphfilter_research.paper.filter_dynamics import FilterDynamics

FIGURE = FilterDynamics("Figure 4: dynamics of α and β from the fixed start at 0.5", "sgf")
TARGET = FIGURE.target("fig-dynamics", "α and β while training, from 0.5 (Figure 4)")
