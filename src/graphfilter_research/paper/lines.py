"""Accuracies as a line with a band, as the figures by shares have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphfilter.util.pictures import COLOURS, MARKERS
from graphfilter_research.paper.comparison import ComparedAccuracy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_line(
    axes: Axes,
    shares: Sequence[float],
    cells: Sequence[ComparedAccuracy],
    place: int,
    label: str,
    *,
    bold: bool,
    dashed: bool,
) -> None:
    """Draw what was run by share, in %, with its deviations; colour and marker go by ``place``."""
    found = [(100 * share, cell) for share, cell in zip(shares, cells, strict=True) if cell.n]
    x, good = [at for at, _ in found], [cell for _, cell in found]
    colour = COLOURS[place % len(COLOURS)]
    axes.plot(
        x,
        [cell.mean for cell in good],
        color=colour,
        marker=MARKERS[place % len(MARKERS)],
        markersize=4.5,
        markerfacecolor="white" if dashed else colour,
        linestyle="--" if dashed else "-",
        linewidth=2.4 if bold else 1.4,
        zorder=10 - place,
        label=label,
    )
    low = [max(cell.mean - cell.deviation, 0.0) for cell in good]
    high = [min(cell.mean + cell.deviation, 100.0) for cell in good]
    axes.fill_between(x, low, high, color=colour, alpha=0.1, linewidth=0)
