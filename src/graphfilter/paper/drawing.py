"""What the figures of the paper share: colours and markers that are told apart by everyone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette without its yellow, and a marker each: told apart without colour too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#8a8a8a"
FREQUENCY_AXIS = "graph frequency   (0: neighbours agree, 2: they disagree)"


def unframe(axes: Axes) -> None:
    """Take away the frame's upper and right side."""
    axes.spines[["top", "right"]].set_visible(False)
