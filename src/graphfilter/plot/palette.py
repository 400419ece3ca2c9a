"""Colours and markers of every picture: distinguishable by everyone, in print too."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which the colour-blind tell apart, without their yellow, which white
# paper swallows. Each has a marker, so that lines are distinguishable without colour too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#8a8a8a"
FAINT = "#cccccc"
FREQUENCY_AXIS = "graph frequency   (0: neighbours agree, 2: they disagree)"


def unframe(axes: Axes) -> None:
    """Remove the upper and the right side of the frame."""
    axes.spines[["top", "right"]].set_visible(False)
