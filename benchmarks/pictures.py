"""The two kinds of picture the benchmarks draw: bars beside a floor, and growth on log axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from graphfilter.util.pictures import COLOURS, GREY, MARKERS, unframe
from harness import three_digits

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
    from matplotlib.patheffects import withStroke

    width = 0.8 / len(series)
    crowded = len(series) > 4  # Values beside each other would overlap: they are turned.
    centres = np.arange(len(groups))
    for i, (name, values) in enumerate(series.items()):
        at = centres + (i - (len(series) - 1) / 2) * width
        there = [(x, value) for x, value in zip(at, values, strict=True) if value is not None]
        heights = [value for _, value in there]
        bars = axes.bar([x for x, _ in there], heights, 0.92 * width, label=name, color=COLOURS[i])
        shown, turn = [three_digits(h) for h in heights], 90 if crowded else 0
        labels = axes.bar_label(bars, shown, fontsize=8, padding=1, rotation=turn)
        for label in labels:
            label.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
            label.set_zorder(3)
    if floor is not None:
        for i, (centre, value) in enumerate(zip(centres, floor, strict=True)):
            label = floor_label if i == 0 else "_"
            axes.hlines(value, centre - 0.45, centre + 0.45, "black", "dashed", label=label)
    axes.set_yscale("log")
    drawn = [v for values in (*series.values(), floor or ()) for v in values if v is not None]
    axes.set_ylim(10 ** math.floor(math.log10(min(drawn))), (4 if crowded else 1.6) * max(drawn))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
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
    """Draw seconds over size on log axes, with the line and the power fitted to them."""
    fixed, rate, _ = fit_line(sizes, seconds)
    slope, factor = fit_power(sizes, seconds)
    x = np.geomspace(sizes[0], sizes[-1], 100)
    axes.loglog(sizes, seconds, MARKERS[index], color=COLOURS[index], label=label)
    axes.loglog(x, fixed + rate * x, color=COLOURS[index], label="fixed part + linear part")
    axes.loglog(x, factor * x**slope, "--", color=GREY, label=f"power: slope {slope:.2f}")
    axes.set_xlabel(xlabel)
    axes.set_ylabel("seconds an epoch")
    axes.legend(frameon=False, fontsize=8)


def fit_power(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """Return slope s and factor c of the least-squares fit seconds = c · size^s, in logarithms."""
    slope, intercept = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return float(slope), float(np.exp(intercept))


def fit_line(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float, float]:
    """Return fixed part, rate and largest deviation of the fit seconds = fixed + rate · size.

    Deviations are relative, in the fit as in the result, so that small sizes count like large.
    """
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(seconds, dtype=np.float64)
    rows = np.stack([1 / y, x / y], axis=1)
    (fixed, rate), *_ = np.linalg.lstsq(rows, np.ones_like(y))
    deviation = np.abs(rows @ (fixed, rate) - 1).max()
    return float(fixed), float(rate), float(deviation)
