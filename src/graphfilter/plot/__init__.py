"""Pictures with matplotlib: axes in, axes out.

Each function draws on the axes it is given and returns them; without axes it makes a figure of
pyplot's, which notebooks show. No setting of matplotlib is changed, and pyplot is imported only
when it is needed.
"""

from graphfilter.plot.axes import (
    FREQUENCY_GRID as FREQUENCY_GRID,
    common_signs as common_signs,
    eigenvalue_of as eigenvalue_of,
    mean_curve as mean_curve,
    shorten as shorten,
)
from graphfilter.plot.dynamics import dynamics
from graphfilter.plot.responses import (
    FilterView as FilterView,
    draw_view as draw_view,
    plot_view as plot_view,
    response,
)
from graphfilter.plot.spectra import draw_densities as draw_densities, spectrum

__all__ = ["dynamics", "response", "spectrum"]
