"""Small pictures as SVG text, in the colours of the page they stand on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from graphfilter.plot.palette import COLOURS, GREY

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
