"""The two kinds of picture the benchmarks draw: bars beside a floor, and growth on log axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graphfilter.paper.drawing import COLOURS, GREY, MARKERS, unframe

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Series = Mapping[str, Sequence[float | None]]


def make_figure(width: float, height: float, n_axes: int = 1) -> tuple[Figure, list[Axes]]:
    """Return a figure and its axes side by side, without opening a window."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = [figure.add_subplot(1, n_axes, i + 1) for i in range(n_axes)]
    for each in axes:
        unframe(each)
    return figure, axes


def draw_bars(
    axes: Axes,
    groups: Sequence[str],
    series: Series,
    *,
    unit: str,
    floor: Sequence[float] | None = None,
    floor_label: str = "",
) -> None:
    """Draw one bar a series in every group, on a log axis, with its value above it.

    ``floor`` is a dashed line across each group; a missing value is left out.
    """
    width = 0.8 / len(series)
    centres = np.arange(len(groups))
    for i, (name, values) in enumerate(series.items()):
        at = centres + (i - (len(series) - 1) / 2) * width
        there = [(x, value) for x, value in zip(at, values, strict=True) if value is not None]
        heights = [value for _, value in there]
        bars = axes.bar([x for x, _ in there], heights, 0.92 * width, label=name, color=COLOURS[i])
        axes.bar_label(bars, [f"{h:.3g}" for h in heights], fontsize=8, padding=1)
    if floor is not None:
        for i, (centre, value) in enumerate(zip(centres, floor, strict=True)):
            label = floor_label if i == 0 else None
            axes.hlines(value, centre - 0.45, centre + 0.45, "black", "dashed", label=label)
    axes.set_yscale("log")
    axes.margins(y=0.12)
    axes.set_xticks(centres, groups)
    axes.set_ylabel(unit)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def draw_growth(
    axes: Axes,
    sizes: Sequence[float],
    seconds: Sequence[float],
    *,
    label: str,
    xlabel: str,
    index: int = 0,
) -> None:
    """Draw seconds over size on log axes, with the fitted power and a line of slope 1."""
    slope, factor = fit_power(sizes, seconds)
    x: NDArray[np.float64] = np.asarray(sizes, dtype=np.float64)
    axes.loglog(x, seconds, MARKERS[index], color=COLOURS[index], label=label)
    axes.loglog(x, factor * x**slope, color=COLOURS[index], label=f"fit: slope {slope:.2f}")
    axes.loglog(x, seconds[-1] * x / x[-1], "--", color=GREY, label="slope 1")
    axes.set_xlabel(xlabel)
    axes.set_ylabel("seconds an epoch")
    axes.legend(frameon=False, fontsize=8)


def fit_power(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """Return slope s and factor c of the least-squares fit seconds = c · size^s, in logarithms."""
    slope, intercept = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return float(slope), float(np.exp(intercept))
