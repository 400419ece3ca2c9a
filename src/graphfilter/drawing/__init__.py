"""Colours of every picture, and small pictures and cards for notebooks, written as text.

Needs no library: what a notebook shows of an object appears at once, in light and dark.
``plot`` draws with matplotlib.
"""

from graphfilter.drawing.card import card
from graphfilter.drawing.palette import COLOURS, FAINT, FREQUENCY_AXIS, GREY, MARKERS, unframe
from graphfilter.drawing.svg import Line, bar, line_chart

__all__ = [
    "COLOURS",
    "FAINT",
    "FREQUENCY_AXIS",
    "GREY",
    "MARKERS",
    "Line",
    "bar",
    "card",
    "line_chart",
    "unframe",
]
