"""What every picture shares: its axes, the axis of frequencies, names in a legend.

A card: what a notebook shows of an object.

Colours and markers of every picture: distinguishable by everyone, in print too.

Small pictures as SVG text, in the colours of the page they stand on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Where a response is evaluated.
FREQUENCY_GRID = np.linspace(0, 2, 401)


def take_axes(ax: Axes | None, size: tuple[float, float] = (7, 4.2)) -> Axes:
    """Return the axes that were given, or those of a new figure.

    The new one is made by pyplot, so that notebooks show it; nothing else here touches pyplot.
    """
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


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


def mean_curve(curves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of responses (rows), all turned the way of the first."""
    return np.mean(common_signs(curves)[:, None] * curves, axis=0)


_STYLE = (
    "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;border:1px solid #8886;"
    "border-radius:6px;padding:8px 12px;display:inline-block;max-width:40em"
)
_TABLE = "border-collapse:collapse;margin:4px 0;font-size:13px;color:inherit"
_CELL = "padding:1px 14px 1px 0;text-align:left;vertical-align:top;background:none;border:none"


def card(title: str, rows: Iterable[tuple[str, str]], *pictures: str, note: str = "") -> str:
    """Return HTML: a title, names with their values, pictures below.

    Parameters
    ----------
    title, note : str
        Plain text; they are escaped.
    rows : pairs of str
        A name and a value, plain text; a value that is a picture (``<svg``) is left as it is.
    *pictures : str
        SVG, as :func:`line_chart` makes it.

    Examples
    --------
    >>> "&lt;b&gt;" in card("Graph <b>", [("vertices", "3")])
    True
    """
    lines = "".join(
        f"<tr><td style='{_CELL};opacity:.7;white-space:nowrap'>{escape(name)}</td>"
        f"<td style='{_CELL}'>{value if value.startswith('<svg') else escape(value)}</td></tr>"
        for name, value in rows
    )
    table = f"<table style='{_TABLE}'>{lines}</table>" if lines else ""
    last = f"<div style='opacity:.7'>{escape(note)}</div>" if note else ""
    return f"<div style='{_STYLE}'><b>{escape(title)}</b>{table}{''.join(pictures)}{last}</div>"


# Okabe and Ito's colours, which the colour-blind tell apart, without their yellow, which white
# paper swallows. Each has a marker, so that lines are distinguishable without colour too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#8a8a8a"
FAINT = "#cccccc"
FREQUENCY_AXIS = "graph frequency   (0: neighbours agree, 2: they disagree)"


def unframe(axes: Axes) -> None:
    """Remove the upper and the right side of the frame."""
    axes.spines[["top", "right"]].set_visible(False)


WIDTH, HEIGHT = 340, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 8, 8, 32
# Points of a line that are kept: more cannot be told apart at this size.
_POINTS = 101


@dataclass(frozen=True)
class Line:
    """A curve of a picture.

    Attributes
    ----------
    x, y : sequences of float
        Of equal length; points that are not finite are left out.
    dashed : bool
        Thin, grey and dashed, for what is compared with.
    """

    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False


def line_chart(
    lines: Sequence[Line],
    *,
    x_range: tuple[float, float],
    title: str,
    ends: tuple[str, str] = ("", ""),
    marks: Iterable[float] = (),
) -> str:
    """Return a picture of curves over one range, as SVG.

    Parameters
    ----------
    lines : sequence of Line
    x_range : (float, float)
    title : str
        Read out replaces             the picture.
    ends : (str, str)
        What the two ends of the range are called.
    marks : iterable of float
        Places on the range to mark.

    Examples
    --------
    >>> picture = line_chart([Line([0, 2], [1, 0])], x_range=(0, 2), title="a low-pass filter")
    >>> picture.startswith("<svg"), picture.count("<polyline")
    (True, 1)
    """
    values = [v for line in lines for v in line.y if math.isfinite(v)]
    low, high = min([0.0, *values]), max([0.0, *values])
    high = high if high > low else low + 1.0
    left, right = x_range

    def place(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + (x - left) / (right - left) * (WIDTH - _LEFT - _RIGHT)
        return across, _TOP + (high - y) / (high - low) * (HEIGHT - _TOP - _BOTTOM)

    foot, zero = HEIGHT - _BOTTOM, place(left, 0.0)[1]
    parts = [
        f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{zero:.1f}" y2="{zero:.1f}" '
        'stroke="currentColor" stroke-opacity=".35"/>',
        _text(_LEFT - 4, place(left, high)[1] + 9, f"{high:.3g}", "end"),
        _text(_LEFT, foot + 13, f"{left:g}", "start"),
        _text(WIDTH - _RIGHT, foot + 13, f"{right:g}", "end"),
        _text((WIDTH + _LEFT) / 2, foot + 13, f"{(left + right) / 2:g}", "middle"),
        _text(_LEFT, foot + 27, ends[0], "start"),
        _text(WIDTH - _RIGHT, foot + 27, ends[1], "end"),
    ]
    if low < 0:
        parts.append(_text(_LEFT - 4, foot, f"{low:.3g}", "end"))
    if zero < foot - 16 or low == 0:
        parts.append(_text(_LEFT - 4, zero + 4, "0", "end"))
    for mark in marks:
        across = place(mark, 0.0)[0]
        parts.append(
            f'<line x1="{across:.1f}" x2="{across:.1f}" y1="{_TOP}" y2="{foot}" '
            f'stroke="{COLOURS[1]}" stroke-dasharray="2 3"/>'
        )
    parts += [_polyline([place(*point) for point in _shown(line)], line) for line in lines]
    return (
        f'<svg role="img" aria-label="{escape(title)}" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" style="display:block;max-width:100%">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def bar(share: float, title: str, *, width: int = 120) -> str:
    """Return a bar of this share of its full length, as SVG.

    >>> 'width="60.0"' in bar(0.5, "half")
    True
    """
    length = width * min(max(share, 0.0), 1.0)
    return (
        f'<svg role="img" aria-label="{escape(title)}" width="{width + 120}" height="14" '
        'style="vertical-align:middle">'
        f'<rect x="0" y="2" width="{length:.1f}" height="10" rx="2" fill="{COLOURS[0]}"/>'
        f"{_text(length + 6, 11, title, 'start')}</svg>"
    )


def _shown(line: Line) -> list[tuple[float, float]]:
    points = list(zip(line.x, line.y, strict=True))
    step = max(len(points) // _POINTS, 1)
    kept = [*points[:-1:step], *points[-1:]]
    return [(float(x), float(y)) for x, y in kept if math.isfinite(x) and math.isfinite(y)]


def _polyline(points: Sequence[tuple[float, float]], line: Line) -> str:
    style = f'stroke="{COLOURS[0]}" stroke-width="2.2"'
    if line.dashed:
        style = f'stroke="{GREY}" stroke-width="1.2" stroke-dasharray="5 4"'
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{places}" fill="none" {style}/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    if not text:
        return ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11" '
        f'fill="currentColor">{escape(text)}</text>'
    )
