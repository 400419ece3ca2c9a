"""What every picture shares: its axes, the axis of frequencies, names in a legend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Where a response is evaluated.
FREQUENCY_GRID = np.linspace(0, 2, 401)


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


def eigenvalue_of(frequency: NDArray[np.float64], operator: str) -> NDArray[np.float64]:
    """Translate frequency to the operator's eigenvalue: adjacencies run the other way."""
    return frequency if operator == "laplacian" else 1 - frequency


def common_signs(curves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sign that turns each response (row) the way of the first.

    The layers after a filter undo its sign, so members may learn the same filter with either.
    """
    return np.where(curves @ curves[0] >= 0, 1.0, -1.0)


def mean_curve(curves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of responses (rows), all turned the way of the first."""
    return np.mean(common_signs(curves)[:, None] * curves, axis=0)
