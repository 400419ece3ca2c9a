"""Responses of filters over graph frequency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from graphfilter.plot.axes import FREQUENCY_GRID, common_signs, eigenvalue_of, take_axes
from graphfilter.plot.palette import COLOURS, FAINT, FREQUENCY_AXIS, GREY, unframe

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The name of a response among the lines of a picture: each has the next colour.
_RESPONSE = "response"


class Response(Protocol):
    """What has a response: any :class:`~graphfilter.filters.Filter`."""

    @property
    def interval(self) -> tuple[float, float]: ...

    def response(self, lam: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class FilterView:
    """What a picture of a learned filter shows.

    Attributes
    ----------
    operator : str
        The name of the operator the filters act on.
    start : Filter or None
        The filter before training, where it is known.
    learned : sequence of Filter
        One per run or ensemble member.
    label_frequency : mapping
        Class name to the frequency of its label signal.
    title, corner : str
        Above, and in the top corner.
    """

    operator: str
    start: Response | None
    learned: Sequence[Response]
    label_frequency: Mapping[Any, float]
    title: str = ""
    corner: str = ""


def response(
    filter: Response, ax: Axes | None = None, *, operator: str | None = None, label: str = ""
) -> Axes:
    """Draw the response of a filter over graph frequency, from 0 to 2.

    Parameters
    ----------
    filter : Filter
    ax : matplotlib Axes, optional
        Drawn on, beside what is there; a new figure of pyplot's otherwise.
    operator : str, optional
        The name of the operator the filter runs on, which maps eigenvalues to frequencies:
        1 - λ for adjacencies, λ for the Laplacian. Where not given, the Laplacian for filters of
        an interval that starts at 0 or above (``ChebyshevFilter``), an adjacency for others.
    label : str
        For a legend.

    Examples
    --------
    >>> import graphfilter as gf
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> gf.plot.response(gf.filters.PageRankFilter(), ax, label="APPNP").get_xlabel()[:15]
    'graph frequency'
    """
    axes = take_axes(ax)
    if operator is None:
        operator = "laplacian" if filter.interval[0] >= 0 else "adjacency"
    before = sum(line.get_gid() == _RESPONSE for line in axes.lines)
    if not before:
        axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    values = filter.response(eigenvalue_of(FREQUENCY_GRID, operator))
    colour = COLOURS[before % len(COLOURS)]
    axes.plot(FREQUENCY_GRID, values, color=colour, linewidth=2, label=label or None, gid=_RESPONSE)
    axes.set_xlim(-0.02, 2.02)
    axes.set_xlabel(FREQUENCY_AXIS)
    axes.set_ylabel("response f")
    unframe(axes)
    return axes


def plot_view(view: FilterView, ax: Axes | None = None) -> Axes:
    """Draw a filter with its legend and the names of its axes; return the axes."""
    axes = take_axes(ax)
    draw_view(axes, view)
    axes.set_xlabel(FREQUENCY_AXIS)
    axes.set_ylabel("response f")
    axes.legend(fontsize="small")
    return axes


def draw_view(axes: Axes, view: FilterView) -> None:
    """Draw a filter before training and learned, and where the labels are."""
    lam = eigenvalue_of(FREQUENCY_GRID, view.operator)
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    if view.start is not None:
        start = view.start.response(lam)
        axes.plot(FREQUENCY_GRID, start, color=GREY, linestyle="--", label="before training")
    curves = np.array([f.response(lam) for f in view.learned])
    curves *= common_signs(curves)[:, None]
    if len(curves) > 1:
        for curve in curves:
            axes.plot(FREQUENCY_GRID, curve, color=COLOURS[0], alpha=0.25, linewidth=1)
    label = "learned" if len(curves) == 1 else "learned (mean and runs)"
    axes.plot(FREQUENCY_GRID, curves.mean(axis=0), color=COLOURS[0], linewidth=2.2, label=label)
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
