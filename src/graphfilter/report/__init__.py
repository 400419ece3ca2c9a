"""What a person looks at: self-contained pages and pictures. Nothing here trains or prints.

``run_page`` is the report of one fit, ``benchmark_page`` that of a file of records; each section
of them has a file of its own (``conclusion``, ``sentences``, ``ranking``, ``classes``, ``curves``,
``learned_filters``) and its template in ``templates/``. ``figures`` makes whole figures of the
parts of ``plot``, ``html`` holds what the pages share.
"""

from graphfilter.report.benchmark_page import (
    TimeTable,
    made_with,
    page_of,
    time_table,
    write_benchmark,
)
from graphfilter.report.channel_picture import draw_channels
from graphfilter.report.conclusion import Conclusion, conclude
from graphfilter.report.curves import FREQUENCIES, describe_shape, mean_response, stacked_response
from graphfilter.report.figures import (
    draw_filter,
    draw_filters,
    draw_png,
    draw_spectrum,
    save_figure,
)
from graphfilter.report.html import (
    TEMPLATES,
    make_environment,
    plotly_source,
    render_page,
    write_page,
)
from graphfilter.report.learned_filters import LearnedFilter, learned_filters
from graphfilter.report.numbers import Axis, plain, spread_out
from graphfilter.report.prediction_page import PredictionPage, write_prediction
from graphfilter.report.ranking import listed
from graphfilter.report.run_page import Page, describe_size, write_report
from graphfilter.report.spread import view_spread

__all__ = [
    "FREQUENCIES",
    "TEMPLATES",
    "Axis",
    "Conclusion",
    "LearnedFilter",
    "Page",
    "PredictionPage",
    "TimeTable",
    "conclude",
    "describe_shape",
    "describe_size",
    "draw_channels",
    "draw_filter",
    "draw_filters",
    "draw_png",
    "draw_spectrum",
    "learned_filters",
    "listed",
    "made_with",
    "make_environment",
    "mean_response",
    "page_of",
    "plain",
    "plotly_source",
    "render_page",
    "save_figure",
    "spread_out",
    "stacked_response",
    "time_table",
    "view_spread",
    "write_benchmark",
    "write_page",
    "write_prediction",
    "write_report",
]
