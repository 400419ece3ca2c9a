"""``channels.png``: the response of the filter of each edge type and direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from graphfilter.filters import Filter
from graphfilter.util.pictures import COLOURS, FAINT, FREQUENCY_AXIS, mean_curve, shorten, unframe

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_channels(
    filters: Mapping[str, Sequence[Filter]],
    shares: Mapping[str, float],
    lowest: Mapping[str, float],
    title: str = "",
) -> Figure:
    """Draw the mean response of each channel over its frequencies 1 - λ, the strongest thickest.

    Parameters
    ----------
    filters : mapping
        Channel to the filters of the members.
    shares : mapping
        Channel to its share in the answer.
    lowest : mapping
        Channel to the lower bound of its operator's spectrum: there are no frequencies beyond it.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    for i, (name, members) in enumerate(filters.items()):
        frequency = np.linspace(0, 1 - lowest[name], 401)
        curves = np.array([f.response(1 - frequency) for f in members])
        mean = mean_curve(curves)
        axes.plot(
            frequency,
            mean,
            color=COLOURS[i % len(COLOURS)],
            linestyle="-" if i < len(COLOURS) else "--",
            linewidth=0.8 + 2.4 * shares[name],
            label=f"{shorten(name)} ({shares[name]:.0%})",
        )
    axes.set_xlim(0, 2)
    axes.set_xlabel(FREQUENCY_AXIS)
    axes.set_ylabel("response f")
    axes.set_title(title)
    unframe(axes)
    figure.legend(loc="outside lower center", ncols=4)
    return figure
