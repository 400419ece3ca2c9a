"""What a person looks at: self-contained pages and pictures. Nothing here trains or prints.

``run_page`` is the report of one fit, ``benchmark_page`` that of a file of records; each section
of them has a file of its own (``conclusion``, ``sentences``, ``ranking``, ``classes``, ``curves``,
``learned_filters``) and its template in ``templates/``. ``figures`` makes whole figures of the
parts of ``plot``, ``html`` holds what the pages share.
"""

from graphfilter.report.channel_picture import draw_channels as draw_channels
from graphfilter.report.conclusion import Conclusion as Conclusion, conclude as conclude
from graphfilter.report.curves import (
    FREQUENCIES as FREQUENCIES,
    describe_shape as describe_shape,
    mean_response as mean_response,
    response_at as response_at,
    stacked_response as stacked_response,
)
from graphfilter.report.figures import (
    draw_filter as draw_filter,
    draw_filters as draw_filters,
    draw_png as draw_png,
    draw_spectrum as draw_spectrum,
    save_figure as save_figure,
)
from graphfilter.report.html import (
    TEMPLATES as TEMPLATES,
    make_environment as make_environment,
    plotly_source as plotly_source,
    render_page as render_page,
    write_page as write_page,
)
from graphfilter.report.numbers import percent as percent, plain as plain, spread_out as spread_out
from graphfilter.report.prediction_page import (
    PredictionPage as PredictionPage,
    write_prediction as write_prediction,
)
from graphfilter.report.run_page import (
    Page as Page,
    describe_size as describe_size,
    write_report as write_report,
)
from graphfilter.report.spread import view_spread as view_spread
