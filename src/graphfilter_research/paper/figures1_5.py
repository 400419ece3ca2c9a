"""Figures 1 and 5: block diagrams of SGF, and of filters stacked vertically and horizontally."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from graphfilter.util.pictures import COLOURS, GREY
from graphfilter_research.paper.collect import Options
from graphfilter_research.paper.tables import Rendered
from graphfilter_research.paper.target import MeasuredTarget, measure_nothing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ORDER = 4


def build(folder: Path, options: Options) -> Rendered:
    """Draw the diagrams."""
    return Rendered("Figures 1 and 5: block diagrams of SGF and of its stacking", figure=draw())


def draw() -> Figure:
    """Draw the model, and order-4 filters stacked both ways, one above the other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6.2), layout="constrained")
    model, vertical, horizontal = figure.subplots(3, 1)
    _draw_model(model)
    _draw_vertical(vertical)
    _draw_horizontal(horizontal)
    for axes in (model, vertical, horizontal):
        axes.set_xlim(-0.7, 11.2)
        axes.set_ylim(-1.4, 0.6)
        axes.set_axis_off()
    return figure


def _draw_model(axes: Axes) -> None:
    axes.set_title("SGF (Figure 1): one filter layer is α P H + β H₀, P is Ã or L", loc="left")
    _chain(axes, ["X", "linear, relu", "filter 1", "filter 2", "…", "filter K", "linear", "ŷ"])
    # H₀ goes to every filter.
    for i in (2, 3, 5):
        _skip(axes, 2.2, 1.55 * i, rf"$\beta_{'12_K'[i - 2]} H_0$")


def _draw_vertical(axes: Axes) -> None:
    axes.set_title("Stacked vertically (Figure 5, left)", loc="left")
    layers = [rf"$\alpha_{i} P\,\cdot\, +$" for i in range(1, ORDER + 1)]
    _chain(axes, ["H₀", *layers, "H₄"])
    for i in range(1, ORDER + 1):
        _skip(axes, 0.0, 1.55 * i, rf"$\beta_{i}$")


def _draw_horizontal(axes: Axes) -> None:
    axes.set_title("Stacked horizontally (Figure 5, right): θ learned directly", loc="left")
    _chain(axes, ["H₀", *["P ·"] * ORDER, "Σ"])
    for i in range(ORDER + 1):
        _skip(axes, 1.55 * i, 1.55 * (ORDER + 1), rf"$\theta_{i}$", label_at_start=True)


def _chain(axes: Axes, labels: list[str]) -> None:
    """Draw boxes from left to right, with an arrow into each but the first."""
    for i, label in enumerate(labels):
        x = 1.55 * i
        box = {"boxstyle": "round,pad=0.45", "facecolor": "white", "edgecolor": COLOURS[0]}
        axes.text(x, 0, label, ha="center", va="center", bbox=box, fontsize=11)
        if i:
            axes.annotate(
                "", (x - 0.55, 0), (x - 1.0, 0), arrowprops={"arrowstyle": "->", "color": GREY}
            )


def _skip(
    axes: Axes, start: float, end: float, label: str, *, label_at_start: bool = False
) -> None:
    """Draw an arrow below the boxes, with its weight beside one of its ends."""
    arrow = {"arrowstyle": "->", "color": GREY, "connectionstyle": "angle,angleA=-90,angleB=0"}
    axes.plot([start, start, end], [-0.35, -1.1, -1.1], color=GREY, linewidth=0.8)
    axes.annotate("", (end, -0.35), (end, -1.12), arrowprops={**arrow, "connectionstyle": "arc3"})
    at = start if label_at_start else end
    axes.text(at + 0.08, -0.78, label, ha="left", va="center", fontsize=11)


TARGET = MeasuredTarget(
    name="fig-blocks",
    summary="block diagrams (Figures 1, 5)",
    measure=measure_nothing,
    show=build,
    has_quick=False,
)
