"""Graph filters: functions f(λ) of a graph's frequencies, one per file.

A filter states its polynomial (``base.py`` has the contract), and the base applies it to columns.
To add one, write a file here; response, gradients, plots and training follow. May import
``operators`` and the rooms above it; knows no network.
"""

from graphfilter.filters.base import (
    Filter,
    FilterConfig,
    apply_filters,
    polynomials_of as polynomials_of,
)
from graphfilter.filters.chebyshev import ChebyshevFilter, ChebyshevFilterConfig
from graphfilter.filters.config import Config, added as added, read_config as read_config
from graphfilter.filters.horizontal import HorizontalFilter, HorizontalFilterConfig
from graphfilter.filters.identity import IdentityFilter, IdentityFilterConfig
from graphfilter.filters.pagerank import (
    ExactPageRankFilter,
    ExactPageRankFilterConfig,
    PageRankFilter,
    PageRankFilterConfig,
)
from graphfilter.filters.power import PowerFilter, PowerFilterConfig
from graphfilter.filters.repeated_chebyshev import (
    RepeatedChebyshevFilter,
    RepeatedChebyshevFilterConfig,
)
from graphfilter.filters.stacked import StackedFilter, StackedFilterConfig

__all__ = [
    "ChebyshevFilter",
    "ChebyshevFilterConfig",
    "Config",
    "ExactPageRankFilter",
    "ExactPageRankFilterConfig",
    "Filter",
    "FilterConfig",
    "HorizontalFilter",
    "HorizontalFilterConfig",
    "IdentityFilter",
    "IdentityFilterConfig",
    "PageRankFilter",
    "PageRankFilterConfig",
    "PowerFilter",
    "PowerFilterConfig",
    "RepeatedChebyshevFilter",
    "RepeatedChebyshevFilterConfig",
    "StackedFilter",
    "StackedFilterConfig",
    "apply_filters",
]
