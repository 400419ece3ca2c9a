"""What every picture shares: axes, colours, names in a legend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Where a response is evaluated.
FREQUENCY_GRID = np.linspace(0, 2, 401)
# Okabe and Ito's colours, which the colour-blind tell apart, without their yellow, which white
# paper swallows. Each has a marker, so that lines are distinguishable without colour too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#8a8a8a"
FAINT = "#cccccc"
FREQUENCY_AXIS = "graph frequency   (0: neighbours agree, 2: they disagree)"


def take_axes(ax: Axes | None, size: tuple[float, float] = (7, 4.2)) -> Axes:
    """Return the axes that were given, or those of a new figure.

    The new one is made by pyplot, so that notebooks show it; nothing else here touches pyplot.
    """
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def shorten(name: Any, most: int = 24) -> str:
    """Cut a long name for a legend, and keep matplotlib from reading it as mathematics."""
    text = str(name).replace("$", r"\$")
    return text if len(text) <= most else text[: most - 1] + "…"


def unframe(axes: Axes) -> None:
    """Remove the upper and the right side of the frame."""
    axes.spines[["top", "right"]].set_visible(False)
