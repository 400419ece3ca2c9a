"""Colours of every picture, and small pictures and cards for notebooks, written as text.

Needs no library: what a notebook shows of an object appears at once, in light and dark.
``plot`` draws with matplotlib.
"""

from graphfilter.drawing.card import card as card
from graphfilter.drawing.palette import (
    COLOURS as COLOURS,
    FAINT as FAINT,
    FREQUENCY_AXIS as FREQUENCY_AXIS,
    GREY as GREY,
    MARKERS as MARKERS,
    unframe as unframe,
)
from graphfilter.drawing.svg import Line as Line, bar as bar, line_chart as line_chart
