"""Pictures of filters. Every one has graph frequency on the horizontal axis, from 0 to 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.filters import Filter
from graphfilter.report.palette import COLOURS, FAINT, FREQUENCY_AXIS, GREY, unframe
from graphfilter.storage import atomic_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from graphfilter.spectral import Density


@dataclass(frozen=True, eq=False)
class FilterView:
    """What a picture of a learned filter shows.

    Attributes
    ----------
    operator : str
        The kind of operator the filters act on.
    start : Filter
        The filter before training.
    learned : sequence of Filter
        One per run or ensemble member.
    label_frequency : mapping
        Class name to the frequency of its label signal.
    title, corner : str
        Above, and in the top corner.
    """

    operator: str
    start: Filter
    learned: Sequence[Filter]
    label_frequency: Mapping[Any, float]
    title: str = ""
    corner: str = ""


def draw_filter(view: FilterView) -> Figure:
    """Draw one filter: its response at the start and learned, and where the labels are."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    _draw_view(axes, view)
    axes.set_xlabel(FREQUENCY_AXIS)
    axes.set_ylabel("response f")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def draw_filters(views: Sequence[FilterView]) -> Figure:
    """Draw several filters side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(views), 3.9), layout="constrained")
    panels = figure.subplots(1, len(views), squeeze=False)[0]
    for axes, view in zip(panels, views, strict=True):
        _draw_view(axes, view)
    panels[len(views) // 2].set_xlabel(FREQUENCY_AXIS)
    panels[0].set_ylabel("response f")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def draw_spectrum(
    density: Density, energy: Density, names: Sequence[Any], title: str = ""
) -> Figure:
    """Draw where the graph's frequencies lie, and the energy of each class's labels on them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.subplots()
    label = "all frequencies of the graph"
    axes.bar(density.centres, density.values, density.width, color="#dddddd", label=label, zorder=1)
    edges = np.append(energy.centres - energy.width / 2, 2.0)
    for i, (name, values) in enumerate(zip(names, np.atleast_2d(energy.values), strict=True)):
        style = "-" if i < len(COLOURS) else "--"
        axes.stairs(
            values,
            edges,
            color=COLOURS[i % len(COLOURS)],
            linestyle=style,
            linewidth=1.6,
            label=f"labels: {shorten(name)}",
            zorder=2,
        )
    axes.set_xlim(0, 2)
    axes.set_xlabel(FREQUENCY_AXIS)
    axes.set_ylabel("density")
    axes.set_title(title)
    unframe(axes)
    columns = 1 if len(names) < 12 else 2
    figure.legend(loc="outside right upper", fontsize="small", ncols=columns)
    return figure


def save_figure(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a picture atomically."""
    with atomic_file(path) as temporary:
        figure.savefig(temporary, dpi=150)


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


def _draw_view(axes: Axes, view: FilterView) -> None:
    frequency = np.linspace(0, 2, 401)
    lam = eigenvalue_of(frequency, view.operator)
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    axes.plot(
        frequency, view.start.response(lam), color=GREY, linestyle="--", label="before training"
    )
    curves = np.array([f.response(lam) for f in view.learned])
    curves *= common_signs(curves)[:, None]
    if len(curves) > 1:
        for curve in curves:
            axes.plot(frequency, curve, color=COLOURS[0], alpha=0.25, linewidth=1)
    label = "learned" if len(curves) == 1 else "learned (mean and runs)"
    axes.plot(frequency, curves.mean(axis=0), color=COLOURS[0], linewidth=2.2, label=label)
    known = [value for value in view.label_frequency.values() if np.isfinite(value)]
    for i, value in enumerate(known):
        mark = "label frequency of a class" if i == 0 else None
        axes.axvline(
            value, color=COLOURS[1], linewidth=1, linestyle=":", ymax=0.97, label=mark, zorder=1
        )
    axes.plot(known, [0] * len(known), marker="^", color=COLOURS[1], linestyle="none", zorder=3)
    axes.set_xlim(-0.02, 2.02)
    axes.set_title(view.title)
    if view.corner:
        axes.text(0.98, 0.96, view.corner, transform=axes.transAxes, ha="right", va="top")
    unframe(axes)
