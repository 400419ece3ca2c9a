"""How the scalars of a filter moved in training, and its response over graph frequency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphfilter.util.errors import GraphFilterError
from graphfilter.util.pictures import (
    COLOURS,
    FAINT,
    FREQUENCY_AXIS,
    FREQUENCY_GRID,
    GREY,
    take_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_LETTERS = {"alpha": "α", "beta": "β", "theta": "θ", "cheby": "c"}


def dynamics(history: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Draw the learned scalars of a filter by epoch: one row per scalar, red above 0, blue below.

    Parameters
    ----------
    history : mapping
        ``history_`` of a fitted estimator, or ``FitResult.history``: what has one row per epoch
        (α and β of a stacked filter) is drawn, what has one number per epoch is not.
    ax : matplotlib Axes, optional
        Drawn on; a new figure of pyplot's otherwise. The colour scale takes a part of its place.

    Examples
    --------
    >>> import graphfilter as gf
    >>> from matplotlib.figure import Figure
    >>> g = gf.data.make_bipartite(n_side=30, probability=0.3, n_features=4, seed=0)
    >>> clf = gf.SGFClassifier(n_layers=4, max_epochs=20, random_state=0).fit(graph=g)
    >>> ax = gf.plot.dynamics(clf.history_, Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()][:2]
    ['α₁', 'α₂']
    """
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in history.items()}
    # What has one row of numbers per epoch, (n_epochs, K) each.
    scalars = {name: values.T for name, values in arrays.items() if values.ndim == 2}
    if not scalars:
        raise GraphFilterError(
            "history must hold the scalars of a filter by epoch, such as alpha and beta; got "
            f"{', '.join(map(str, history)) or 'nothing'}. Filters that are fixed have none."
        )
    axes = take_axes(ax)
    rows = np.concatenate(list(scalars.values()))
    most = float(np.abs(rows[np.isfinite(rows)]).max(initial=1e-12))
    n_epochs = rows.shape[1]
    image = axes.imshow(
        rows,
        aspect="auto",
        interpolation="nearest",
        cmap="RdBu_r",
        vmin=-most,
        vmax=most,
        extent=(-0.5, n_epochs - 0.5, len(rows) - 0.5, -0.5),
    )
    # All rows have a name where there are few, some of each kind otherwise.
    ticks: dict[int, str] = {}
    start = 0
    for name, values in scalars.items():
        for i in range(0, len(values), 1 if len(rows) <= 20 else -(-len(values) // 4)):
            number = str(i + (name in ("alpha", "beta")))
            ticks[start + i] = _LETTERS.get(name, name) + number.translate(_LOWERED)
        start += len(values)
        if start < len(rows):
            axes.axhline(start - 0.5, color="black", linewidth=1)
    axes.set_yticks(list(ticks), list(ticks.values()))
    axes.set_xlabel("epoch")
    axes.figure.colorbar(image, ax=axes, shrink=0.9, pad=0.02)
    return axes


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
    lam = _prepare(axes, operator)
    values = filter.response(lam)
    colour = COLOURS[before % len(COLOURS)]
    axes.plot(FREQUENCY_GRID, values, color=colour, linewidth=2, label=label or None, gid=_RESPONSE)
    axes.set_xlabel(FREQUENCY_AXIS)
    axes.set_ylabel("response f")
    return axes


def _prepare(axes: Axes, operator: str) -> NDArray[np.float64]:
    """Prepare axes for responses; return the eigenvalues of an operator by their frequency."""
    if all(line.get_gid() != _RESPONSE for line in axes.lines):
        axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    axes.set_xlim(-0.02, 2.02)
    axes.spines[["top", "right"]].set_visible(False)
    # Adjacencies run the other way.
    return FREQUENCY_GRID if operator == "laplacian" else 1 - FREQUENCY_GRID


def common_signs(curves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a column of the signs that turn each response (row) the way of the first.

    The layers after a filter undo its sign, so members may learn the same filter with either.
    """
    return np.where(curves @ curves[0] >= 0, 1.0, -1.0)[:, None]


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
    lam = _prepare(axes, view.operator)
    if view.start is not None:
        start = view.start.response(lam)
        axes.plot(FREQUENCY_GRID, start, color=GREY, linestyle="--", label="before training")
    curves = np.array([f.response(lam) for f in view.learned])
    curves *= common_signs(curves)
    if len(curves) > 1:
        for curve in curves:
            axes.plot(FREQUENCY_GRID, curve, color=COLOURS[0], alpha=0.25, linewidth=1)
    label = "learned" if len(curves) == 1 else "learned (mean and runs)"
    axes.plot(FREQUENCY_GRID, curves.mean(axis=0), color=COLOURS[0], linewidth=2.2, label=label)
    marks = [value for value in view.label_frequency.values() if np.isfinite(value)]
    for i, value in enumerate(marks):
        text = "label frequency of a class" if i == 0 else None
        axes.axvline(
            value, color=COLOURS[1], linewidth=1, linestyle=":", ymax=0.97, label=text, zorder=1
        )
    axes.plot(marks, [0] * len(marks), marker="^", color=COLOURS[1], linestyle="none", zorder=3)
    axes.set_title(view.title)
    if view.corner:
        axes.text(0.98, 0.96, view.corner, transform=axes.transAxes, ha="right", va="top")
