"""Where the frequencies of a graph lie, and the energy of its labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphfilter.graph import Graph
from graphfilter.plot import COLOURS, FREQUENCY_AXIS, shorten, take_axes, unframe
from graphfilter.spectral.density import Density, label_energy, spectral_density

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_spectrum(graph: Graph, ax: Axes | None = None, *, n_bins: int = 40) -> Axes:
    """Draw where a graph's frequencies lie and, where it has labels, their energy by class.

    Parameters
    ----------
    graph : Graph
    ax : matplotlib Axes, optional
        Drawn on, beside what is there; a new figure of pyplot's otherwise.
    n_bins : int
        Of the densities; see :func:`spectral_density`.

    Examples
    --------
    >>> import graphfilter as gf
    >>> from matplotlib.figure import Figure
    >>> ax = gf.spectral.plot_spectrum(gf.load_dataset("karate"), Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['labels: Mr. Hi, Officer', 'all frequencies of the graph']
    """
    density = spectral_density(graph, n_bins)
    energy = label_energy(graph, n_bins=n_bins) if graph.n_classes else None
    axes = take_axes(ax, (8, 4.2))
    draw_densities(axes, density, energy, graph.classes.tolist())
    axes.legend(fontsize="small", ncols=1 if graph.n_classes < 12 else 2)
    return axes


def draw_densities(
    axes: Axes, density: Density, energy: Density | None, names: Sequence[Any]
) -> None:
    """Draw the density of all frequencies, and one line per class with its energy."""
    label = "all frequencies of the graph"
    axes.bar(density.centres, density.values, density.width, color="#dddddd", label=label, zorder=1)
    curves = [] if energy is None else list(zip(names, np.atleast_2d(energy.values), strict=True))
    if len(curves) == 2 and np.allclose(curves[0][1], curves[1][1]):
        # The signals of two classes are mirror images, unless vertices are unlabelled.
        curves = [(f"{names[0]}, {names[1]}", curves[0][1])]
    for i, (name, of_class) in enumerate(curves):
        axes.stairs(
            of_class,
            np.append(density.centres - density.width / 2, 2.0),
            color=COLOURS[i % len(COLOURS)],
            linestyle="-" if i < len(COLOURS) else "--",
            linewidth=1.6,
            label=f"labels: {shorten(name)}",
            zorder=2,
        )
    axes.set_xlim(0, 2)
    axes.set_xlabel(FREQUENCY_AXIS)
    axes.set_ylabel("density")
    unframe(axes)
