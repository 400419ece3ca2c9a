"""Pictures beside a page: filters and spectra over graph frequency, from 0 to 2."""

from __future__ import annotations

import io
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from graphfilter.spectral.plot import FilterView, common_signs, plot_view
from graphfilter.util.files import atomic_file
from graphfilter.util.pictures import COLOURS, FAINT, FREQUENCY_AXIS, shorten, unframe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from graphfilter.runs.findings import Channel


DPI = 150


def draw_filter(view: FilterView) -> Figure:
    """Draw one filter: its response at the start and learned, and where the labels are."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2))
    # Every fit draws it: finding a layout would take as long as all the rest.
    axes = figure.add_axes((0.1, 0.19, 0.88, 0.74))
    plot_view(view, axes)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=4)
    return figure


def draw_channels(channels: Sequence[Channel], title: str = "") -> Figure:
    """Draw the mean response of each channel over its frequencies 1 - λ, the strongest thickest.

    There are no frequencies beyond the lower bound of its operator's spectrum.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    for i, channel in enumerate(channels):
        frequency = np.linspace(0, 1 - channel.lowest, 401)
        curves = np.array([f.response(1 - frequency) for f in channel.filters])
        axes.plot(
            frequency,
            np.mean(common_signs(curves) * curves, axis=0),
            color=COLOURS[i % len(COLOURS)],
            linestyle="-" if i < len(COLOURS) else "--",
            linewidth=0.8 + 2.4 * channel.share,
            label=f"{shorten(channel.name)} ({channel.share:.0%})",
        )
    axes.set_xlim(0, 2)
    axes.set_xlabel(FREQUENCY_AXIS)
    axes.set_ylabel("response f")
    axes.set_title(title)
    unframe(axes)
    figure.legend(loc="outside lower center", ncols=4)
    return figure


def draw_png(figure: Figure) -> bytes:
    """Return a picture as a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure.set_dpi(DPI)
    stream = io.BytesIO()
    # Not savefig: it draws everything once more beforehand.
    FigureCanvasAgg(figure).print_png(stream)
    return stream.getvalue()


def save_figure(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a picture atomically."""
    with atomic_file(path) as temporary:
        temporary.write_bytes(draw_png(figure))
