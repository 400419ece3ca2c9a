"""Pictures: with matplotlib, axes in, axes out, and small ones for notebooks, written as text.

Each function draws on the axes it is given and returns them; without axes it makes a figure of
pyplot's, which notebooks show. No setting of matplotlib is changed, and pyplot is imported only
when it is needed. What a notebook shows of an object needs no library, and appears at once, in
light and dark.
"""

from graphfilter.plot.axes import (
    FREQUENCY_GRID as FREQUENCY_GRID,
    common_signs as common_signs,
    eigenvalue_of as eigenvalue_of,
    mean_curve as mean_curve,
    shorten as shorten,
    take_axes as take_axes,
)
from graphfilter.plot.card import card as card
from graphfilter.plot.dynamics import dynamics
from graphfilter.plot.palette import (
    COLOURS as COLOURS,
    FAINT as FAINT,
    FREQUENCY_AXIS as FREQUENCY_AXIS,
    GREY as GREY,
    MARKERS as MARKERS,
    unframe as unframe,
)
from graphfilter.plot.responses import (
    FilterView as FilterView,
    draw_view as draw_view,
    plot_view as plot_view,
    response,
)
from graphfilter.plot.svg import Line as Line, bar as bar, line_chart as line_chart

__all__ = ["dynamics", "response"]
